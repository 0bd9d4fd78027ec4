#!/usr/bin/env python3
"""twinrun compare: two runs op by op. Expected numbers follow from the plans below by hand."""

import gzip
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]
US = 1_000_000  # picoseconds

# Two ranks: forward 3 us, backward 3 us, an all-reduce, an update of 1 us.
OPS = ["forward", "backward", "grads", "update"]
PLAN = {
    "schema": "twinrun/plan/1", "name": "two ranks", "groups": {"world": ["gpu0", "gpu1"]},
    "ops": [
        {"id": f"{name}@rank{rank}", "device": f"gpu{rank}",
         **({"kind": "collective", "collective": "all_reduce", "group": "world", "bytes": 1000,
             "after": [f"backward@rank{rank}"]} if name == "grads" else
            {"kind": "compute", "flops": 1, **({"after": [f"grads@rank{rank}"]} if name == "update" else {})})}
        for rank in (0, 1) for name in OPS],
}


def fingerprint(plan):
    """FNV-1a of all ids, a zero behind each."""
    value = 0xCBF29CE484222325
    for op in plan["ops"]:
        for byte in op["id"].encode() + b"\0":
            value = (value ^ byte) * 0x100000001B3 % 2**64
    return f"{value:016x}"


def trace(reduce_us, backward1_us=3, source="simulated", **more):
    """As the plan runs when the all-reduce takes so long, and rank 1's backward pass."""
    met = 3 + max(3, backward1_us)
    end = met + reduce_us
    rows = []
    for rank in (0, 1):
        backward = 3 + (backward1_us if rank == 1 else 3)
        rows += [[0, 0, 3], [3, 3, backward], [backward, met, end], [end, end, end + 1]]
    return {"schema": "twinrun/trace/1", "plan": {"ops": len(PLAN["ops"]), "ids": fingerprint(PLAN)},
            "source": source, "makespan_ps": (end + 1) * US,
            "ops": [[time * US for time in row] for row in rows], **more}


JOB = {"schema": "twinrun/job/1", "name": "small", "model": "mlp-64-32-8", "topology": "cpu:devices=2",
       "training": {"local_batch_size": 8}}


class Compare(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.at = pathlib.Path(self.scratch.name)
        self.write("plan.json", PLAN)
        self.write("job.json", JOB)

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, name, content):
        (self.at / name).parent.mkdir(parents=True, exist_ok=True)
        (self.at / name).write_text(content if isinstance(content, str) else json.dumps(content))
        return name

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], cwd=self.at, capture_output=True, text=True,
                              timeout=120)

    def compared(self, *arguments, code=0):
        run = self.run_program("compare", *arguments, "--format", "json")
        self.assertEqual(run.returncode, code, run.stderr)
        return json.loads(run.stdout)

    def pair(self, a, b):
        self.write("a.json", a)
        self.write("b.json", b)
        return "plan.json,a.json", "plan.json,b.json"

    def folder(self, name, *options, verb="simulate"):
        run = self.run_program(verb, "job.json", "--out", name, *options)
        self.assertEqual(run.returncode, 0, run.stderr)
        return name

    def metric(self, answer, name):
        return next(metric for metric in answer["metrics"] if metric["name"] == name)

    # ---- the answer

    def test_keys_of_the_contract_and_numbers_by_hand(self):
        answer = self.compared(*self.pair(trace(2), trace(4, source="executed")))
        step = self.metric(answer, "step_s")
        self.assertAlmostEqual(step["a"], 9e-6, places=15)
        self.assertAlmostEqual(step["b"], 11e-6, places=15)
        self.assertAlmostEqual(step["difference_pct"], 100 * 2 / 9, places=9)
        first = answer["ops"][0]
        self.assertEqual(first["op"], "grads@rank0")
        self.assertAlmostEqual(first["a_s"], 2e-6, places=15)
        self.assertAlmostEqual(first["b_s"], 4e-6, places=15)
        self.assertAlmostEqual(first["difference_s"], 2e-6, places=15)
        self.assertAlmostEqual(first["share_of_error_pct"], 100, places=9)
        self.assertEqual((answer["only_in_a"], answer["only_in_b"]), ([], []))
        self.assertIsNone(self.metric(answer, "t2_s")["difference_pct"])

    def test_shares_add_up(self):
        answer = self.compared(*self.pair(trace(2), trace(4, backward1_us=8)))
        shares = [op["share_of_error_pct"] for op in answer["ops"]] + [answer["waiting"]["share_of_error_pct"]]
        self.assertAlmostEqual(sum(shares), 100, places=9)
        self.assertAlmostEqual(answer["step_difference_s"], 7e-6, places=15)
        parts = sum(part["difference_s"] for part in answer["breakdown"])
        self.assertAlmostEqual(parts, 7e-6, places=15)

    def test_parts_that_nearly_cancel_have_no_shares(self):
        # a: 3 + 3 + 8 + 1 = 15. b: 3 + 10 + 2 + 1 = 16: six less and seven more.
        answer = self.compared(*self.pair(trace(8), trace(2, backward1_us=10, source="executed")))
        self.assertEqual(answer["sentences"][0], "Executed, a step takes 1 us (6.7 %) longer than simulated: exposed communication -6 us, "
                                                 "compute +3.50 us, imbalance +3.50 us.")

    def test_the_text(self):
        run = self.run_program("compare", *self.pair(trace(2), trace(4, backward1_us=5, source="executed")))
        self.assertEqual(run.returncode, 0, run.stderr)
        # a: 3 + 3 + 2 + 1 = 9. b: 3 + 5 + 4 + 1 = 13, where rank 0 waits 2 us for rank 1.
        expected = """\
A  plan.json,a.json · simulated · two ranks
B  plan.json,b.json · executed · two ranks
Executed, a step takes 4 us (44.4 %) longer than simulated: exposed communication +2 us (50 %), compute +1 us\
 (25 %), imbalance +1 us (25 %).
Along the critical path of executed: grads +2 us (50 %), backward@rank1 +2 us (50 %).
The critical paths are the same 4 ops.

metric                 simulated  executed  difference
step                        9 us     13 us     +44.4 %
t1                          7 us      9 us     +28.6 %
communication               2 us      4 us    +100.0 %
exposed communication       2 us      4 us    +100.0 %
overlap                    0.0 %     0.0 %     +0.0 pt

where the step goes    simulated  executed  difference
compute                     7 us      8 us       +1 us
exposed communication       2 us      4 us       +2 us
imbalance                   0 us      1 us       +1 us

phase          working A     B  difference  waiting A     B  critical path A     B
forward             3 us  3 us      +0.0 %       0 us  0 us             3 us  3 us
backward            3 us  4 us     +33.3 %       0 us  0 us             3 us  5 us
update              1 us  1 us      +0.0 %       0 us  0 us             1 us  1 us
communication       2 us  4 us    +100.0 %       0 us  1 us             2 us  4 us

what explains most of it  simulated  executed  difference  on the path   share  ranks  mostly
grads                          2 us      4 us       +2 us        +2 us  50.0 %      2
backward                       3 us      4 us       +1 us        +2 us  50.0 %      2  @rank1

collective    size  start A     B  time A     B  difference  waiting A     B  by A  B
grads       1000 B     6 us  8 us    2 us  4 us    +100.0 %       0 us  1 us

device  compute A     B  exposed A     B  waiting A     B  idle A     B  on the path
gpu1         7 us  9 us       2 us  4 us       0 us  0 us    0 us  0 us        +2 us
gpu0         7 us  7 us       2 us  4 us       0 us  2 us    0 us  2 us        +2 us
"""
        self.assertEqual(run.stdout, expected)

    def test_by_picks_whole_tables(self):
        pair = self.pair(trace(2), trace(4))
        run = self.run_program("compare", *pair, "--by", "op", "--format", "csv")
        lines = run.stdout.splitlines()
        self.assertEqual(lines[0], "op,a_s,b_s,difference_s,on_path_s,share_of_error_pct")
        self.assertEqual(len(lines), 1 + len(PLAN["ops"]))
        self.assertTrue(lines[1].startswith("grads@rank0,"))
        self.assertEqual(self.run_program("compare", *pair, "--by", "layers").returncode, 2)
        kinds = self.run_program("compare", *pair, "--by", "kind,rank").stdout
        self.assertIn("collective ", kinds)
        self.assertNotIn("where the step goes", kinds)

    def test_what_ran_on_one_side_only_is_listed(self):
        other = json.loads(json.dumps(PLAN))
        other["ops"].append({"id": "extra@rank0", "kind": "compute", "device": "gpu0", "flops": 1})
        self.write("other.json", other)
        longer = trace(2)
        longer["plan"] = {"ops": 9, "ids": fingerprint(other)}
        longer["ops"].append([9 * US, 9 * US, 14 * US])
        longer["makespan_ps"] = 14 * US
        self.write("a.json", trace(2))
        self.write("b.json", longer)
        answer = self.compared("plan.json,a.json", "other.json,b.json")
        self.assertEqual(answer["only_in_b"], ["extra@rank0"])
        self.assertEqual(answer["ops"][0]["op"], "extra@rank0")
        self.assertIsNone(answer["ops"][0]["a_s"])
        self.assertAlmostEqual(answer["ops"][0]["share_of_error_pct"], 100, places=9)

    # ---- runs of ours

    def test_a_simulated_run_against_itself_is_all_zeros(self):
        self.folder("a")
        answer = self.compared("a", "a", "--fail-above", "0%")
        self.assertTrue(all(metric["difference_pct"] in (0, None) for metric in answer["metrics"]))
        self.assertTrue(all(op["difference_s"] == 0 and op["share_of_error_pct"] == 0 for op in answer["ops"]))
        self.assertTrue(answer["critical_path"]["same"])
        self.assertEqual(answer["waits"], [])
        result = json.loads((self.at / "a/result.json").read_text())
        for key in ("step_s", "t1_s", "t2_s", "exposed_communication_s", "overlap_pct", "samples_per_s"):
            self.assertEqual(self.metric(answer, key)["a"], result[key], key)

    def test_simulated_against_executed(self):
        self.folder("a")
        self.folder("b", "--backend", "cpu", "--steps", "6", "--warmup-steps", "2", verb="execute")
        answer = self.compared("a", "b")
        self.assertEqual((answer["a"]["source"], answer["b"]["source"]), ("simulated", "executed"))
        self.assertEqual(answer["b"]["steps"], 6)
        self.assertEqual((answer["only_in_a"], answer["only_in_b"]), ([], []))
        result = json.loads((self.at / "b/result.json").read_text())
        self.assertAlmostEqual(self.metric(answer, "step_s")["b"], result["step_s"], places=14)
        self.assertEqual(self.metric(answer, "t1_s")["b"], result["t1_s"])
        shares = [op["share_of_error_pct"] for op in answer["ops"]] + [answer["waiting"]["share_of_error_pct"]]
        self.assertAlmostEqual(sum(shares), 100, places=6)
        worst = [abs(op["on_path_s"]) for op in answer["ops"]]
        self.assertEqual(worst, sorted(worst, reverse=True))

    def test_a_straggler_is_named(self):
        self.folder("a")
        self.folder("b", "--slow", "cpu1=2")
        answer = self.compared("a", "b")
        self.assertEqual(answer["devices"][0]["device"], "cpu1")
        self.assertIn("nearly all of it on cpu1", " ".join(answer["sentences"]))
        self.assertTrue(answer["ops"][0]["op"].endswith("@rank1"), answer["ops"][0])

    def test_a_trace_file_finds_its_plan(self):
        self.folder("a")
        answer = self.compared("a", "a/trace.json", "--warmup-steps", "1")
        self.assertEqual(answer["step_difference_s"], 0)

    def test_runs_of_different_lengths_are_compared_by_their_mean_step(self):
        self.folder("a", "--steps", "4")
        self.folder("b", "--steps", "7")
        answer = self.compared("a", "b")
        self.assertAlmostEqual(answer["step_difference_s"], 0, places=12)

    def test_our_own_kineto_files_are_read_back(self):
        self.folder("a")
        answer = self.compared("a", "a/traces", "--warmup-steps", "1")
        self.assertEqual((answer["only_in_a"], answer["only_in_b"]), ([], []))
        for op in answer["ops"]:  # both ends are rounded to nanoseconds
            self.assertLess(abs(op["difference_s"]), 1.1e-9, op)

    def test_packed_files_of_a_profiler(self):
        self.folder("a")
        text = (self.at / "a/traces/rank0.json").read_bytes()
        (self.at / "rank0.json.gz").write_bytes(gzip.compress(text))
        answer = self.compared("a/traces/rank0.json", "rank0.json.gz")
        self.assertEqual(answer["step_difference_s"], 0)
        (self.at / "rank0.json.gz").write_bytes(gzip.compress(text)[:-20])
        run = self.run_program("compare", "a/traces", "rank0.json.gz")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("E0103", run.stderr)

    def test_a_run_that_ended_early_is_compared_as_far_as_it_went(self):
        cut = trace(2, source="executed", failure="rank 1 died")
        cut["ops"][7] = [0, 0, -1]
        answer = self.compared(*self.pair(trace(2), cut))
        self.assertEqual(answer["b"]["steps"], 0)
        self.assertEqual(answer["b"]["failure"], "rank 1 died")
        self.assertIsNone(self.metric(answer, "step_s")["b"])
        run = self.run_program("compare", "plan.json,a.json", "plan.json,b.json", "--fail-above", "50%")
        self.assertEqual(run.returncode, 5)
        self.assertIn("cannot be compared", run.stdout)

    # ---- checks

    def test_fail_above(self):
        pair = self.pair(trace(2), trace(3))  # 9 and 10 us: 11.1 %; the all-reduce 50 %
        for limits, code in ((["60%"], 0), (["20%"], 5), (["step_s=20%"], 0), (["step_s=11%"], 5),
                             (["20%", "exposed_communication_s=60%", "communication_s=60%"], 0),
                             (["60%", "step_s=1%"], 5), (["step_s=1%", "60%"], 5), (["11.2"], 5), ([], 0)):
            options = [word for limit in limits for word in ("--fail-above", limit)]
            run = self.run_program("compare", *pair, *options)
            self.assertEqual(run.returncode, code, (limits, run.stdout, run.stderr))
        answer = self.compared(*pair, "--fail-above", "20%", code=5)
        self.assertEqual([check["metric"] for check in answer["checks"] if not check["passed"]],
                         ["communication_s", "exposed_communication_s"])

    def test_a_little_of_almost_nothing_does_not_fail(self):
        quick, slower = trace(0), trace(0)
        for op in slower["ops"]:  # the all-reduce takes 50 ns more: 0.7 % of the step
            op[:] = [time + (50_000 if time > 6 * US else 0) for time in op]
        slower["ops"][2][2] += 50_000
        slower["ops"][6][2] += 50_000
        for rank in (0, 1):
            slower["ops"][4 * rank + 3][:2] = [6 * US + 50_000] * 2
        slower["makespan_ps"] += 50_000
        answer = self.compared(*self.pair(quick, slower), "--fail-above", "10%")
        checks = {check["metric"]: check for check in answer["checks"]}
        self.assertTrue(checks["exposed_communication_s"]["passed"])
        self.assertIsNone(checks["exposed_communication_s"]["difference_pct"])

    def test_limits_that_cannot_be_are_refused(self):
        pair = self.pair(trace(2), trace(3))
        for limit in ("much", "-3%", "step=3%", "nan%", "step_s=", "1e999%"):
            self.assertEqual(self.run_program("compare", *pair, "--fail-above", limit).returncode, 2, limit)

    def test_a_metric_that_is_named_and_unknown_fails(self):
        pair = self.pair(trace(2), trace(2))
        self.assertEqual(self.run_program("compare", *pair, "--fail-above", "10%").returncode, 0)
        self.assertEqual(self.run_program("compare", *pair, "--fail-above", "t2_s=10%").returncode, 5)

    # ---- the page

    def test_the_page_needs_nothing_else(self):
        plan = json.loads(json.dumps(PLAN))
        plan["name"] = "<script>alert(1)</script>"
        self.write("plan.json", plan)
        pair = self.pair(trace(2), trace(4))
        self.assertEqual(self.run_program("compare", *pair, "--html", "page.html").returncode, 0)
        page = (self.at / "page.html").read_text()
        self.assertIn("In B a step takes 2 us (22.2 %) longer than in A", page)
        self.assertIn("grads@rank0", page)
        self.assertNotIn("<script>alert", page)
        self.assertEqual(re.findall(r"""(?:src|href)=["'](?!data:|#).{,60}""", page), [])
        self.assertEqual(self.run_program("compare", *pair, "--html", "page.html").returncode, 2)
        self.assertEqual(self.run_program("compare", *pair, "--html", "page.html", "--force").returncode, 0)

    # ---- broken inputs

    def test_broken_inputs(self):
        self.folder("a")
        self.write("half/plan.json", PLAN)
        self.write("empty/readme.txt", "nothing")
        self.write("other.json", {"hello": 1})
        cut = (self.at / "a/trace.json").read_text()
        for what, code, says in (
                ("missing", 3, "cannot open"), ("half", 3, "E0805"), ("empty", 2, "no run"),
                ("other.json", 2, "no run and no trace"), ("a/plan.json", 2, "no run and no trace"),
                ("a/plan.json,plan.json", 3, "E0207"), ("plan.json,a/trace.json", 3, "E0801"),
                ("a/plan.json,missing.json", 3, "cannot open")):
            run = self.run_program("compare", "a", what)
            self.assertEqual(run.returncode, code, (what, run.stderr))
            self.assertIn(says, run.stderr, what)
        (self.at / "a/trace.json").write_text(cut[:len(cut) // 2])
        run = self.run_program("compare", "a", "a")
        self.assertEqual(run.returncode, 3)
        self.assertIn("E0102", run.stderr)
        self.assertEqual(self.run_program("compare", "a").returncode, 2)


if __name__ == "__main__":
    unittest.main()
