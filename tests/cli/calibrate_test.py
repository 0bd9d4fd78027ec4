"""twinrun calibrate: measurements made from a known machine must give that machine back."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]
PAIR = {"schema": "twinrun/topology/1", "name": "pair", "devices": {"g": {"kind": "gpu", "peak": {"fp32": "10TFLOP/s"}}},
        "templates": {"box": {"parts": [{"name": "gpu", "count": 4, "device": "g"}, {"name": "nvswitch", "kind": "nvswitch"}],
                              "links": [{"from": "gpu*", "to": "nvswitch0", "kind": "nvlink", "bandwidth": "20GB/s", "latency": "2us"}]}},
        "nodes": {"box": 1}}


def run(*words, status=0):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300)
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    return done


def nccl_table(rows, program="all_reduce_perf"):
    """As nccl-tests print it; rows of bytes and microseconds."""
    lines = [f"# Collective test starting: {program}"]
    lines += [f"#  Rank {rank:2} Group  0 Pid  1 on  host device {rank:2} [0x07] GPU" for rank in range(4)]
    lines += [f"{size:12} {size // 4:12} float sum -1 {us:9.2f} 0.00 0.00 0 {us:9.2f} 0.00 0.00 0" for size, us in rows]
    return "\n".join(lines) + "\n"


class From(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.real = self.write("real.json", json.dumps(PAIR))
        guessed = json.loads(json.dumps(PAIR))
        guessed["templates"]["box"]["links"][0].update(bandwidth="50GB/s", latency="0.5us", source="guessed")
        self.guessed = self.write("guessed.json", json.dumps(guessed))
        self.out = self.folder / "fitted.json"

    def write(self, name, text):
        file = self.folder / name
        file.write_text(text)
        return file

    def times(self, topology, collective="all_reduce"):
        """Bytes and microseconds, simulated."""
        found = run("collective", collective, "--topology", topology, "-b", "1K", "-e", "512M", "-f", "2", "--format", "json")
        return [(row["bytes"], row["time_s"] * 1e6) for row in json.loads(found.stdout)["rows"]]

    def fit(self, *words):
        return json.loads(run("calibrate", "--from", *words, "-o", self.out, "--format", "json").stdout)

    def test_nccl_tests_with_a_tenth_of_wild_rows(self):
        rows = [(size, us * (5 if i % 10 == 3 else 1)) for i, (size, us) in enumerate(self.times(self.real))]
        found = self.fit("nccl-tests", self.write("measured.txt", nccl_table(rows)), "--topology", self.guessed)
        self.assertEqual(found["held_out_rows"], len(rows) // 5)
        self.assertGreater(found["held_out_before"]["median_pct"], 30)
        self.assertLess(found["held_out_after"]["median_pct"], 3)
        link = json.loads(self.out.read_text())["templates"]["box"]["links"][0]
        self.assertRegex(link["source"], r"calibrated \d{4}-\d\d-\d\d .*nccl-tests")
        self.assertTrue(any(text.startswith("compute of g: no row") for text in found["not_determined"]), found["not_determined"])
        run("topo", "validate", self.out)
        for (_, fitted), (_, real) in zip(self.times(self.out), self.times(self.real)):
            self.assertLess(abs(fitted / real - 1), 0.06)

    def test_the_json_of_nccl_tests_is_the_same(self):
        rows = self.times(self.real)
        results = [{"size": size, "out_of_place": {"time": us, "nwrong": 0}} for size, us in rows]
        document = {"args": ["./all_reduce_perf"], "config": {"devices": [{"rank": rank} for rank in range(4)]}, "results": results}
        found = self.fit("nccl-tests", self.write("measured.json", json.dumps(document)), "--topology", self.guessed)
        self.assertLess(found["held_out_after"]["worst_pct"], 3)

    def test_nvbandwidth(self):
        cells = "\n".join(f" {i} " + " ".join("N/A" if i == j else "20.0" for j in range(4)) for i in range(4))
        text = ("Running device_to_device_memcpy_read_ce.\nmemcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n    0 1 2 3\n"
                f"{cells}\n\nSUM device_to_device_memcpy_read_ce 240\n")
        found = self.fit("nvbandwidth", self.write("measured.txt", text), "--topology", self.guessed)
        self.assertEqual(found["rows"], 12)
        self.assertLess(found["held_out_after"]["worst_pct"], 1)
        after, = [row["after"] for row in found["parameters"] if row["parameter"].startswith("bandwidth")]
        self.assertAlmostEqual(after, 20, delta=0.3)

    def test_a_run(self):
        job = {"schema": "twinrun/job/1", "name": "j", "model": "mlp-1024-4096-2048-10", "topology": str(self.real),
               "training": {"local_batch_size": 2048, "dtype": "fp32"}, "parallelism": {"strategy": "ddp"}}
        run("simulate", self.write("job.json", json.dumps(job)), "--steps", 3, "--out", self.folder / "run")
        found = self.fit(self.folder / "run", "--topology", self.guessed)
        self.assertLess(found["held_out_after"]["worst_pct"], 5)

    def test_what_is_no_measurement_is_refused(self):
        empty = self.write("empty.txt", "nothing\n")
        for words, code in ((("nccl-tests", empty), "E0813"), (("nvbandwidth", empty), "E0814")):
            done = run("calibrate", "--from", *words, "--topology", self.real, "-o", self.out, status=3)
            self.assertIn(code, done.stderr)
        self.assertIn("either --backend or --from", run("calibrate", "-o", self.out, status=2).stderr)
        unnamed = self.write("unnamed.txt", nccl_table(self.times(self.real), program="what"))
        done = run("calibrate", "--from", "nccl-tests", unnamed, "--topology", self.real, "-o", self.out, status=2)
        self.assertIn("--collective", done.stderr)
        few = self.write("few.txt", nccl_table(self.times(self.real)[:4]))
        self.assertIn("too few", run("calibrate", "--from", "nccl-tests", few, "--topology", self.real, "-o", self.out, status=4).stderr)


class Machine(unittest.TestCase):
    def test_without_a_gpu_there_is_a_sentence_and_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "never.json")
            done = subprocess.run([PROGRAM, "calibrate", "--backend", "cuda", "-o", str(file)], capture_output=True, text=True,
                                  timeout=300, env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})
            self.assertEqual(done.returncode, 6, done.stderr)
            sentence, _ = done.stderr.strip().splitlines()  # and that doctor says more
            self.assertRegex(sentence, "^error: .*(driver|GPU|plugin|libtwinrun-cuda)")
            self.assertFalse(file.exists())

    def test_this_machine_becomes_a_topology_that_jobs_run_on(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "machine.json")
            found = json.loads(run("calibrate", "--backend", "cpu", "--quick", "-o", file, "--format", "json").stdout)
            self.assertRegex(found["source"], r"measured \d{4}-\d\d-\d\d by twinrun calibrate --backend cpu")
            text = file.read_text()
            self.assertTrue(re.search(r'"wake"', text) and re.search(r'"spread_pct"', text), text[:2000])
            job = pathlib.Path(folder, "job.json")
            job.write_text(json.dumps({"schema": "twinrun/job/1", "name": "j", "model": "mlp-64-64-10", "topology": f"{file}:devices=4",
                                       "training": {"local_batch_size": 16}}))
            self.assertGreater(json.loads(run("simulate", job, "--format", "json").stdout)["step_s"], 0)


if __name__ == "__main__":
    unittest.main()
