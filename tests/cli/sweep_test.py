"""twinrun sweep: a job and values of its keys in; a table, a folder that can be gone on with out."""

import csv
import io
import json
import os
import pathlib
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["TWINRUN"]
JOB = {"schema": "twinrun/job/1", "model": "alexnet", "topology": "dgx1-v100", "training": {"local_batch_size": 8},
       "parallelism": {"strategy": "ddp"}}


class Sweep(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.at = pathlib.Path(self.folder.name)
        (self.at / "job.json").write_text(json.dumps(JOB))

    def run_sweep(self, *options, job="job.json"):
        return subprocess.run([PROGRAM, "sweep", job, *options], cwd=self.at, capture_output=True, text=True,
                              timeout=120)

    def points(self, *options):
        run = self.run_sweep(*options, "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        return json.loads(run.stdout)

    def test_a_grid_has_every_combination(self):
        answer = self.points("--set", "training.local_batch_size=1,2,4", "--set", "training.dtype=fp32,fp16")
        self.assertEqual([tuple(point["set"].values()) for point in answer["points"]],
                         [(batch, dtype) for batch in "124" for dtype in ("fp32", "fp16")])
        self.assertEqual([point["global_batch_size"] for point in answer["points"]], [8, 8, 16, 16, 32, 32])
        for point in answer["points"]:
            self.assertAlmostEqual(sum(point["breakdown_s"].values()), point["step_s"], places=12)

    def test_a_point_is_what_simulate_says(self):
        point = self.points("--set", "training.local_batch_size=16")["points"][0]
        run = subprocess.run([PROGRAM, "simulate", "job.json", "--set", "training.local_batch_size=16", "--format",
                              "json"], cwd=self.at, capture_output=True, text=True, timeout=60)
        alone = json.loads(run.stdout)
        for key in ("t1_s", "t2_s"):
            self.assertAlmostEqual(point[key], alone[key], places=11)
        self.assertAlmostEqual(point["step_s"], alone["step_s"], places=11)
        self.assertEqual(point["breakdown_s"], alone["breakdown_s"])

    def test_threads_do_not_change_a_byte(self):
        options = ("--set", "training.local_batch_size=1,2,4,8", "--format", "json")
        self.assertEqual(self.run_sweep(*options, "--jobs", "1").stdout, self.run_sweep(*options, "--jobs", "3").stdout)

    def test_the_best_are_named(self):
        answer = self.points("--set", "training.local_batch_size=1,64")
        self.assertEqual(answer["best"]["samples_per_s"]["set"], {"training.local_batch_size": "64"})
        self.assertEqual(answer["best"]["peak_bytes"]["set"], {"training.local_batch_size": "1"})
        self.assertEqual([point["pareto"] for point in answer["points"]], [True, True])

    def test_a_point_that_cannot_be_is_kept_and_told(self):
        run = self.run_sweep("--set", "parallelism.tensor_parallel_degree=1,3", "--format", "json")
        self.assertEqual(run.returncode, 7)
        points = json.loads(run.stdout)["points"]
        self.assertIn("step_s", points[0])
        self.assertIn("E0902", points[1]["error"])

    def test_a_folder_is_gone_on_with(self):
        options = ("--set", "training.local_batch_size=1,2,4", "--out", "runs")
        whole = self.points(*options)
        refused = self.run_sweep(*options)
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--resume", refused.stderr)
        kept = (self.at / "runs/points/000000.json").read_text()
        (self.at / "runs/points/000001.json").unlink()
        run = self.run_sweep(*options, "--resume")
        self.assertIn("3 points, 1 simulated now, 0 failed", run.stdout)
        self.assertEqual((self.at / "runs/points/000000.json").read_text(), kept)
        self.assertEqual(json.loads((self.at / "runs/result.json").read_text()), whole)
        rows = list(csv.DictReader(io.StringIO((self.at / "runs/result.csv").read_text())))
        self.assertEqual([row["training.local_batch_size"] for row in rows], ["1", "2", "4"])

    def test_another_sweep_does_not_mix_into_a_folder(self):
        self.points("--set", "training.local_batch_size=1,2", "--out", "runs")
        run = self.run_sweep("--set", "training.local_batch_size=1,4", "--out", "runs", "--resume")
        self.assertEqual(run.returncode, 2)
        self.assertIn("another sweep", run.stderr)

    def test_shards_together_make_the_whole(self):
        options = ("--set", "training.local_batch_size=1,2,4,8,16", "--out", "runs")
        self.assertEqual(len(self.points(*options, "--shard", "1/2")["points"]), 3)
        self.assertEqual(len(self.points(*options, "--shard", "2/2")["points"]), 5)

    def share_of(self, **variables):
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI_", "PMI_", "SLURM_"))}
        run = subprocess.run([PROGRAM, "sweep", "job.json", "--set", "training.local_batch_size=1,2,3,4,5,6", "--shard",
                              "auto", "--format", "json"], cwd=self.at, capture_output=True, text=True, timeout=120,
                             env={**clean, **variables})
        if run.returncode != 0:
            return run.stderr
        return [int(point["set"]["training.local_batch_size"]) for point in json.loads(run.stdout)["points"]]

    def test_a_process_of_mpirun_or_slurm_takes_its_share(self):
        self.assertEqual(self.share_of(OMPI_COMM_WORLD_RANK="1", OMPI_COMM_WORLD_SIZE="3"), [2, 5])
        self.assertEqual(self.share_of(SLURM_PROCID="0", SLURM_NTASKS="2"), [1, 3, 5])
        # An array of the ids 10, 12, 14.
        array = {"SLURM_ARRAY_TASK_MIN": "10", "SLURM_ARRAY_TASK_STEP": "2", "SLURM_ARRAY_TASK_COUNT": "3"}
        self.assertEqual(self.share_of(**array, SLURM_ARRAY_TASK_ID="14"), [3, 6])
        # … with two ranks a task: the fourth of six.
        self.assertEqual(self.share_of(**array, SLURM_ARRAY_TASK_ID="12", SLURM_PROCID="1", SLURM_NTASKS="2"), [4])
        # Under both, mpirun's: Slurm's number is its daemon's.
        self.assertEqual(self.share_of(OMPI_COMM_WORLD_RANK="2", OMPI_COMM_WORLD_SIZE="3", SLURM_PROCID="0",
                                       SLURM_NTASKS="1"), [3, 6])
        self.assertIn("--shard 2/4", self.share_of())

    def test_a_killed_sweep_is_gone_on_with(self):
        batches = ",".join(str(batch) for batch in range(1, 33))
        options = ("--set", f"training.local_batch_size={batches}", "--out", "runs")
        process = subprocess.Popen([PROGRAM, "sweep", "job.json", *options], cwd=self.at, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        points = self.at / "runs/points"
        while process.poll() is None and (not points.exists() or len(list(points.glob("*.json"))) < 3):
            time.sleep(0.001)
        process.kill()
        process.wait()
        run = self.run_sweep(*options, "--resume", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["points"], self.points(*options[:2])["points"])

    def test_wrong_options_say_what_is_right(self):
        for options, word in (((), "--set"), (("--set", "training.local_batch_size"), "="),
                              (("--set", "training.local_batch_size=1", "--shard", "3/2"), "2/4")):
            run = self.run_sweep(*options)
            self.assertEqual(run.returncode, 2, options)
            self.assertIn(word, run.stderr)


if __name__ == "__main__":
    unittest.main()
