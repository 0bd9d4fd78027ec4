"""twinrun execute: the same plan as simulate, run for real; the same keys, refusals and faults."""

import json
import os
import pathlib
import resource
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["TWINRUN"]
JOBS = pathlib.Path(__file__).resolve().parents[2] / "jobs"
MLP = str(JOBS / "mlp-4cpu.json")
RESNET = str(JOBS / "resnet50-ddp-8gpu.json")
STUCK = {"schema": "twinrun/plan/1", "topology": "cpu:devices=1", "ops": [
    {"id": "endless@cpu0", "kind": "compute", "device": "cpu0", "flops": 1e18},
    {"id": "next@cpu0", "kind": "compute", "device": "cpu0", "stream": "other", "after": ["endless@cpu0"]}]}


def twinrun(*arguments, text=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=120)


def executed(*arguments, text=None):
    result = twinrun("execute", *arguments, "--backend", "cpu", "--format", "json", text=text)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


class Execute(unittest.TestCase):
    def test_a_job_trains_and_leaves_the_keys_of_a_simulation(self):
        run = executed(MLP, "--steps", 10)
        self.assertEqual((run["source"], run["backend"], run["devices"], run["steps"]), ("executed", "cpu", 4, 10))
        self.assertEqual((len(run["loss"]), len(run["step_s_each"]), len(run["weights_sha256"])), (10, 10, 64))
        self.assertLess(run["loss"][-1], run["loss"][0])
        self.assertFalse(run["emulated"])
        self.assertEqual(run["replica_disagreement"], 0)
        simulated = json.loads(twinrun("simulate", MLP, "--steps", 10, "--format", "json").stdout)
        self.assertEqual(set(simulated) - set(run), set())
        ops = [{entry["op"] for entry in answer["collectives"]} for answer in (run, simulated)]
        self.assertEqual(ops[0], ops[1])

    def test_integers_give_the_weights_of_one_device(self):
        four = executed(MLP, "--steps", 5, "--data", "integers")
        one = executed(MLP, "--steps", 5, "--data", "integers", "--set", "parallelism.strategy=single")
        self.assertEqual(four["weights_sha256"], one["weights_sha256"])
        self.assertEqual(four["loss"], one["loss"])
        other = executed(MLP, "--steps", 5, "--data", "integers", "--seed", 2)
        self.assertNotEqual(four["weights_sha256"], other["weights_sha256"])

    def test_warm_up_steps_come_first_and_are_not_counted(self):
        run = executed(MLP, "--steps", 4, "--warmup-steps", 3)
        self.assertEqual(len(run["step_s_each"]), 7)
        self.assertAlmostEqual(run["step_s"], sum(run["step_s_each"][3:]) / 4, places=12)

    def test_layers_without_a_kernel_are_emulated_and_said_to_be(self):
        run = executed(RESNET, "--steps", 1, "--topology", "cpu:devices=2", "--set", "training.local_batch_size=1",
                       "--set", "model=mlp-64-32-8", "--set", "training.dtype=bf16")
        self.assertTrue(run["emulated"])
        self.assertIn("fp32", run["emulated_because"])
        self.assertEqual((run["loss"], run["weights_sha256"]), ([], None))

    def test_a_compiled_plan_runs_as_its_job_does(self):
        with tempfile.TemporaryDirectory() as folder:
            job = executed(MLP, "--steps", 3, "--data", "integers", "--out", folder + "/run")
            plan = executed(folder + "/run/plan.json", "--data", "integers")
            self.assertEqual(plan["weights_sha256"], job["weights_sha256"])
            kept = json.loads(pathlib.Path(folder, "run", "result.json").read_text())
            self.assertEqual(kept["weights_sha256"], job["weights_sha256"])
            self.assertTrue(list(pathlib.Path(folder, "run", "traces").iterdir()))
            log = pathlib.Path(folder, "run", "log.txt").read_text()
            self.assertRegex(log, r"(?m)^\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ  twinrun .* execute .*--data integers")
            self.assertIn(job["weights_sha256"], log)
            again = twinrun("execute", MLP, "--backend", "cpu", "--out", folder + "/run")
            self.assertEqual((again.returncode, again.stdout), (2, ""))
            self.assertIn("--force", again.stderr)
            self.assertEqual(pathlib.Path(folder, "run", "log.txt").read_text(), log)

    def test_what_cannot_be_run_yet_is_refused_with_the_op(self):
        cut_inside_a_pair = ["--model", "mlp-12-16-8-16-8-4", "--topology", "dgx1-v100:gpus=4"]
        for setting in ("strategy=1f1b", "pipeline_parallel_degree=2", "tensor_parallel_degree=2", "balance=[1,4]"):
            cut_inside_a_pair += ["--set", "parallelism." + setting]
        result = twinrun("execute", MLP, *cut_inside_a_pair, "--backend", "cpu")
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn("/send", result.stderr)
        self.assertIn("cannot be run for real yet", result.stderr)

    def test_samples_come_from_a_csv_file(self):
        rows = [f"{i % 7 / 7},{i % 5 / 5},{int(i % 7 > 3)}" for i in range(40)]
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder, "samples.csv")
            file.write_text("x,y,class\n" + "\n".join(rows) + "\n")
            small = [MLP, "--model", "mlp-2-16-2", "--steps", 200, "--set", "training.learning_rate=0.5", "--data", file,
                     "--set", "training.global_batch_size=8"]
            four = executed(*small)
            self.assertLess(four["loss"][-1], 0.5 * four["loss"][0])
            one = executed(*small, "--set", "parallelism.strategy=single")
            for ours, its in zip(four["loss"], one["loss"]):
                self.assertAlmostEqual(ours, its, delta=1e-4)
            other = executed(*small, "--seed", 2)
            self.assertNotEqual(four["loss"][:5], other["loss"][:5])
            for text, words in (("1,2,2\n", "of class 2"), ("1,2,3,0\n", "3 numbers, the model 2"), ("1,x,0\n", "no number")):
                file.write_text(text)
                refused = twinrun("execute", *small, "--backend", "cpu")
                self.assertEqual((refused.returncode, refused.stdout), (3, ""))
                self.assertIn(words, refused.stderr)

    def test_samples_come_from_idx_files(self):
        with tempfile.TemporaryDirectory() as folder:
            images, labels = pathlib.Path(folder, "images"), pathlib.Path(folder, "labels")
            images.write_bytes(bytes([0, 0, 8, 3, 0, 0, 0, 8, 0, 0, 0, 2, 0, 0, 0, 2]) + bytes([255, 0, 0, 255, 0, 255, 255, 0] * 4))
            labels.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 8]) + bytes([0, 1] * 4))
            run = executed(MLP, "--model", "mlp-4-8-2", "--steps", 100, "--set", "training.global_batch_size=8", "--set",
                           "training.learning_rate=0.5", "--data", f"{images},{labels}")
            self.assertLess(run["loss"][-1], 0.3 * run["loss"][0])

    def test_a_sweep_counts_steps_to_a_loss_and_explain_reads_them(self):
        with tempfile.TemporaryDirectory() as folder:
            file = folder + "/steps.json"
            sweep = twinrun("execute", MLP, "--backend", "cpu", "--model", "mlp-8-16-4", "--steps", 200, "--sweep",
                            "training.global_batch_size=8,32", "--sweep", "training.learning_rate=0.05,0.5",
                            "--target-loss", 0.2, "--out", file, "--format", "json")
            self.assertEqual(sweep.returncode, 0, sweep.stderr)
            rows = json.loads(sweep.stdout)["rows"]
            self.assertEqual([row["global_batch"] for row in rows], [8, 32])
            self.assertTrue(all(0 < row["steps"] <= 200 and "learning_rate=0.5" in row["set"] for row in rows))
            self.assertEqual(json.loads(pathlib.Path(file).read_text())["rows"], rows)
            told = twinrun("explain", MLP, "--time-to-accuracy", file, "--format", "json")
            self.assertIn("time_to_accuracy_soonest", told.stdout)
        for wrong in (["--sweep", "training.global_batch_size=8"], ["--sweep", "no", "--target-loss", 1]):
            self.assertEqual(twinrun("execute", MLP, "--backend", "cpu", *wrong).returncode, 2, wrong)

    def test_paced_ops_take_no_less_than_simulated(self):
        slow = [MLP, "--steps", 3, "--topology", "p3.2xlarge:nodes=4,nic=0.2Gb/s"]
        simulated = json.loads(twinrun("simulate", *slow, "--format", "json").stdout)
        paced = executed(*slow, "--pace")
        self.assertGreaterEqual(paced["makespan_s"], simulated["makespan_s"])

    def test_an_unknown_backend_is_a_wrong_command_line(self):
        result = twinrun("execute", MLP, "--backend", "gpu")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cpu", result.stderr)


class Faults(unittest.TestCase):
    def test_a_stuck_op_ends_with_the_timeout_and_names_itself(self):
        with tempfile.TemporaryDirectory() as folder:
            begin = time.monotonic()
            result = twinrun("execute", "-", "--backend", "cpu", "--timeout", 1, "--out", folder + "/run", "--format",
                             "json", text=json.dumps(STUCK))
            self.assertLess(time.monotonic() - begin, 30)
            self.assertEqual(result.returncode, 124)
            failure = json.loads(result.stdout)["failure"]
            self.assertIn("running: endless@cpu0 on cpu0", failure)
            self.assertIn("next@cpu0 on cpu0 for endless@cpu0 on cpu0", failure)
            self.assertIn("failure", json.loads(pathlib.Path(folder, "run", "result.json").read_text()))

    def test_collectives_in_another_order_on_every_rank_are_refused(self):
        def op(name, device):
            return {"id": f"{name}@{device}", "kind": "collective", "device": device, "stream": "n", "bytes": 1024,
                    "collective": "all_reduce", "group": "w"}
        ops = [op("a", "cpu0"), op("b", "cpu0"), op("b", "cpu1"), op("a", "cpu1")]
        plan = {"schema": "twinrun/plan/1", "topology": "cpu:devices=2", "groups": {"w": ["cpu0", "cpu1"]}, "ops": ops}
        result = twinrun("execute", "-", "--backend", "cpu", text=json.dumps(plan))
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn('"cpu0" has "a" before "b", "cpu1" has "b" before "a"', result.stderr)

    @unittest.skipIf(b"__asan_init" in pathlib.Path(PROGRAM).read_bytes(), "sanitizers need more address space than there is")
    def test_too_little_memory_is_said_in_a_sentence(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        result = subprocess.run([PROGRAM, "execute", MLP, "--model", "mlp-20000-20000-10", "--backend", "cpu"],
                                capture_output=True, text=True, preexec_fn=limit, timeout=120)
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("out of memory", result.stderr)

    def test_a_product_beyond_all_memory_is_refused_before_the_run(self):
        ops = [{"id": "huge@cpu1", "kind": "compute", "device": "cpu1", "flops": 1e18, "bytes": 1, "kernel":
                {"kind": "gemm", "m": 4000000000, "n": 4000000000, "k": 1}}]
        plan = {"schema": "twinrun/plan/1", "topology": "cpu:devices=2", "ops": ops}
        result = twinrun("execute", "-", "--backend", "cpu", text=json.dumps(plan))
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertIn("huge@cpu1 multiplies to 4000000000 × 4000000000 numbers", result.stderr)

    def test_a_full_disk_does_not_take_the_result_away(self):
        def limit():
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([PROGRAM, "execute", MLP, "--backend", "cpu", "--steps", "5", "--format", "json",
                                     "--out", folder + "/run"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                    preexec_fn=limit, timeout=120)
            self.assertEqual(result.returncode, 1)
            self.assertIn("cannot write", result.stderr)
            self.assertEqual(len(json.loads(result.stdout)["loss"]), 5)
            self.assertEqual([file.name for file in pathlib.Path(folder, "run").iterdir() if "tmp" in file.name], [])

    def test_ctrl_c_ends_in_order(self):
        ops = [{"id": f"op{i}@cpu0", "kind": "compute", "device": "cpu0", "flops": 5e9} for i in range(10000)]
        with tempfile.TemporaryDirectory() as folder:
            plan = pathlib.Path(folder, "long.json")
            plan.write_text(json.dumps({"schema": "twinrun/plan/1", "topology": "cpu:devices=1", "ops": ops}))
            process = subprocess.Popen([PROGRAM, "execute", plan, "--backend", "cpu", "--out", folder + "/run"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            time.sleep(4)
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 130)
            self.assertIn("interrupted; running: op", out)
            kept = json.loads(pathlib.Path(folder, "run", "result.json").read_text())
            self.assertIn("interrupted", kept["failure"])
            self.assertGreater(kept["makespan_s"], 0)


if __name__ == "__main__":
    unittest.main()
