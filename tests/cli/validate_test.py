"""twinrun validate: predictions beside published measurements."""

import json
import os
import pathlib
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]


def validate(*options):
    return subprocess.run([PROGRAM, "validate", *options], capture_output=True, text=True, timeout=800)


def answer(*options):
    result = validate(*options, "--format", "json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


# Eight hosts on 12.5 GB/s with 1 us a link: a copy of n bytes takes 2 us + n / 12.5e9.
COPIES = {
    "schema": "twinrun/case/1", "name": "copies", "table": "mine", "citation": "a closed form", "metric": "time_s",
    "collective": {"topology": "single-switch:hosts=8,bandwidth=12.5GB/s,latency=1us", "ranks": "2",
                   "kind": "send_recv", "bytes": 125000},
    "rows": [
        {"name": "exact", "measured": 12e-6, "group": "g"},
        {"name": "half of it", "measured": 24e-6, "set": {"bytes": 125000}, "group": "g"},
        {"name": "larger", "measured": 22e-6 / 1.25, "set": {"bytes": 250000}, "group": "g"},
        {"name": "quotient", "measured": 22 / 12, "set": {"bytes": 250000}, "relative_to": "exact"},
        {"name": "itself", "measured": 1, "relative_to": "itself"},
    ],
}


class Validate(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def write(self, case, name="case.json"):
        pathlib.Path(self.folder.name, name).write_text(json.dumps(case), encoding="utf-8")
        return self.folder.name

    def test_rows_stand_beside_their_predictions(self):
        told = answer(self.write(COPIES))
        cases = {row["row"]: row for row in told["cases"]}
        self.assertEqual(set(cases), {"exact", "half of it", "larger", "quotient"}, "itself says nothing")
        self.assertAlmostEqual(cases["exact"]["predicted"], 12e-6, delta=1e-12)
        self.assertAlmostEqual(cases["exact"]["error_pct"], 0, delta=1e-6)
        self.assertAlmostEqual(cases["half of it"]["error_pct"], -50, delta=1e-6)
        self.assertAlmostEqual(cases["larger"]["error_pct"], 25, delta=1e-6)
        self.assertAlmostEqual(cases["quotient"]["predicted"], 22 / 12, delta=1e-9)
        self.assertTrue(cases["exact"]["file"].endswith("case.json"))

    def test_summaries_are_of_each_file_and_of_all(self):
        told = answer(self.write(COPIES))
        summary = told["summary"]
        self.assertAlmostEqual(summary["median_abs_error_pct"], 12.5, delta=1e-6)
        self.assertEqual(summary["worst"]["row"], "half of it")
        # exact-half and half-larger are wrong (equal, and turned round), exact-larger is right.
        self.assertEqual(summary["pairs"], 3)
        self.assertAlmostEqual(summary["winner_right_pct"], 100 / 3)
        self.assertEqual(told["files"][0]["rows"], 4)
        self.assertEqual(summary["collectives"]["rows"], 4)
        self.assertIsNone(summary["steps"]["median_abs_error_pct"])

    def test_worst_rows_are_explained_in_words(self):
        told = answer(self.write(COPIES))
        self.assertIn("half of it: predicted 1.2e-05, measured 2.4e-05: 50 % too fast", told["explained"][0]["text"])
        self.assertIn("half of it", validate(self.folder.name).stdout)

    def test_a_row_that_cannot_be_predicted_is_named_and_the_others_go_on(self):
        case = json.loads(json.dumps(COPIES))
        case["rows"].append({"name": "too many", "measured": 1, "set": {"ranks": "9"}})
        told = answer(self.write(case))
        self.assertEqual([row["row"] for row in told["failed"]], ["too many"])
        self.assertEqual(len(told["cases"]), 4)

    def test_a_broken_file_is_refused_with_its_place(self):
        case = json.loads(json.dumps(COPIES))
        case["rows"][1]["mesured"] = case["rows"][1].pop("measured")
        result = validate(self.write(case))
        self.assertEqual(result.returncode, 3)
        self.assertIn('did you mean "measured"', result.stderr)
        self.assertIn("/rows/1", result.stderr)

    def test_folders_without_cases_and_names_without_files_are_wrong_usage(self):
        self.assertEqual(validate(self.folder.name).returncode, 2)
        self.assertEqual(validate("/nowhere").returncode, 2)
        self.assertEqual(validate("--only", "nothing").returncode, 2)

    def test_every_published_row_is_predicted(self):
        told = answer()
        self.assertEqual(told["failed"], [])
        self.assertGreater(len(told["cases"]), 400)

    def test_a_table_is_predicted_by_curves_that_did_not_know_it(self):
        blind = answer("--leave-out", "single_gpu_batch_sweep_mxnet")
        known = answer("--only", "single_gpu_batch_sweep_mxnet")
        self.assertEqual([row["row"] for row in blind["cases"]], [row["row"] for row in known["cases"]])
        self.assertNotEqual(blind["cases"], known["cases"], "the fit without the table is another one")
        self.assertEqual(blind["with_nothing_left_out"]["median_abs_error_pct"],
                         known["summary"]["median_abs_error_pct"])

    def test_leaving_out_what_nothing_was_fitted_to_changes_nothing(self):
        blind = answer("--leave-out", "tf_benchmarks_k80", "--only", "tf_benchmarks_k80.json")
        self.assertEqual(blind["cases"], answer("--only", "tf_benchmarks_k80.json")["cases"])

    def test_each_table_can_be_left_out_in_turn(self):
        blind = answer("--leave-out", "each", "--only", "single_gpu")
        alone = answer("--leave-out", "single_gpu_cnn_fwd_bwd_torch")
        torch = [row for row in blind["cases"] if "cnn_fwd_bwd" in row["file"]]
        self.assertEqual(torch, alone["cases"])

    def test_an_unknown_table_cannot_be_left_out(self):
        result = validate("--leave-out", "single_gpu_batch_sweep")
        self.assertEqual(result.returncode, 2)
        self.assertIn('did you mean "single_gpu_batch_sweep_mxnet"', result.stderr)

    def test_the_same_twice(self):
        self.assertEqual(validate("--only", "ps_vs", "--format", "json").stdout,
                         validate("--only", "ps_vs", "--format", "json").stdout)


if __name__ == "__main__":
    unittest.main()
