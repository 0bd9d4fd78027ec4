"""twinrun explain JOB: planning questions, each answered with a number."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]
# From the contract.
QUESTIONS = ["batch_where_t1_equals_t2", "server_or_ring", "bandwidth_where_server_and_ring_meet",
             "devices_where_scaling_stops", "bottleneck_link", "fastest_strategy", "fits_memory"]
CLUSTER = {"schema": "twinrun/job/1", "model": "vgg16", "topology": "p3.2xlarge:nodes=4,nic=10Gb/s",
           "training": {"local_batch_size": 16}}


def run(job, *options):
    return subprocess.run([PROGRAM, "explain", "-", *options], input=json.dumps(job), capture_output=True, text=True,
                          timeout=300)


def answers(job, *options):
    done = run(job, *options, "--format", "json")
    assert done.returncode == 0, done.stderr
    return {answer["question"]: answer for answer in json.loads(done.stdout)["answers"]}


class Explain(unittest.TestCase):
    def test_every_question_of_the_contract_is_answered_with_what_was_assumed(self):
        found = answers(CLUSTER)
        self.assertEqual(list(found), QUESTIONS)
        for answer in found.values():
            self.assertTrue(answer["answer"] and answer["assumed"], answer)

    def test_only_what_is_asked_is_answered_as_when_all_is(self):
        some = answers(CLUSTER, "--only", "fits_memory,server_or_ring")
        everything = answers(CLUSTER)
        self.assertEqual(some, {name: everything[name] for name in ["server_or_ring", "fits_memory"]})

    def test_an_unknown_question_is_named_with_the_known_ones(self):
        done = run(CLUSTER, "--only", "server_or_rings")
        self.assertEqual(done.returncode, 2)
        self.assertIn("server_or_ring", done.stderr)

    def test_the_batch_is_the_smallest_that_hides_communication(self):
        batch = answers(CLUSTER)["batch_where_t1_equals_t2"]["value"]

        def hides(size):
            text = subprocess.run([PROGRAM, "simulate", "-", "--set", f"training.local_batch_size={size}", "--format",
                                   "json", "--allow-oom"], input=json.dumps(CLUSTER), capture_output=True, text=True,
                                  timeout=60).stdout
            result = json.loads(text)
            return result["t1_s"] >= result["t2_s"]
        self.assertTrue(hides(batch))
        self.assertFalse(hides(batch - 1))

    def test_a_job_that_does_not_fit_gets_a_change_that_does(self):
        job = {"schema": "twinrun/job/1", "model": "gpt2-xl", "topology": "dgx1-v100",
               "training": {"local_batch_size": 8, "dtype": "fp16", "optimizer": "adam"}}
        answer = answers(job)["fits_memory"]
        self.assertIs(answer["value"], False)
        self.assertIn("it does (", answer["answer"])

    def test_time_to_accuracy_follows_the_law(self):
        found = answers(CLUSTER, "--time-to-accuracy", "critical:steps=1000,batch=256")
        soonest = found["time_to_accuracy_soonest"]["value"]
        cheapest = found["time_to_accuracy_cheapest"]["value"]
        self.assertAlmostEqual(soonest["steps"], 1000 * (1 + 256 / soonest["global_batch_size"]))
        self.assertLessEqual(soonest["time_s"], cheapest["time_s"])
        self.assertLessEqual(cheapest["device_hours"], soonest["device_hours"])

    def test_time_to_accuracy_reads_mlperfs_reference_convergence_points(self):
        # Epochs by global batch as MLPerf publishes them; the keys and their order are the table's.
        rows = [{"benchmark": "resnet", "round": "4.0.0", "global_batch": batch, "epochs_to_converge_mean": epochs,
                 "runs": 10, "hyperparams": {"optimizer": "lars"}} for batch, epochs in ((1632, 35), (3264, 35.2))]
        rows.append({"benchmark": "bert", "global_batch": 1632, "epochs_to_converge_mean": 1})
        job = {"model": "resnet50", "topology": "dgx1-v100", "training": {"dataset_samples": 1281167}}
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "rcp.json"
            table.write_text(json.dumps({"source": "MLPerf", "n_rows": len(rows), "rows": rows}))
            found = answers(job, "--time-to-accuracy", table)
        soonest = found["time_to_accuracy_soonest"]["value"]
        # 3264 is no power of two, and too much for eight V100 at once; more devices are sooner.
        self.assertEqual(soonest["devices"], 64)
        epochs = {1632: 35, 3264: 35.2}
        for answer in (soonest, found["time_to_accuracy_cheapest"]["value"]):
            if answer["global_batch_size"] in epochs:
                steps = epochs[answer["global_batch_size"]] * 1281167 / answer["global_batch_size"]
                self.assertAlmostEqual(answer["steps"], steps)

    def test_a_batch_that_does_not_fit_at_once_goes_in_passes(self):
        with tempfile.TemporaryDirectory() as folder:
            table = pathlib.Path(folder) / "steps.json"
            table.write_text(json.dumps([{"batch": 1024, "steps": 100}]))
            found = answers({"model": "resnet50", "topology": "p3.2xlarge"}, "--time-to-accuracy", table)
        cheapest = found["time_to_accuracy_cheapest"]["value"]
        # The outputs of 1024 samples' convolutions alone are 1024 · 11,114,984 · 4 bytes, 2.6 times
        # the 16 GiB of a V100: one or two take them in several passes.
        self.assertEqual(cheapest["global_batch_size"], 1024)
        self.assertLessEqual(cheapest["devices"], 2)
        self.assertGreater(cheapest["devices"] * cheapest["gradient_accumulation"], 2)
        self.assertGreater(cheapest["gradient_accumulation"], 1)

    def test_what_one_process_takes_to_launch_is_told(self):
        job = {"model": "alexnet", "topology": "pcie-2x2080ti", "training": {"local_batch_size": 16},
               "parallelism": {"strategy": "data_parallel"}}
        for answer in answers(job).values():
            self.assertEqual(sum("launch a layer" in text for text in answer["assumed"]), 1, answer)
        job["parallelism"]["strategy"] = "ddp"
        found = answers(job)
        self.assertIn("20 us to launch a layer", " ".join(found["fastest_strategy"]["assumed"]))
        self.assertNotIn("launch a layer", " ".join(found["fits_memory"]["assumed"]))

    def test_a_law_that_is_none_says_how_one_is_written(self):
        done = run(CLUSTER, "--time-to-accuracy", "critical:steps=0")
        self.assertEqual(done.returncode, 2)
        self.assertIn("critical:steps=5000,batch=4000", done.stderr)


if __name__ == "__main__":
    unittest.main()
