"""twinrun under torchrun's variables: processes that meet over TCP, and how they end.

torchrun itself is not needed: the processes are started here, with the variables that it gives them.
"""

import json
import os
import pathlib
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "exec" / "tcp"))
from like_torchrun import free_port, variables  # noqa: E402

PROGRAM = os.environ["TWINRUN"]
MLP = str(ROOT / "jobs" / "mlp-4cpu.json")
LIMIT = 120  # seconds; on a busy machine everything takes longer
MAGIC = b"twinrun\n"


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_STREAM) as probe:
            probe.bind(("::1", 0))
        return True
    except OSError:
        return False


def long_plan(devices=3, rounds=4000):
    """Every device computes, then all sum; again and again."""
    names = [f"cpu{i}" for i in range(devices)]
    ops = [op for step in range(rounds) for name in names for op in (
        {"id": f"step{step}/work@{name}", "kind": "compute", "device": name, "flops": 1e8},
        {"id": f"step{step}/sum@{name}", "kind": "collective", "device": name, "collective": "all_reduce",
         "group": "all", "bytes": 4000, "stream": "compute"})]
    return {"schema": "twinrun/plan/1", "topology": f"cpu:devices={devices}", "groups": {"all": names}, "ops": ops}


class TcpTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.port = free_port()
        self.started = {}

    def start(self, rank, size, *arguments, host="127.0.0.1", **more):
        words = {**variables(rank, size, self.port, host), **more}
        with open(self.folder / f"out.{rank}", "w") as out, open(self.folder / f"errors.{rank}", "w") as errors:
            process = subprocess.Popen([PROGRAM, *map(str, arguments)], stdout=out, stderr=errors,
                                       env={name: value for name, value in words.items() if value is not None})
        self.started[rank] = process
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    def start_all(self, size, *arguments, **more):
        for rank in reversed(range(size)):  # the first comes last: the others wait for it
            self.start(rank, size, *arguments, **more)

    def results(self):
        """By rank: exit code, standard output, errors."""
        out = {}
        for rank, process in sorted(self.started.items()):
            code = process.wait(timeout=LIMIT)
            out[rank] = (code, *((self.folder / f"{name}.{rank}").read_text() for name in ("out", "errors")))
        return out

    def executed(self, size, *arguments, **more):
        self.start_all(size, *arguments, "--format", "json", **more)
        results = self.results()
        self.assertEqual([code for code, _, _ in results.values()], [0] * size, results)
        self.assertEqual([text for rank, (_, text, _) in results.items() if rank > 0], [""] * (size - 1))
        return json.loads(results[0][1])


class Execute(TcpTest):
    def assert_it_trains_over(self, host):
        run = self.executed(3, "execute", MLP, "--backend", "mpi", "--steps", 3, "--data", "integers", host=host)
        one = subprocess.run([PROGRAM, "execute", MLP, "--steps", "3", "--data", "integers", "--backend", "cpu", "--set",
                              "parallelism.strategy=single", "--format", "json"], capture_output=True, check=True)
        self.assertEqual((run["backend"], run["transport"], run["processes"], run["devices"]), ("mpi", "tcp", 3, 4))
        self.assertEqual(run["weights_sha256"], json.loads(one.stdout)["weights_sha256"])
        self.assertEqual(run["clock_residual_s"], 0)  # one host, one clock

    def test_it_ends_with_the_weights_of_one_device(self):
        self.assert_it_trains_over("127.0.0.1")

    def test_a_name(self):
        self.assert_it_trains_over("localhost")

    @unittest.skipUnless(has_ipv6(), "this machine has no IPv6")
    def test_ipv6(self):
        self.port = free_port("::1")
        self.assert_it_trains_over("::1")

    @unittest.skipUnless(has_ipv6(), "this machine has no IPv6")
    def test_ipv6_in_brackets(self):
        self.port = free_port("::1")
        self.assert_it_trains_over("[::1]")

    def test_it_listens_nowhere_else(self):
        """While somebody is awaited: at the address that was given, and at no other."""
        self.start(0, 2, "execute", MLP, "--backend", "mpi", "--timeout", 20)
        place = f"0100007F:{self.port + 1:04X}"  # 127.0.0.1, as the kernel writes it
        until = time.monotonic() + LIMIT
        listening = []
        while time.monotonic() < until and not listening:
            lines = [line.split() for name in ("tcp", "tcp6") for line in
                     pathlib.Path(f"/proc/net/{name}").read_text().splitlines()[1:]]
            listening = [words[1] for words in lines if words[3] == "0A" and words[1].endswith(f":{self.port + 1:04X}")]
        self.assertEqual(listening, [place])

    def test_a_port_of_ones_own(self):
        own = str(free_port() + 1)
        self.executed(2, "execute", MLP, "--backend", "mpi", "--steps", 1, TWINRUN_PORT=own, MASTER_PORT="1")

    def test_torchruns_variables_count_before_those_of_whoever_started_it(self):
        run = self.executed(2, "execute", MLP, "--backend", "mpi", "--steps", 1, TORCHELASTIC_RUN_ID="one",
                            SLURM_PROCID="0", SLURM_STEP_NUM_TASKS="2", OMPI_COMM_WORLD_RANK="0",
                            OMPI_COMM_WORLD_SIZE="2")
        self.assertEqual(run["transport"], "tcp")

    def test_every_collective_brings_what_it_must(self):
        for kind in ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv"):
            with self.subTest(kind):
                ranks = 2 if kind == "send_recv" else 3
                run = self.executed(ranks, "collective", kind, "--backend", "mpi", "--ranks", ranks, "-b", "4K", "-e", "4M",
                                    "-f", "32", "--iterations", 2, "--warmup", 1)
                self.assertEqual((run["transport"], run["wrong"], len(run["rows"])), ("tcp", 0, 3))
                self.started = {}

    def test_mpis_own_all_reduce_is_not_there(self):
        self.start_all(2, "collective", "all_reduce", "--backend", "mpi", "--ranks", 2, "-b", 8, "--algorithm", "mpi")
        code, _, errors = self.results()[0]
        self.assertEqual(code, 4)
        self.assertIn("MPI's own all-reduce", errors)


class Variables(TcpTest):
    def refused(self, **more):
        self.start(0, 2, "execute", MLP, "--backend", "mpi", **more)
        code, text, errors = self.results()[0]
        self.assertEqual((code, text), (3, ""), errors)
        return errors

    def test_all_that_is_wrong_is_said_at_once(self):
        errors = self.refused(RANK="first", WORLD_SIZE="0", MASTER_ADDR=None, MASTER_PORT="70000", LOCAL_RANK="-1",
                              TWINRUN_PORT="no")
        for sentence in ("RANK=first", "WORLD_SIZE=0", "MASTER_ADDR is not set", "MASTER_PORT=70000", "LOCAL_RANK=-1",
                         "TWINRUN_PORT=no"):
            self.assertIn(sentence, errors)
        self.assertEqual(errors.count("error[E0702]"), 6, errors)

    def test_a_rank_that_there_is_not(self):
        self.assertIn("RANK=2: there are 2 processes, counted from 0", self.refused(RANK="2"))

    def test_there_is_no_port_behind_the_last(self):
        self.assertIn("MASTER_PORT=65535 leaves no port", self.refused(MASTER_PORT="65535"))

    def test_torchrun_without_its_variables(self):
        errors = self.refused(TORCHELASTIC_RUN_ID="x", RANK=None, WORLD_SIZE=None)
        self.assertIn("RANK is not set", errors)
        self.assertIn("WORLD_SIZE is not set", errors)

    def test_a_host_that_nobody_knows(self):
        self.start(0, 2, "execute", MLP, "--backend", "mpi", MASTER_ADDR="no-such-host.invalid")
        code, _, errors = self.results()[0]
        self.assertEqual(code, 6)
        self.assertIn("MASTER_ADDR=no-such-host.invalid", errors)


class Joining(TcpTest):
    def join(self, rank, size, timeout=2, **more):
        return self.start(rank, size, "execute", MLP, "--backend", "mpi", "--steps", 1, "--timeout", timeout, **more)

    def connected(self):
        """To the first process, as soon as it listens."""
        until = time.monotonic() + LIMIT
        while time.monotonic() < until:
            try:
                out = socket.create_connection(("127.0.0.1", self.port + 1), timeout=LIMIT)
                self.addCleanup(out.close)
                return out
            except ConnectionRefusedError:
                time.sleep(0.05)
        return self.fail("nobody listens")

    def listening(self):
        """Somebody else, at the port of the first process."""
        out = socket.create_server(("127.0.0.1", self.port + 1))
        self.addCleanup(out.close)
        return out

    def test_somebody_never_comes(self):
        self.join(0, 4)
        self.join(2, 4)
        for rank, (code, text, errors) in self.results().items():
            self.assertEqual((code, text), (124, ""), f"rank {rank}: {errors}")
            self.assertIn("ranks 1, 3 have not come to rank 0 within 2.0 s", errors)

    def test_the_first_never_comes(self):
        begin = time.monotonic()
        self.join(1, 2)
        code, _, errors = self.results()[1]
        self.assertEqual(code, 124, errors)
        self.assertRegex(errors, r"rank 0 has not come to 127.0.0.1 port \d+ within 2.0 s: Connection refused")
        self.assertGreater(time.monotonic() - begin, 2)

    def test_somebody_comes_late(self):
        self.join(0, 2, timeout=30)
        time.sleep(1)
        self.join(1, 2, timeout=30)
        self.assertEqual([code for code, _, _ in self.results().values()], [0, 0])

    def test_the_port_is_taken(self):
        self.listening()
        self.join(0, 2)
        self.join(1, 2)
        results = self.results()
        self.assertEqual(results[0][0], 6)
        self.assertRegex(results[0][2], r"cannot listen at 127.0.0.1:\d+: Address already in use; TWINRUN_PORT")
        self.assertEqual(results[1][0], 124)
        self.assertIn("does not answer", results[1][2])

    def test_somebody_else_answers(self):
        server = self.listening()
        self.join(1, 2, timeout=30)
        other, _ = server.accept()
        with other:
            other.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            code, _, errors = self.results()[1]
        self.assertEqual(code, 6)
        self.assertIn("is no twinrun", errors)

    def test_another_version_is_refused_by_all(self):
        self.join(0, 3, timeout=30)
        self.join(2, 3, timeout=30)
        other = self.connected()
        other.sendall(MAGIC + struct.pack("<II", 99, 1000))
        told = other.makefile("rb").read()
        sentence = "another process is a twinrun with protocol 99, rank 0 is twinrun"
        self.assertTrue(told.startswith(MAGIC))
        self.assertIn(sentence.encode(), told)
        results = self.results()
        self.assertEqual(results[0][0], 6)
        self.assertIn(sentence, results[0][2])
        # The other may have come only when all was over.
        self.assertIn(results[2][0], (6, 124))

    def test_strangers_disturb_nobody(self):
        self.join(0, 2, timeout=30)
        silent = self.connected()
        scanner = self.connected()
        scanner.sendall(b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
        gone = self.connected()
        gone.sendall(MAGIC)
        gone.close()
        self.join(1, 2, timeout=30)
        self.assertEqual([code for code, _, _ in self.results().values()], [0, 0])
        silent.close()

    def test_a_process_of_another_run_is_a_stranger(self):
        self.join(0, 2, TORCHELASTIC_RUN_ID="one")
        self.join(1, 2, TORCHELASTIC_RUN_ID="two")
        results = self.results()
        self.assertEqual((results[0][0], results[1][0]), (124, 6), results)
        self.assertIn("rank 1 of another run of torchrun has connected", results[0][2])
        self.assertIn("rank 1 of another run of torchrun has connected", results[1][2])

    def test_two_have_the_same_rank(self):
        first = self.join(0, 3, timeout=30)
        self.join(1, 3, timeout=30)
        self.start(2, 3, "execute", MLP, "--backend", "mpi", "--timeout", 30, RANK="1")
        results = self.results()
        self.assertEqual({code for code, _, _ in results.values()}, {6}, results)
        self.assertIn("two processes have RANK=1", results[0][2])
        self.assertEqual(first.returncode, 6)

    def test_they_were_told_of_different_numbers(self):
        self.join(0, 2, timeout=30)
        self.join(1, 3, timeout=30)
        for code, _, errors in self.results().values():
            self.assertEqual(code, 6)
            self.assertIn("rank 1 was told of WORLD_SIZE=3, rank 0 of WORLD_SIZE=2", errors)

    def test_somebody_dies_while_others_are_awaited(self):
        self.join(0, 3, timeout=60)
        self.join(1, 3, timeout=60)
        time.sleep(1)
        self.started[1].kill()
        code, _, errors = self.results()[0]
        self.assertEqual(code, 6, errors)
        self.assertIn("rank 1 has ended while others were awaited", errors)


class Faults(TcpTest):
    timeout = 4

    def start_long(self):
        plan = self.folder / "long.json"
        plan.write_text(json.dumps(long_plan()))
        self.start_all(3, "execute", plan, "--backend", "mpi", "--timeout", self.timeout, "--out", self.folder / "run",
                       "--format", "json")
        until = time.monotonic() + LIMIT
        while time.monotonic() < until and not all(self.runs(process) for process in self.started.values()):
            time.sleep(0.1)
        time.sleep(1)
        for rank, process in self.started.items():
            self.assertIsNone(process.poll(), f"rank {rank} has ended already")
        self.begin = time.monotonic()

    @staticmethod
    def runs(process):
        """It has threads for its streams."""
        return len(os.listdir(f"/proc/{process.pid}/task")) > 1

    def failed(self, exit_code):
        """What the first says; all have ended in time."""
        results = self.results()
        self.assertLess(time.monotonic() - self.begin, self.timeout + 15)  # and what a busy machine adds
        code, text, errors = results[0]
        self.assertEqual(code, exit_code, errors + text)
        for rank in (1, 2):
            self.assertNotEqual(results[rank][0], 0)
        kept = json.loads((self.folder / "run" / "result.json").read_text())
        self.assertEqual(kept["failure"], json.loads(text)["failure"])
        self.assertGreater(kept["makespan_s"], 0)
        return kept["failure"]

    def test_a_killed_process(self):
        self.start_long()
        self.started[1].kill()
        failure = self.failed(7)
        self.assertTrue(failure.startswith("rank 1 (cpu1) died"), failure)
        self.assertRegex(failure, r"rank 1 \(cpu1\): last seen before step[1-9]\d*/(work|sum)@cpu1")
        self.assertRegex(failure, r"rank 0 \(cpu0\): .*step\d+/(sum|work)@cpu0 on cpu0")
        self.assertRegex(failure, r"rank 2 \(cpu2\): .*step\d+/(sum|work)@cpu2 on cpu2")

    def test_the_first_is_killed(self):
        self.start_long()
        self.started[0].kill()
        for rank, (code, text, errors) in self.results().items():
            if rank > 0:
                self.assertEqual((code, text), (1, ""), errors)
                self.assertIn("rank 0 (cpu0) died", errors)
                self.assertRegex(errors, rf"rank {rank}: .*step\d+/(sum|work)@cpu{rank} on cpu{rank}")
        self.assertLess(time.monotonic() - self.begin, self.timeout + 15)

    def test_a_process_that_stops_answering(self):
        self.start_long()
        self.started[2].send_signal(signal.SIGSTOP)
        self.started[0].wait(timeout=LIMIT)
        self.started[2].send_signal(signal.SIGCONT)  # it sees that the others are gone
        failure = self.failed(124)
        self.assertRegex(failure, r"rank 2 \(cpu2\)( has not answered|: last seen)")
        self.assertRegex(failure, r"for step\d+/sum@cpu\d on cpu\d")

    def test_ctrl_c(self):
        self.start_long()
        self.started[0].send_signal(signal.SIGINT)
        self.assertTrue(self.failed(130).startswith("interrupted"))


if __name__ == "__main__":
    unittest.main()
