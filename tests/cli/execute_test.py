"""twinrun execute: the same plan as simulate, run for real; the same keys, refusals and faults."""

import json
import os
import pathlib
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

    def test_what_cannot_be_run_yet_is_refused_with_the_op(self):
        refused = [("parallelism.strategy=pipedream", "/update"), ("training.offload=activations", "does not say")]
        for setting, words in refused:
            result = twinrun("execute", MLP, "--topology", "dgx1-v100:gpus=2", "--set", setting, "--backend", "cpu")
            self.assertEqual((result.returncode, result.stdout), (4, ""), setting)
            self.assertIn(words, result.stderr)
            self.assertIn("cannot be run for real yet", result.stderr)

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
