"""twinrun on GPUs: execute, collective, calibrate and doctor.

Two ways: on the substitute of CUDA, cuBLAS and NCCL (TWINRUN_CUDA_PLUGIN names the plugin over it), and with --real on
the GPUs of this machine; without any, that is skipped with what the program says about it.
"""

import csv
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PROGRAM = os.environ["TWINRUN"]
IS_REAL = "--real" in sys.argv
JOBS = pathlib.Path(__file__).resolve().parents[2] / "jobs"
MLP = str(JOBS / "mlp-4cpu.json")
KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv")
# Shapes of a GPU are minutes of a CPU: their times are modelled, and the products are left out.
MODELLED = {"TWINRUN_SUBSTITUTE_VIRTUAL": "1", "TWINRUN_SUBSTITUTE_PRODUCTS": "skipped", "TWINRUN_SUBSTITUTE_DEVICES": "2"}
LIMIT = 120  # seconds; on a busy machine everything takes longer
SKIPPED = 77
IS_WATCHED = b"__asan_init" in pathlib.Path(PROGRAM).read_bytes()


def environment(**more):
    """What is left over at the end is an error of the program, unless a test says that it ends in the middle."""
    return {**os.environ, "TWINRUN_SUBSTITUTE_DEVICES": "4", "TWINRUN_SUBSTITUTE_LEAKS": "fail",
            "TWINRUN_SUBSTITUTE_ESTIMATE_US": "7.5", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **more}


def run(*arguments, before=(), text=None, **more):
    if before:  # mpirun: Open MPI's leaks are its own
        more["ASAN_OPTIONS"] = "detect_leaks=0"
    return subprocess.run([*before, PROGRAM, *map(str, arguments)], input=text, env=environment(**more),
                          capture_output=True, text=True, timeout=LIMIT)


def result_of(*arguments, **more):
    result = run(*arguments, "--format", "json", **more)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


def number_in(text, units):
    """Of "80Gb/s" 10, when units say that a Gb/s is an eighth."""
    value, unit = re.fullmatch(r"([\d.]+)(.*)", text).groups()
    return float(value) * units[unit]


def rounds(devices=3, count=4, pause_us=0):
    """Every device computes, then all sum; again and again."""
    names = [f"gpu{i}" for i in range(devices)]
    ops = [op for step in range(count) for name in names for op in (
        {"id": f"step{step}/work@{name}", "kind": "compute", "device": name, "flops": 1e5, "duration": pause_us},
        {"id": f"step{step}/sum@{name}", "kind": "collective", "device": name, "collective": "all_reduce",
         "group": "all", "bytes": 4000, "stream": "compute"})]
    return json.dumps({"schema": "twinrun/plan/1", "topology": f"dgx-a100:gpus={devices}", "groups": {"all": names},
                       "ops": ops})


class Gpus(unittest.TestCase):
    """On any GPUs, with as many as there are."""

    def test_a_job_ends_with_the_weights_of_cpus(self):
        with tempfile.TemporaryDirectory() as folder:
            steps = ("--steps", 5, "--data", "integers")
            run_here = result_of("execute", MLP, *steps, "--backend", "cuda", "-n", 2, "--out", f"{folder}/run")
            same = result_of("execute", MLP, *steps, "--backend", "cpu", "-n", 2)
            self.assertEqual((run_here["backend"], run_here["devices"]), ("cuda", 2))
            self.assertEqual((run_here["weights_sha256"], run_here["loss"]), (same["weights_sha256"], same["loss"]))
            self.assertEqual(run_here["replica_disagreement"], 0)
            self.assertIn("NCCL", run_here["engine"]["library"])
            self.assertEqual({entry["algorithm"] for entry in run_here["collectives"]}, {"nccl"})
            kept = json.loads(pathlib.Path(folder, "run", "result.json").read_text())
            self.assertEqual(kept["weights_sha256"], same["weights_sha256"])

    def test_every_collective_comes_out_right(self):
        for kind in KINDS:
            with self.subTest(kind):
                result = result_of("collective", kind, "--backend", "cuda", "--ranks", 2, "-b", 24, "-e", "240K", "-f", 100,
                                   "-n", 3, "-w", 1)
                self.assertEqual(result["wrong"], 0)
                self.assertEqual([row["bytes"] for row in result["rows"]], [24, 2400, 240000])
                for row in result["rows"]:
                    self.assertGreater(row["time_s"], 0)
                    self.assertEqual(row["algorithm"], None if kind == "send_recv" else "nccl")

    def test_nccls_prediction_is_beside_ours_and_the_measured(self):
        result = result_of("execute", "-", "--backend", "cuda", "--nccl-estimate", text=rounds(devices=2))
        row, = result["nccl_estimates"]
        self.assertEqual((row["collective"], row["ranks"], row["bytes"], row["count"]), ("all_reduce", 2, 4000, 4))
        for key in ("nccl_s", "simulated_s", "measured_s"):
            self.assertGreater(row[key], 0, key)
        table = run("execute", "-", "--backend", "cuda", "--nccl-estimate", text=rounds(devices=2)).stdout
        for words in ("NCCL predicts", "simulated", "measured"):
            self.assertIn(words, table)

    def test_calibrate_writes_a_topology_that_jobs_run_on(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "machine.json")
            found = result_of("calibrate", "--backend", "cuda", "--quick", "-o", file, **MODELLED)
            self.assertRegex(found["source"], r"^measured \d{4}-\d\d-\d\d by twinrun calibrate --backend cuda on .")
            text = json.loads(file.read_text())
            gpu, = [name for name in text["devices"] if name.endswith("-measured")]
            for key in ("products", "streaming", "launch_overhead"):
                self.assertIn(key, text["devices"][gpu])
            self.assertTrue(text["devices"][gpu]["source"].startswith(found["source"]))
            self.assertEqual(run("topo", "validate", file).returncode, 0)
            job = pathlib.Path(folder, "job.json")
            job.write_text(json.dumps({"schema": "twinrun/job/1", "name": "j", "model": "mlp-1024-1024-10",
                                       "topology": str(file), "training": {"local_batch_size": 128}}))
            self.assertGreater(result_of("simulate", job)["step_s"], 0)
            self.assertGreater(result_of("simulate", job, "--topology", file)["step_s"], 0)

    def test_doctor_says_that_it_works(self):
        part = result_of("doctor")["parts"][-1]
        self.assertEqual((part["name"], part["status"]), ("CUDA backend", "ok"))


@unittest.skipIf(IS_REAL, "what only the substitute can do")
class Substitute(unittest.TestCase):
    def test_nccls_prediction_is_what_it_says(self):
        result = result_of("execute", "-", "--backend", "cuda", "--nccl-estimate", text=rounds(devices=2),
                           TWINRUN_SUBSTITUTE_ESTIMATE_US="12.5")
        self.assertAlmostEqual(result["nccl_estimates"][0]["nccl_s"], 12.5e-6, delta=1e-12)

    def test_whatever_is_missing_is_one_sentence_and_code_6(self):
        for change, words in (({"TWINRUN_SUBSTITUTE_DRIVER": "missing"}, "no NVIDIA driver is installed"),
                              ({"TWINRUN_SUBSTITUTE_DRIVER": "old"}, "driver is too old: it speaks CUDA"),
                              ({"TWINRUN_SUBSTITUTE_DRIVER": "stub"}, "the toolkit's stub"),
                              ({"TWINRUN_SUBSTITUTE_DEVICES": "0"}, "sees no GPU"),
                              ({"TWINRUN_CUDA_PLUGIN": "libnowhere.so"}, "needs libnowhere.so")):
            with self.subTest(words):
                result = run("execute", MLP, "--backend", "cuda", **change)
                self.assertEqual(result.returncode, 6, result.stderr)
                self.assertIn(words, result.stderr)
                sentence, _ = result.stderr.strip().splitlines()  # and that doctor says more
                self.assertTrue(sentence.startswith("error: "), sentence)
                part = result_of("doctor", **change)["parts"][-1]
                self.assertEqual((part["name"], part["status"]), ("CUDA backend", "missing"))
                self.assertIn(words, part["detail"])
                self.assertNotEqual(part["fix"], "")

    def calibrated(self, **more):
        """What calibrate found and wrote."""
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "machine.json")
            found = result_of("calibrate", "--backend", "cuda", "--quick", "-o", file, **{**MODELLED, **more})
            return found, json.loads(file.read_text())

    def test_calibrate_finds_the_substitutes_table_of_costs(self):
        # A copy: 1 us and 100 ps a byte; a message or sum: 5 us and 100 ps a byte. Beside each other they cost the same.
        found, text = self.calibrated()
        values = {row["what"]: row["value"] for row in found["found"]}
        self.assertEqual(values["launch"], "1 us")
        self.assertEqual(values["copy of 16 MiB"], "20.0 GB/s")  # bytes that are read and bytes that are written
        self.assertEqual(found["slowdown_beside_sums"], 1)
        self.assertEqual(found["sm_share"], 0)
        link, = [link for machine in text["templates"].values() for link in machine["links"] if link["from"] == "gpu*"]
        self.assertAlmostEqual(number_in(link["bandwidth"], {"GB/s": 1, "MB/s": 1e-3, "Gb/s": 1 / 8}), 10, delta=0.1)
        self.assertAlmostEqual(number_in(link["latency"], {"us": 1, "ns": 1e-3}), 5 / 2, delta=0.05)  # there are two on a way
        self.assertEqual(link["source"], found["source"])
        for row in found["traffic"]:
            if row["what"].startswith("message"):
                self.assertAlmostEqual(row["simulated_s"] / row["measured_s"], 1, delta=0.02, msg=row)

    def test_calibrate_of_one_gpu_says_what_it_cannot_tell(self):
        found, text = self.calibrated(TWINRUN_SUBSTITUTE_DEVICES="1")
        self.assertIn("there is one GPU", found["not_determined"][0])
        self.assertNotIn("sm_share", found)
        link, = [link for machine in text["templates"].values() for link in machine["links"] if link["from"].startswith("gpu")]
        self.assertAlmostEqual(number_in(link["bandwidth"], {"GB/s": 1, "MB/s": 1e-3, "Gb/s": 1 / 8}), 10, delta=0.1)
        self.assertAlmostEqual(number_in(link["latency"], {"us": 1, "ns": 1e-3}), 1, delta=0.02)  # of a copy

    def test_calibrate_without_gpus_is_one_sentence_and_code_6(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "never.json")
            for change, words in (({"TWINRUN_SUBSTITUTE_DRIVER": "missing"}, "no NVIDIA driver is installed"),
                                  ({"TWINRUN_SUBSTITUTE_DEVICES": "0"}, "sees no GPU"),
                                  ({"TWINRUN_CUDA_PLUGIN": "libnowhere.so"}, "needs libnowhere.so")):
                result = run("calibrate", "--backend", "cuda", "-o", file, **change)
                self.assertEqual(result.returncode, 6, result.stderr)
                self.assertIn(words, result.stderr)
            self.assertFalse(file.exists())

    def test_more_gpus_than_there_are(self):
        result = run("execute", MLP, "--backend", "cuda", TWINRUN_SUBSTITUTE_DEVICES="2")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("needs 4 GPUs in one process, and there are 2", result.stderr)

    def test_collectives_take_all_gpus_that_there_are(self):
        result = result_of("collective", "all_reduce", "--backend", "cuda", "-b", "4K", TWINRUN_SUBSTITUTE_DEVICES="3")
        self.assertEqual((result["ranks"], result["wrong"]), (3, 0))
        beside = result_of("collective", "all_reduce", "--backend", "cuda", "-b", "4K", "--topology", "dgx-a100",
                           "--ranks", 4)
        self.assertGreater(beside["rows"][0]["simulated_s"], 0)
        half = run("collective", "all_reduce", "--backend", "cuda", "-b", "4K", "--type", "fp16")
        self.assertEqual(half.returncode, 4, half.stderr)
        self.assertIn("--type fp32", half.stderr)

    def test_options_of_gpus_are_refused_elsewhere(self):
        for option in ("--nccl-estimate", "--cupti"):
            result = run("execute", MLP, "--backend", "cpu", option)
            self.assertEqual(result.returncode, 2)
            self.assertIn("--backend cuda", result.stderr)

    def test_without_cupti_there_is_a_warning_and_the_result(self):
        result = result_of("execute", "-", "--backend", "cuda", "--cupti", text=rounds(), LD_LIBRARY_PATH="")
        if "kernels" not in result:
            self.assertIn("kernels are not recorded", result["warnings"][0]["message"])

    @unittest.skipIf(IS_WATCHED, "the sanitizer looks for libraries in its own way")
    @unittest.skipUnless("TWINRUN_FAKE_CUPTI" in os.environ, "CUPTI's header was not there")
    def test_cupti_records_belong_to_ops_and_lie_within_the_run(self):
        with tempfile.TemporaryDirectory() as folder:
            libraries = os.pathsep.join([os.environ["TWINRUN_FAKE_CUPTI"], os.environ.get("LD_LIBRARY_PATH", "")])
            result = result_of("execute", "-", "--backend", "cuda", "--cupti", "--out", f"{folder}/run",
                               text=rounds(devices=2, count=3), LD_LIBRARY_PATH=libraries)
            self.assertEqual({row["kernel"]: row["launches"] for row in result["kernels"]}, {"even": 6, "odd": 6})
            self.assertAlmostEqual(sum(row["share_pct"] for row in result["kernels"]), 100, delta=1e-9)
            with open(f"{folder}/run/kernels.csv", encoding="utf-8") as file:
                rows = list(csv.DictReader(file))
            self.assertEqual(len(rows), 12)
            wall = result["engine"]["wall_s"]
            for row in rows:  # the clocks differ by a second, which is taken away
                self.assertGreater(float(row["start_s"]), -0.001)
                self.assertLess(float(row["end_s"]), wall)
                self.assertAlmostEqual(float(row["end_s"]) - float(row["start_s"]), 1e-6, delta=1e-8)
            # A sum is told once for all its GPUs: it is of the op whose GPU it ran on.
            sums = [row["op"] for row in rows if "/sum@" in row["op"]]
            self.assertEqual(sorted(set(sums)), [f"step{i}/sum@gpu0" for i in range(3)])

    def test_ctrl_c_and_a_kill_end_it_in_order(self):
        for sent, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
            with self.subTest(sent), tempfile.TemporaryDirectory() as folder:
                process = subprocess.Popen(
                    [PROGRAM, "execute", "-", "--backend", "cuda", "--pace", "--out", f"{folder}/run", "--format", "json"],
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                    env=environment(TWINRUN_SUBSTITUTE_LEAKS="report"))
                process.stdin.write(rounds(count=400, pause_us=100_000))
                process.stdin.close()
                process.stdin = None
                time.sleep(3)
                process.send_signal(sent)
                begin = time.monotonic()
                out, said = process.communicate(timeout=LIMIT)
                self.assertLess(time.monotonic() - begin, 30)
                self.assertEqual(process.returncode, code, said)
                self.assertIn("interrupted", json.loads(out)["failure"])
                self.assertTrue(pathlib.Path(folder, "run", "trace.json").exists())

    def test_a_fault_names_op_and_device(self):
        result = run("execute", "-", "--backend", "cuda", text=rounds(), TWINRUN_SUBSTITUTE_FAIL="cublasSgemm:5:13",
                     TWINRUN_SUBSTITUTE_LEAKS="report")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("step1/work@gpu1 on gpu1 failed: cublasSgemm", result.stdout + result.stderr)

    @unittest.skipUnless(shutil.which("mpirun"), "no mpirun")
    def test_under_mpirun_each_process_has_its_gpus_and_the_first_reports(self):
        before = ["mpirun", "-n", "2", "--oversubscribe", "--bind-to", "none"]
        steps = ("--steps", 3, "--data", "integers")
        several = result_of("execute", MLP, *steps, "--backend", "cuda", before=before)
        alone = result_of("execute", MLP, *steps, "--backend", "cpu")
        self.assertEqual((several["processes"], several["devices"]), (2, 4))
        self.assertEqual(several["weights_sha256"], alone["weights_sha256"])
        checked = result_of("collective", "all_gather", "--backend", "cuda", "--ranks", 4, "-b", "4K", before=before)
        self.assertEqual((checked["processes"], checked["wrong"]), (2, 0))


if __name__ == "__main__":
    if IS_REAL:
        sys.argv.remove("--real")
        found = [part for part in result_of("doctor")["parts"] if part["name"] == "CUDA backend"][0]
        if found["status"] != "ok":
            print(f"skipped: {found['detail']}")
            sys.exit(SKIPPED)
    unittest.main(verbosity=2)
