"""twinrun serve: what it answers, whom it refuses, how it ends. Sliders in a browser are tests/browser's."""

import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

PROGRAM = os.environ["TWINRUN"]
JOB = {"schema": "twinrun/job/1", "name": "a small job", "model": "alexnet", "topology": "dgx1-v100",
       "training": {"local_batch_size": 8}, "parallelism": {"strategy": "ddp"}}


def started(at, *arguments):
    """The process and its port, once it serves."""
    process = subprocess.Popen([PROGRAM, "serve", *arguments], cwd=at, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               text=True)
    line = process.stdout.readline()
    found = re.match(r"http://localhost:(\d+)/", line)
    if not found:
        process.kill()
        raise AssertionError(f"{line}\n{process.communicate()[1]}")
    return process, int(found.group(1))


class Serve(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.at = pathlib.Path(folder.name)
        (cls.at / "job.json").write_text(json.dumps(JOB))
        subprocess.run([PROGRAM, "simulate", "job.json", "--out", "run"], cwd=cls.at, check=True, capture_output=True)
        cls.process, cls.port = started(cls.at, "run", "--curves", "none")
        cls.addClassCleanup(cls.end, cls.process)

    @staticmethod
    def end(process):
        process.kill()
        process.communicate()

    def get(self, path, host="127.0.0.1", method="GET", **headers):
        connection = http.client.HTTPConnection(host, self.port, timeout=30)
        self.addCleanup(connection.close)
        connection.request(method, path, headers={name.replace("_", "-"): value for name, value in headers.items()})
        answer = connection.getresponse()
        return answer, answer.read()

    def simulate(self, **settings):
        answer, body = self.get("/simulate?" + urllib.parse.urlencode(settings))
        return answer.status, json.loads(body)

    # ---- what it answers ----

    def test_the_page_and_its_data(self):
        answer, page = self.get("/")
        self.assertEqual((answer.status, answer.getheader("Content-Type")), (200, "text/html; charset=utf-8"))
        self.assertIn(b"connect-src 'self'", page)
        answer, data = self.get("/data")
        self.assertEqual(answer.getheader("Content-Type"), "application/json")
        self.assertEqual(answer.getheader("Cache-Control"), "no-store")
        self.assertEqual(json.loads(data)["controls"]["strategy"]["now"], "ddp")

    def test_a_setting_is_what_simulate_says_of_its_job(self):
        settings = [{}, {"batch": 32}, {"devices": 4}, {"devices": 16}, {"bandwidth": 0.25}, {"strategy": "parameter_server"},
                    {"batch": 16, "devices": 2, "bandwidth": 4, "strategy": "mirrored"}]
        for setting in settings:
            with self.subTest(setting):
                status, page = self.simulate(**setting)
                self.assertEqual(status, 200, page)
                _, job = self.get("/job?" + urllib.parse.urlencode(setting))
                run = subprocess.run([PROGRAM, "simulate", "-", "--format", "json"], input=job, capture_output=True,
                                     timeout=60)
                expected = json.loads(run.stdout)
                shown = page["runs"][0]["result"]
                for key, value in expected.items():
                    if not isinstance(value, list) and key != "engine":
                        self.assertEqual(shown[key], value, key)

    def test_settings_change_what_they_name(self):
        base = self.simulate()[1]["runs"][0]["result"]
        self.assertEqual(base["layout"]["local_batch_size"], 8)
        self.assertEqual(self.simulate(batch=16)[1]["runs"][0]["result"]["layout"]["global_batch_size"], 128)
        self.assertEqual(self.simulate(devices=32)[1]["runs"][0]["result"]["devices"], 32)
        self.assertEqual(self.simulate(strategy="gpipe")[1]["runs"][0]["result"]["layout"]["strategy"], "gpipe")
        self.assertGreater(self.simulate(bandwidth=0.0625)[1]["runs"][0]["result"]["t2_s"], 4 * base["t2_s"])

    def test_what_cannot_be_is_said(self):
        for settings, words in (({"batch": 7}, "batch 7 is none of"), ({"batch": "x"}, "not a number"),
                                ({"devices": 3}, "none of"), ({"bandwidth": "nan"}, "none of"),
                                ({"bandwidth": "1e400"}, "not a number"), ({"strategy": "magic"}, "none of"),
                                ({"strategy": "data_parallel", "devices": 64}, "one machine")):
            status, body = self.simulate(**settings)
            self.assertEqual(status, 422, settings)
            self.assertIn(words, body["error"])

    def test_head_has_no_body(self):
        answer, body = self.get("/", method="HEAD")
        self.assertEqual((answer.status, body), (200, b""))
        self.assertGreater(int(answer.getheader("Content-Length")), 50_000)

    def test_a_connection_serves_several_requests(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        self.addCleanup(connection.close)
        for _ in range(3):
            connection.request("GET", "/data")
            self.assertEqual(len(connection.getresponse().read()) > 1000, True)

    # ---- whom it refuses ----

    def test_it_listens_on_loopback_alone(self):
        listening = set()
        for table in ("tcp", "tcp6"):
            for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                local, state = line.split()[1], line.split()[3]
                if state == "0A" and int(local.split(":")[1], 16) == self.port:
                    listening.add(local.split(":")[0])
        self.assertLessEqual(listening, {"0100007F", "00000000000000000000000001000000"})
        self.assertIn("0100007F", listening)

    def test_other_names_are_refused(self):
        for host in ("example.com", f"example.com:{self.port}", "localhost", "127.0.0.1:1", "", f"localhost.:{self.port}"):
            answer, _ = self.get("/data", Host=host)
            self.assertEqual(answer.status, 421, host)
        for host in (f"localhost:{self.port}", f"127.0.0.1:{self.port}", f"[::1]:{self.port}"):
            self.assertEqual(self.get("/data", Host=host)[0].status, 200)

    def test_other_sites_are_refused(self):
        self.assertEqual(self.get("/data", Sec_Fetch_Site="cross-site")[0].status, 403)
        self.assertEqual(self.get("/simulate", Sec_Fetch_Site="same-site")[0].status, 403)
        self.assertEqual(self.get("/data", Sec_Fetch_Site="same-origin")[0].status, 200)
        self.assertEqual(self.get("/", Sec_Fetch_Site="cross-site")[0].status, 200)  # a link to the page

    def test_other_paths_and_methods_are_refused(self):
        for path in ("/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/data/", "//data", "/index.html", "/data%00"):
            self.assertEqual(self.get(path)[0].status, 404, path)
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
            self.assertEqual(self.get("/", method=method)[0].status, 405, method)

    def raw(self, request):
        """What comes back for these bytes; nothing when the server closes at once."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
            answer = b""
            try:
                connection.sendall(request)
                connection.shutdown(socket.SHUT_WR)
                while piece := connection.recv(65536):
                    answer += piece
            except OSError:  # the server has closed
                pass
            return answer

    def test_what_is_not_http_does_no_harm(self):
        host = b"Host: localhost:%d\r\n" % self.port
        requests = [b"", b"\0" * 1000, b"GET", b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n\r\n", b"\r\n" * 5000,
                    b"GET / HTTP/1.1\r\n" + b"A: " + b"x" * 100_000 + b"\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + b"A: x\r\n" * 20_000 + b"\r\n",
                    b"GET /" + b"y" * 100_000 + b" HTTP/1.1\r\n\r\n",
                    b"POST / HTTP/1.1\r\n" + host + b"Content-Length: 99999999999\r\n\r\n",
                    b"GET / HTTP/1.1\r\n" + host + b"Content-Length: 5\r\n\r\nhello",
                    b"GET / HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
                    b"GET /simulate?batch=%zz&%=&&=&%f HTTP/1.1\r\n" + host + b"\r\n",
                    b"GET http://localhost/ HTTP/1.1\r\n" + host + b"\r\n", b"GET * HTTP/1.1\r\n" + host + b"\r\n"]
        for request in requests:
            first_line = self.raw(request)[:60].split(b"\r\n")[0]
            self.assertRegex(first_line, rb"^(HTTP/1.[01] 4\d\d .*)?$", request[:60])
        self.assertIn(b" 431 ", self.raw(requests[6]))
        self.assertIn(b" 400 ", self.raw(requests[4]))
        self.assertIn(b" 413 ", self.raw(requests[10]))
        self.assertEqual(self.get("/")[0].status, 200)
        self.assertIsNone(self.process.poll())

    def test_silent_and_many_connections_do_not_keep_others_out(self):
        silent = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(60)]
        try:
            self.assertEqual(self.get("/data")[0].status, 200)
        finally:
            for connection in silent:
                connection.close()
        flood = [socket.create_connection(("127.0.0.1", self.port)) for _ in range(200)]
        for connection in flood:
            connection.close()
        time.sleep(0.3)
        self.assertEqual(self.get("/data")[0].status, 200)

    def test_requests_beside_each_other_all_get_their_answers(self):
        answers = {}

        def ask(batch):
            answers[batch] = self.simulate(batch=batch)[1]["runs"][0]["result"]["layout"]["local_batch_size"]

        threads = [threading.Thread(target=ask, args=[2**i]) for i in range(7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(answers, {2**i: 2**i for i in range(7)})

    # ---- how it begins and ends ----

    def test_interrupting_ends_it_cleanly(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            process, port = started(self.at, "run", "--curves", "none")
            with socket.create_connection(("127.0.0.1", port)):  # somebody is there
                process.send_signal(how)
                _, talk = process.communicate(timeout=10)
            self.assertEqual(process.returncode, 0, talk)
            self.assertEqual(talk, "")

    def test_it_ends_in_the_middle_of_a_simulation(self):
        process, port = started(self.at, "run", "--curves", "none")
        connections = []
        for _ in range(6):
            connection = http.client.HTTPConnection("127.0.0.1", port)
            connection.request("GET", "/simulate?devices=64&strategy=parameter_server")
            connections.append(connection)
        time.sleep(0.05)
        begin = time.monotonic()
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=20)
        self.assertEqual(process.returncode, 0)
        self.assertLess(time.monotonic() - begin, 15)
        for connection in connections:
            connection.close()

    def test_a_port_that_is_taken_is_said(self):
        run = subprocess.run([PROGRAM, "serve", "run", "--port", str(self.port), "--curves", "none"], cwd=self.at,
                             capture_output=True, text=True, timeout=60)
        self.assertEqual(run.returncode, 2)
        self.assertIn(f"port {self.port}", run.stderr)

    def test_a_plan_is_shown_without_sliders(self):
        plan = {"schema": "twinrun/plan/1", "topology": "pcie-2x2080ti", "devices": ["gpu0"],
                "ops": [{"id": "a", "kind": "compute", "device": "gpu0", "flops": 1e9}]}
        (self.at / "plan.json").write_text(json.dumps(plan))
        subprocess.run([PROGRAM, "simulate", "plan.json", "--out", "plan-run"], cwd=self.at, check=True,
                       capture_output=True)
        process, port = started(self.at, "plan-run")
        self.addCleanup(self.end, process)
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("GET", "/simulate")
        self.assertEqual(connection.getresponse().status, 404)
        connection.close()


if __name__ == "__main__":
    unittest.main()
