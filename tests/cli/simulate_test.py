"""twinrun simulate: a plan and a topology in; result, run folder and traces out."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]
SWITCH = "single-switch:hosts=2,bandwidth=12.5GB/s,latency=1us"
RESULT_KEYS = {
    "schema", "source", "backend", "name", "devices", "steps", "makespan_s", "step_s", "step_s_each", "t1_s", "t2_s",
    "max_t1_t2_s", "sum_t1_t2_s", "overlap_pct", "exposed_communication_s", "breakdown_s", "memory", "devices_detail",
    "links", "collectives", "critical_path", "critical_path_share", "engine", "warnings"}


def plan(ops, devices=("node0/cpu0", "node1/cpu0")):
    return json.dumps({"schema": "twinrun/plan/1", "name": "test", "devices": list(devices),
                       "groups": {"all": list(devices)}, "ops": ops})


def compute(i, time, **more):
    return {"id": f"step0/work@{i}", "kind": "compute", "device": f"node{i}/cpu0", "duration": time, **more}


def reduce(i, bytes, **more):
    return {"id": f"step0/sum@{i}", "kind": "collective", "device": f"node{i}/cpu0", "collective": "all_reduce",
            "group": "all", "bytes": bytes, "algorithm": "ring", **more}


def simulate(text, *options, topology=SWITCH):
    return subprocess.run([PROGRAM, "simulate", "-", "--topology", topology, *options], input=text,
                          capture_output=True, text=True, timeout=60)


# Work of 100 us beside a reduction that takes 2 (2 us + 125,000 B / 12.5 GB/s) = 24 us, then both end.
OVERLAP = plan([compute(0, "100us"), compute(1, "60us"), reduce(0, 250000), reduce(1, 250000)])


class Simulate(unittest.TestCase):
    def test_the_answer_by_hand(self):
        answer = json.loads(simulate(OVERLAP, "--format", "json").stdout)
        self.assertLessEqual(RESULT_KEYS, set(answer))
        self.assertEqual(answer["makespan_s"], 100e-6)
        self.assertEqual((answer["t1_s"], answer["t2_s"]), (100e-6, 24e-6))
        self.assertEqual((answer["max_t1_t2_s"], answer["sum_t1_t2_s"]), (100e-6, 124e-6))
        self.assertEqual(answer["overlap_pct"], 100)
        self.assertAlmostEqual(sum(answer["breakdown_s"].values()), answer["step_s"], places=15)
        self.assertEqual([op["op"] for op in answer["critical_path"]], ["step0/work@0"])
        self.assertEqual(answer["devices_detail"][1], {
            "device": "node1/cpu0", "compute_s": 60e-6, "communication_s": 24e-6, "exposed_s": 0.0, "idle_s": 40e-6})
        self.assertEqual(answer["collectives"], [{
            "op": "step0/sum", "kind": "all_reduce", "algorithm": "ring", "protocol": None, "ranks": 2,
            "bytes": 250000, "time_s": 24e-6, "algbw_GBps": 250000 / 24e-6 / 1e9, "busbw_GBps": 250000 / 24e-6 / 1e9,
            "bottleneck": None}])
        self.assertEqual({link["bytes"] for link in answer["links"]}, {250000})

    def test_what_waits_is_exposed(self):
        ops = [compute(0, "100us"), compute(1, "60us"), reduce(0, 250000, after=["step0/work@0"]),
               reduce(1, 250000, after=["step0/work@1"])]
        answer = json.loads(simulate(plan(ops), "--format", "json").stdout)
        self.assertEqual(answer["makespan_s"], 124e-6)
        self.assertEqual(answer["exposed_communication_s"], 24e-6)
        share = answer["critical_path_share"]
        self.assertAlmostEqual(share["communication"], 24 / 124, places=12)
        self.assertAlmostEqual(share["compute"] + share["communication"] + share["wait"], 1, places=12)

    def test_a_run_folder_holds_all_and_is_not_overwritten(self):
        with tempfile.TemporaryDirectory() as scratch:
            out = pathlib.Path(scratch, "run")
            first = simulate(OVERLAP, "--out", out)
            self.assertEqual(first.returncode, 0, first.stderr)
            names = sorted(str(path.relative_to(out)) for path in out.rglob("*") if path.is_file())
            self.assertEqual(names, ["log.txt", "plan.json", "result.json", "topology.json", "trace.json", "traces/rank0.json",
                                     "traces/rank1.json", "traces/trace.pftrace"])
            self.assertEqual(json.loads((out / "result.json").read_text())["makespan_s"], 100e-6)
            again = subprocess.run([PROGRAM, "simulate", out / "plan.json", "--topology", out / "topology.json",
                                    "--format", "json"], capture_output=True, text=True)
            self.assertEqual(json.loads(again.stdout)["makespan_s"], 100e-6, again.stderr)
            second = simulate(OVERLAP, "--out", out)
            self.assertEqual(second.returncode, 2)
            self.assertIn("--force", second.stderr)
            self.assertEqual(simulate(OVERLAP, "--out", out, "--force").returncode, 0)

    def test_traces_of_some_ranks_say_what_was_left_out(self):
        with tempfile.TemporaryDirectory() as scratch:
            result = simulate(OVERLAP, "--trace", scratch + "/t", "--trace-ranks", "node1/cpu0")
            self.assertEqual(sorted(os.listdir(scratch + "/t")), ["rank1.json", "trace.pftrace"])
            self.assertIn("left out", result.stderr)
            self.assertEqual(simulate(OVERLAP, "--trace", scratch + "/u", "--trace-ranks", "gpu9").returncode, 2)

    def test_memory_that_does_not_suffice_is_a_verdict(self):
        ops = [compute(0, "1us", memory=[{"part": "activations", "bytes": "3TiB", "when": "start"}])]
        too_large = plan([{**ops[0], "device": "gpu0"}], devices=["gpu0"])
        result = simulate(too_large, topology="dgx1-v100")
        self.assertEqual(result.returncode, 4, result.stderr)
        self.assertIn("does not fit: gpu0 needs 3 TiB", result.stdout)
        self.assertIn("activations", result.stdout)
        allowed = simulate(too_large, "--allow-oom", "--format", "json", topology="dgx1-v100")
        self.assertEqual(allowed.returncode, 0)
        memory = json.loads(allowed.stdout)["memory"][0]
        self.assertEqual((memory["peak_bytes"], memory["fits"], memory["at_op"]), (3 << 40, False, "step0/work@0"))

    def test_the_same_command_prints_the_same_bytes(self):
        def without_clock(text):
            answer = json.loads(text)
            del answer["engine"]["wall_s"], answer["engine"]["events_per_s"]
            return answer
        options = ("--jitter", "lognormal:0.1", "--seed", "3", "--format", "json")
        first, second = simulate(OVERLAP, *options), simulate(OVERLAP, *options)
        self.assertEqual(without_clock(first.stdout), without_clock(second.stdout))
        other = simulate(OVERLAP, "--jitter", "lognormal:0.1", "--seed", "4", "--format", "json")
        self.assertNotEqual(without_clock(first.stdout), without_clock(other.stdout))

    def test_a_straggler(self):
        answer = json.loads(simulate(OVERLAP, "--slow", "node1/cpu0=3", "--format", "json").stdout)
        self.assertEqual(answer["makespan_s"], 180e-6)

    def test_options_that_change_nothing_are_named(self):
        result = simulate(plan([compute(0, "1us")]), "--seed", "5", "--fidelity", "stepwise", "--format", "json")
        self.assertEqual([warning["code"] for warning in json.loads(result.stdout)["warnings"]], ["W0701", "W0701"])

    def test_a_plan_that_blocks_itself_is_refused_with_the_ops_named(self):
        # Each waits for the other's message before it sends its own.
        def message(kind, i):
            return {"id": f"step0/{kind}@{i}", "kind": kind, "device": f"node{i}/cpu0", "peer": f"node{1 - i}/cpu0",
                    "bytes": 8, "stream": "comm"}
        crossed = simulate(plan([message(kind, i) for i in (0, 1) for kind in ("recv", "send")]))
        self.assertEqual(crossed.returncode, 3, crossed.stdout)
        for words in ("E0405", "step0/recv@0", "step0/send@0", "step0/recv@1", "step0/send@1"):
            self.assertIn(words, crossed.stderr)

    def test_mistakes(self):
        for options, code, words in [
            (("--jitter", "gauss:1"), 2, "lognormal:0.05"),
            (("--slow", "node1/cpu0"), 2, "gpu3=1.5"),
            (("--slow", "node1/cpu7=2"), 2, "did you mean"),
            (("--fidelity", "stepwize"), 2, "stepwise"),
            (("--trace-steps", "x", "--trace", "unused"), 2, "2-5"),
        ]:
            with self.subTest(options):
                result = simulate(OVERLAP, *options)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(words, result.stderr)
        missing = simulate(plan([compute(7, "1us")], devices=["node7/cpu0"]))
        self.assertEqual(missing.returncode, 3, missing.stderr)
        self.assertIn("node7/cpu0", missing.stderr)
        nowhere = subprocess.run([PROGRAM, "simulate", "-"], input=OVERLAP, capture_output=True, text=True)
        self.assertEqual(nowhere.returncode, 2)
        self.assertIn("--topology", nowhere.stderr)


if __name__ == "__main__":
    unittest.main()
