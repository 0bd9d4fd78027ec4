"""twinrun report: run and sweep folders in, one page out. What browsers make of it is tests/browser's."""

import html.parser
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]
JOB = {"schema": "twinrun/job/1", "name": "a small job", "model": "alexnet", "topology": "dgx1-v100",
       "training": {"local_batch_size": 8}, "parallelism": {"strategy": "ddp"}}


class Page(html.parser.HTMLParser):
    """What a file refers to, and its data block."""

    def __init__(self, text):
        super().__init__()
        self.references, self.data, self.title, self.inside = [], "", "", None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.inside = "data" if given.get("id") == "data" else tag
        self.references += [given[key] for key in ("src", "href") if key in given]

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, text):
        if self.inside == "data":
            self.data += text
        elif self.inside == "title":
            self.title += text


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.at = pathlib.Path(folder.name)
        (cls.at / "job.json").write_text(json.dumps(JOB))
        cls.run_ok("simulate", "job.json", "--out", "sim")
        cls.run_ok("simulate", "job.json", "--set", "training.local_batch_size=16", "--out", "larger")
        cls.run_ok("sweep", "job.json", "--set", "training.local_batch_size=1,2", "--out", "sweep")

    @classmethod
    def run_any(cls, *arguments):
        return subprocess.run([PROGRAM, *arguments], cwd=cls.at, capture_output=True, text=True, timeout=300)

    @classmethod
    def run_ok(cls, *arguments):
        run = cls.run_any(*arguments)
        if run.returncode != 0:
            raise AssertionError(f"{arguments}: {run.returncode}\n{run.stderr}")
        return run

    def page(self, *arguments):
        run = self.run_ok("report", *arguments, "-o", "-")
        page = Page(run.stdout)
        return page, json.loads(page.data)

    def test_one_file_that_refers_to_nothing(self):
        page, data = self.page("sim", "--curves", "none")
        self.assertEqual([one for one in page.references if not one.startswith(("#", "data:"))], [])
        self.assertEqual(page.title, "a small job · twinrun")
        self.assertEqual(data["schema"], "twinrun/page/1")

    def test_it_carries_the_results_own_numbers(self):
        _, data = self.page("sim", "--curves", "none")
        result = json.loads((self.at / "sim/result.json").read_text())
        shown = data["runs"][0]["result"]
        for key, value in result.items():
            if not isinstance(value, list) and key not in ("links", "critical_path"):
                self.assertEqual(shown[key], value, key)
        self.assertEqual(json.loads(data["runs"][0]["job"])["model"], "alexnet")

    def test_the_same_run_gives_the_same_bytes(self):
        pages = {self.run_ok("report", "sim", "-o", "-").stdout for _ in range(2)}
        self.assertEqual(len(pages), 1)

    def test_curves_are_simulations_of_the_job(self):
        _, data = self.page("sim")
        points = {point["batch"]: point for point in data["curves"]["batch"]["points"]}
        alone = json.loads(self.run_ok("simulate", "job.json", "--set", "training.local_batch_size=16", "--format",
                                       "json").stdout)
        self.assertAlmostEqual(points[16]["t2_s"], alone["t2_s"], places=11)
        self.assertAlmostEqual(points[16]["step_s"], alone["step_s"], places=11)
        scaling = {point["devices"]: point for point in data["curves"]["scaling"]["points"]}
        self.assertAlmostEqual(scaling[8]["samples_per_s"],
                               json.loads((self.at / "sim/result.json").read_text())["samples_per_s"], places=6)
        self.assertAlmostEqual(scaling[8]["ideal_samples_per_s"], 8 * scaling[1]["samples_per_s"], places=6)
        self.assertEqual([point["at"] for point in data["curves"]["devices"]["points"]], [2, 4, 8, 16, 32, 64])
        self.assertEqual(len(data["answers"]), 7)

    def test_none_means_none(self):
        _, data = self.page("sim", "--curves", "none")
        self.assertIsNone(data["curves"])
        self.assertEqual(data["answers"], [])

    def test_a_large_job_leaves_curves_out_and_says_so(self):
        (self.at / "large.json").write_text(json.dumps({**JOB, "model": "resnet152", "topology": "dgx1-v100:nodes=4"}))
        self.run_ok("simulate", "large.json", "--steps", "6", "--out", "large")
        _, data = self.page("large")
        self.assertRegex(" ".join(data["notes"]), r"Left out because simulating them would take long: .*--curves all")

    def test_two_runs_are_compared(self):
        _, data = self.page("sim", "larger", "--curves", "none")
        self.assertEqual([run["label"] for run in data["runs"]], ["sim", "larger"])
        steps = [json.loads((self.at / name / "result.json").read_text())["step_s"] for name in ("sim", "larger")]
        self.assertAlmostEqual(data["comparison"]["step_difference_s"], steps[1] - steps[0], places=9)
        self.assertIn("the first is", data["headline"])

    def test_sweeps_and_runs_go_together(self):
        _, data = self.page("sweep", "sim", "--curves", "none")
        self.assertEqual(len(data["sweeps"][0]["points"]), 2)
        self.assertEqual(data["runs"][0]["label"], "sim")

    def test_runs_of_one_name_are_told_apart(self):
        (self.at / "other").mkdir(exist_ok=True)
        self.run_ok("simulate", "job.json", "--out", "other/sim", "--force")
        _, data = self.page("sim", "other/sim", "--curves", "none")
        self.assertEqual([run["label"] for run in data["runs"]], ["sim", "other/sim"])

    def test_what_it_says_and_writes(self):
        run = self.run_ok("report", "sim", "-o", "page.html", "--curves", "none")
        self.assertRegex(run.stdout, r"^A step takes .*\nwrote page.html \(\d+ KiB, self-contained\)\n$")
        again = self.run_any("report", "sim", "-o", "page.html", "--curves", "none")
        self.assertEqual(again.returncode, 2)
        self.assertIn("--force", again.stderr)
        told = json.loads(self.run_ok("report", "sim", "-o", "page.html", "--curves", "none", "--force", "--format",
                                      "json").stdout)
        self.assertEqual(told["bytes"], (self.at / "page.html").stat().st_size)

    def test_wrong_inputs_say_what_is_right(self):
        (self.at / "empty").mkdir(exist_ok=True)
        broken = self.at / "broken"
        broken.mkdir(exist_ok=True)
        for file in (self.at / "sim").glob("*.json"):
            (broken / file.name).write_text(file.read_text())
        (broken / "trace.json").write_text("{")
        for arguments, status, words in ((("empty",), 2, "neither a run nor a sweep"), (("nowhere",), 2, "neither"),
                                         (("broken",), 3, "trace.json"), (("sim", "--size", "much"), 2, "3MB"),
                                         (("sim", "--curves", "few"), 2, "curves")):
            run = self.run_any("report", *arguments, "-o", "bad.html")
            self.assertEqual(run.returncode, status, (arguments, run.stderr))
            self.assertIn(words, run.stderr)
            self.assertFalse((self.at / "bad.html").exists())

    def test_a_smaller_page_leaves_out_and_says_so(self):
        _, data = self.page("sim", "--curves", "none", "--size", "2kB")
        self.assertRegex(data["runs"][0]["timeline"]["left_out"], r"the timeline shows the last of \d+ steps")

    def test_names_cannot_leave_their_place(self):
        (self.at / "odd.json").write_text(json.dumps({**JOB, "name": "</script><script>alert('é')</script>"}))
        self.run_ok("simulate", "odd.json", "--out", "odd", "--force")
        text = self.run_ok("report", "odd", "-o", "-", "--curves", "none").stdout
        self.assertEqual(len(re.findall("<script", text)), 3)  # the theme, the data, the page's own
        self.assertEqual(json.loads(Page(text).data)["title"], "</script><script>alert('é')</script>")


if __name__ == "__main__":
    unittest.main()
