"""twinrun simulate JOB, twinrun plan compile JOB: a job in; plan, result and run folder out."""

import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]
JOBS = pathlib.Path(__file__).resolve().parents[2] / "jobs"
DDP = str(JOBS / "resnet50-ddp-8gpu.json")
# torchvision's ResNet-50: 4,089,184,256 multiply-accumulates a sample (formats and UX, 4.3), and V100's fp32 peak.
RESNET50_FLOP = 3 * 2 * 4089184256
TINY = {"model": "mlp-64-32-8", "topology": "dgx1-v100", "training": {"local_batch_size": 4}}
# A machine with a price and a power, two GPUs of 10 TFLOP/s joined by NVLink.
PRICED = {
    "nodes": {"box": 1},
    "devices": {"g": {"kind": "gpu", "peak": {"fp32": "10TFLOP/s"}, "memory": "1GiB", "memory_bandwidth": "500GB/s",
                      "launch_overhead": "5us"}},
    "templates": {"box": {"parts": [{"name": "gpu", "count": 2, "device": "g"}],
                          "links": [{"from": "gpu0", "to": "gpu1", "kind": "nvlink", "bandwidth": "20GB/s"}],
                          "price_per_hour": 3.6, "watts": 500}}}


def twinrun(*arguments, text=None, cwd=None):
    return subprocess.run([PROGRAM, *map(str, arguments)], input=text, capture_output=True, text=True, timeout=120,
                          cwd=cwd)


def answer_of(*arguments, text=None):
    result = twinrun("simulate", *arguments, "--format", "json", text=text)
    if result.returncode != 0:
        raise AssertionError(result.stderr)
    return json.loads(result.stdout)


def without_clock(answer):
    answer = json.loads(json.dumps(answer))
    del answer["engine"]["wall_s"], answer["engine"]["events_per_s"]
    return answer


class SimulateJob(unittest.TestCase):
    def test_the_keys_of_jobs_follow_from_the_step(self):
        answer = answer_of(DDP)
        self.assertEqual((answer["devices"], answer["steps"], len(answer["step_s_each"])), (8, 3, 3))
        # The first iteration has one bucket, so it is not counted.
        self.assertAlmostEqual(answer["step_s"], sum(answer["step_s_each"][1:]) / 2, places=12)
        self.assertAlmostEqual(answer["samples_per_s"], 256 / answer["step_s"], places=6)
        self.assertAlmostEqual(answer["epoch_s"], 1281167 / answer["samples_per_s"], places=6)
        tflops = RESNET50_FLOP * 32 / answer["step_s"] / 1e12
        self.assertAlmostEqual(answer["tflops_per_device"], tflops, places=6)
        self.assertAlmostEqual(answer["mfu_pct"], 100 * tflops / 15.7, places=6)
        self.assertAlmostEqual(answer["scaling_efficiency_pct"], 100 * answer["speedup_vs_one_device"] / 8, places=9)
        self.assertTrue(1 < answer["speedup_vs_one_device"] <= 8)
        one = answer_of(DDP, "--set", "parallelism.strategy=single")
        self.assertAlmostEqual(answer["speedup_vs_one_device"], answer["samples_per_s"] / one["samples_per_s"], places=9)
        self.assertEqual((one["devices"], one["speedup_vs_one_device"], one["scaling_efficiency_pct"]), (1, 1, 100))
        self.assertIsNone(answer["cost_per_epoch"])

    def test_without_a_number_of_samples_there_is_no_epoch(self):
        self.assertIsNone(answer_of("-", text=json.dumps(TINY))["epoch_s"])

    def test_price_and_power_of_the_machine(self):
        job = {**TINY, "topology": PRICED, "training": {"local_batch_size": 4, "dataset_samples": 1000000}}
        answer = answer_of("-", text=json.dumps(job))
        self.assertAlmostEqual(answer["cost_per_epoch"], answer["epoch_s"] / 1000, places=12)
        self.assertAlmostEqual(answer["energy_J"], 500 * answer["makespan_s"], places=12)
        self.assertAlmostEqual(answer["energy_per_epoch_J"], 500 * answer["epoch_s"], places=6)

    def test_what_one_device_cannot_hold_has_no_speedup(self):
        job = {**TINY, "model": "mlp-30000-30000-8", "topology": PRICED, "training": {"local_batch_size": 4}}
        answer = answer_of("-", "--allow-oom", text=json.dumps(job))
        self.assertIsNone(answer["speedup_vs_one_device"])
        self.assertIsNone(answer["scaling_efficiency_pct"])

    def test_the_text_says_what_was_run(self):
        result = twinrun("simulate", DDP)
        self.assertEqual(result.returncode, 0, result.stderr)
        for words in ["plan    ddp · 8 ranks of dgx1-v100 · resnet50 · batch 8 × 32 · fp32 · momentum",
                      "memory  peak", "step    ", "bounds  t1", "epoch   ", "the last step on gpu0",
                      "all_reduce/bucket4"]:
            self.assertIn(words, result.stdout)
        sizes = [line.split()[1] for line in result.stdout.splitlines() if line.startswith("all_reduce/bucket")]
        self.assertEqual(sizes, ["7.82", "30.0", "25.0", "25.3", "9.27"])  # MiB, as PyTorch has them

    def test_steps(self):
        self.assertEqual(answer_of(DDP, "--steps", "5")["steps"], 5)
        self.assertEqual(twinrun("simulate", DDP, "--steps", "0").returncode, 2)

    def test_options_win_over_the_file_wherever_they_stand(self):
        answer = answer_of("--set", "training.local_batch_size=8", "--topology", "dgx-a100", "-", "--model",
                           "mlp-16-4", "--set", "topology.gpus=2", text=json.dumps(TINY))
        self.assertEqual((answer["devices"], answer["topology"]), (2, "dgx-a100:gpus=2"))
        self.assertEqual((answer["layout"]["model"], answer["layout"]["global_batch_size"]), ("mlp-16-4", 16))

    def test_the_topology_may_come_from_standard_input(self):
        with tempfile.TemporaryDirectory() as scratch:
            path = pathlib.Path(scratch, "job.json")
            path.write_text(json.dumps({**TINY, "topology": "nowhere"}))
            self.assertEqual(answer_of(path, "--topology", "-", text=json.dumps(PRICED))["devices"], 2)
            broken = twinrun("simulate", path, "--topology", "-", text='{"nodes": {"box": 0}}')
            self.assertEqual(broken.returncode, 3)
            self.assertIn("<stdin>:1:19", broken.stderr)
        twice = twinrun("simulate", "-", "--topology", "-", text="{}")
        self.assertEqual(twice.returncode, 2)
        self.assertIn("once", twice.stderr)

    def test_files_beside_the_job_are_found_from_anywhere(self):
        with tempfile.TemporaryDirectory() as scratch:
            pathlib.Path(scratch, "box.json").write_text(json.dumps(PRICED))
            path = pathlib.Path(scratch, "job.json")
            path.write_text(json.dumps({**TINY, "topology": "box.json"}))
            self.assertEqual(answer_of(path)["devices"], 2)

    def test_every_example_of_the_repository_compiles(self):
        smaller = {"gpt3-175b-1024.json": ("--set", "training.local_batch_size=2")}  # quick, and the same layout
        for path in sorted(JOBS.glob("*.json")):
            if ".plan." not in path.name:
                with self.subTest(path.name):
                    result = twinrun("plan", "compile", path, "--steps", "1", "-o", "/dev/null",
                                     *smaller.get(path.name, ()))
                    self.assertEqual(result.returncode, 0, result.stderr)


class Compile(unittest.TestCase):
    def test_a_compiled_plan_runs_as_the_job_does(self):
        with tempfile.TemporaryDirectory() as scratch:
            plan = pathlib.Path(scratch, "plan.json")
            result = twinrun("plan", "compile", DDP, "-o", plan, "--steps", "2")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("2 steps", result.stdout)
            self.assertEqual(twinrun("plan", "validate", plan, "--topology", "dgx1-v100").returncode, 0)
            from_plan, from_job = answer_of(plan), answer_of(DDP, "--steps", "2")
            for key in ["makespan_s", "step_s_each", "devices_detail", "collectives", "links"]:
                self.assertEqual(from_plan[key], from_job[key], key)
            self.assertIsNone(from_plan["samples_per_s"])
            again = twinrun("plan", "compile", DDP, "-o", plan)
            self.assertEqual(again.returncode, 2)
            self.assertIn("--force", again.stderr)
            self.assertEqual(twinrun("plan", "compile", DDP, "-o", plan, "--force").returncode, 0)

    def test_a_plan_on_standard_output(self):
        job = json.dumps(TINY)
        plan = twinrun("plan", "compile", "-", "-o", "-", text=job).stdout
        self.assertEqual(json.loads(plan)["schema"], "twinrun/plan/1")
        self.assertEqual(answer_of("-", text=plan)["makespan_s"], answer_of("-", text=job)["makespan_s"])
        as_json = twinrun("plan", "compile", "-", "-o", "-", "--format", "json", text=job).stdout
        self.assertEqual(json.loads(as_json), json.loads(plan))

    def test_a_plan_is_no_job(self):
        result = twinrun("plan", "compile", JOBS / "two-gpus.plan.json", "-o", "-")
        self.assertEqual(result.returncode, 3)
        self.assertIn("not a job", result.stderr)
        refused = twinrun("simulate", JOBS / "two-gpus.plan.json", "--topology", "dgx1-v100", "--set", "name=x")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("is a plan", refused.stderr)


class RunFolder(unittest.TestCase):
    def test_the_job_in_it_says_what_was_run(self):
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch, "run")
            first = answer_of("-", "--out", out, "--set", "training.gbs=64", "--topology", "dgx1-v100:gpus=4",
                              text=json.dumps({"model": "mlp-64-32-8", "topology": "dgx-a100"}))
            self.assertEqual(json.loads((out / "job.json").read_text()), {
                "schema": "twinrun/job/1", "model": "mlp-64-32-8", "topology": "dgx1-v100:gpus=4",
                "training": {"global_batch_size": 64}})
            self.assertEqual(without_clock(answer_of(out / "job.json")), without_clock(first))
            by_plan = answer_of(out / "plan.json", "--topology", out / "topology.json")
            self.assertEqual(by_plan["makespan_s"], first["makespan_s"])


class Staleness(unittest.TestCase):
    SERVER = {"model": "alexnet", "topology": "dgx1-v100", "training": {"local_batch_size": 64},
              "parallelism": {"strategy": "parameter_server"}}

    def test_workers_at_their_own_pace_make_together_what_each_makes(self):
        for mode in ("async", "bounded"):
            answer = answer_of("-", "--slow", "gpu3=3", text=json.dumps({**self.SERVER, "server": {"mode": mode}}))
            each = answer["worker_step_s"]
            self.assertEqual(len(each), 8)
            self.assertAlmostEqual(answer["samples_per_s"], sum(64 / step for step in each), places=6)
            self.assertAlmostEqual(sum(answer["breakdown_s"].values()), answer["step_s"], places=9)
            self.assertGreater(answer["samples_per_s"], 8 * 64 / max(each), "the slowest does not set the pace")
            self.assertEqual(len(answer["staleness"]["histogram"]), answer["staleness"]["max"] + 1)

    def test_the_text_says_how_stale_and_how_far_apart(self):
        job = {**self.SERVER, "topology": "single-switch:hosts=6,bandwidth=1.25GB/s,latency=1us",
               "server": {"mode": "async", "placement": "hosts", "colocated": False, "count": 1}}
        text = twinrun("simulate", "-", text=json.dumps(job)).stdout
        self.assertRegex(text, r"\nworkers 5 at their own pace")
        # N equal workers: each gradient is N - 1 updates of others old.
        self.assertRegex(text, r"\nstale   weights are 4 updates old on average, 4 at most   4: 100 %")

    def test_synchronous_workers_are_not_stale(self):
        answer = answer_of("-", text=json.dumps(self.SERVER))
        self.assertNotIn("staleness", answer)
        self.assertNotIn("worker_step_s", answer)

    def test_pipedreams_stages_are_as_stale_as_they_are_far_from_the_end(self):
        job = {"model": "alexnet", "topology": "dgx1-v100", "mapping": {"ranks": 4},
               "training": {"local_batch_size": 32, "micro_batch_size": 4}, "parallelism": {"strategy": "pipedream"}}
        answer = answer_of("-", text=json.dumps(job))["staleness"]
        # Stage s of 4: 3 - s updates, so equally many gradients of each.
        self.assertEqual((answer["mean"], answer["max"]), (1.5, 3))
        self.assertEqual(len(set(answer["histogram"])), 1)


class Complaints(unittest.TestCase):
    def test_all_at_once_and_where_they_stand(self):
        result = twinrun("simulate", "-", "--set", "training.dtype=fp31", "--set", "trainig.mbs=4",
                         text='{"model": "resnet50",\n "topology": "dgx1-v100",\n "training": {"micro-batch-size": 0}}')
        self.assertEqual(result.returncode, 3)
        self.assertIn("--> --set training.dtype=fp31\n", result.stderr)
        self.assertIn("--> --set trainig.mbs=4\n", result.stderr)
        self.assertIn('did you mean "training.mbs"', result.stderr)
        self.assertIn("--> <stdin>:3:35  (/training/micro-batch-size)", result.stderr)

    def test_impossible_jobs_point_at_the_key_or_the_option(self):
        job = {**TINY, "parallelism": {"tp": 3}, "training": {}}
        in_file = twinrun("simulate", "-", text=json.dumps(job))
        self.assertEqual(in_file.returncode, 4, in_file.stderr)
        self.assertIn("(/parallelism/tp)", in_file.stderr)
        by_option = twinrun("simulate", "-", "--set", "parallelism.strategy=ddpp", text=json.dumps(TINY))
        self.assertEqual(by_option.returncode, 3)
        self.assertIn("--> --set parallelism.strategy=ddpp", by_option.stderr)
        self.assertIn('did you mean "ddp"', by_option.stderr)

    def test_impossible_jobs_are_told_all_at_once_with_what_would_do(self):
        job = {"model": "gpt2", "topology": "dgx1-v100", "parallelism": {
            "strategy": "1f1b", "tensor_parallel_degree": 5, "pipeline_parallel_degree": 40}}
        result = twinrun("simulate", "-", text=json.dumps(job))
        self.assertEqual(result.returncode, 4, result.stderr)
        for words in ("E0902", "E0905", "E0906", "one of 1, 2, 3, 4, 6, 12"):  # divisors of 12 heads
            self.assertIn(words, result.stderr)

    def test_a_model_too_large_gets_a_change_that_can_be_typed(self):
        job = {"model": "gpt2-xl", "topology": "dgx1-v100",
               "training": {"local_batch_size": 8, "dtype": "fp16", "optimizer": "adam"}}
        result = twinrun("simulate", "-", "--format", "json", text=json.dumps(job))
        self.assertEqual(result.returncode, 4, result.stderr)
        advice = json.loads(result.stdout)["memory_advice"]
        typed = re.search(r"--set [^:]+", advice).group().split()
        fits = twinrun("simulate", "-", *typed, text=json.dumps(job))
        self.assertEqual(fits.returncode, 0, fits.stdout + fits.stderr)

    def test_settings_need_a_value(self):
        result = twinrun("simulate", DDP, "--set", "training.dtype")
        self.assertEqual(result.returncode, 2)
        self.assertIn("path=value", result.stderr)

    def test_the_schema_is_printed(self):
        self.assertEqual(json.loads(twinrun("schema", "job").stdout)["title"], "twinrun job")


if __name__ == "__main__":
    unittest.main()
