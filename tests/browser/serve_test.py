"""The page of `twinrun serve` in a real browser: sliders simulate again, and what is shown then is what
`twinrun simulate` says of the same job."""

import json
import re
import subprocess
import sys
import time
import unittest
import urllib.request

from chromium import JOBS, PROGRAM, BrowserTest


class Sliders(BrowserTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        run = cls.folder("run", "simulate", JOBS / "resnet50-ps-8gpu.json")
        cls.process = subprocess.Popen([PROGRAM, "serve", run, "--curves", "none"], stdout=subprocess.PIPE, text=True)
        cls.addClassCleanup(cls.end)
        cls.address = re.match(r"http://localhost:\d+/", cls.process.stdout.readline()).group()

    @classmethod
    def end(cls):
        cls.process.terminate()
        cls.process.communicate(timeout=20)

    def move(self, page, control, keys):
        slider = page.locator(f"[data-control={control}]")
        slider.focus()
        for key in keys:
            page.keyboard.press(key)

    def wait_until_simulated(self, page, before):
        """Until the tiles have changed and nothing is on its way."""
        page.wait_for_function("""(before) => {
          const form = document.querySelector('.controls');
          return form.dataset.state === 'ready' && document.querySelector('.tile .value').closest('main').innerText !== before;
        }""", arg=before)

    def shown(self, page):
        return {tile.get_attribute("data-key"): float(tile.get_attribute("data-value"))
                for tile in page.query_selector_all(".tile")}

    def simulated(self, page):
        """What simulate says of the job that the page offers for download."""
        href = page.get_attribute(".controls a[download]", "href")
        with urllib.request.urlopen(self.address + href) as answer:
            job = answer.read()
        run = subprocess.run([PROGRAM, "simulate", "-", "--format", "json"], input=job, capture_output=True, timeout=120)
        return json.loads(run.stdout)

    def expect_equal(self, page):
        shown, result = self.shown(page), self.simulated(page)
        for key in ("step_s", "samples_per_s", "t1_s", "t2_s"):
            self.assertEqual(shown[key], result[key], key)
        self.assertEqual(shown["exposed_communication_s"], result["breakdown_s"]["exposed_communication"])
        self.assertEqual(shown["peak_bytes"], max(device["peak_bytes"] for device in result["memory"]))
        return result

    def test_every_slider_simulates_again(self):
        page = self.open(self.address)
        moves = [("batch", ["ArrowRight"], lambda r: r["layout"]["local_batch_size"] == 64),
                 ("devices", ["ArrowLeft"], lambda r: r["devices"] == 4),
                 ("bandwidth", ["ArrowLeft", "ArrowLeft"], lambda r: r["t2_s"] > 0.1)]
        for control, keys, is_right in moves:
            with self.subTest(control):
                before = page.inner_text("main")
                self.move(page, control, keys)
                self.wait_until_simulated(page, before)
                self.assertTrue(is_right(self.expect_equal(page)))
        before = page.inner_text("main")
        page.select_option("[data-control=strategy]", "ddp")
        self.wait_until_simulated(page, before)
        self.assertEqual(self.expect_equal(page)["layout"]["strategy"], "ddp")
        self.assertIn("ddp", page.inner_text("#subtitle"))
        self.expect_no_complaints()

    def test_the_last_of_many_moves_wins(self):
        page = self.open(self.address)
        before = page.inner_text("main")
        self.move(page, "batch", ["ArrowRight"] * 4 + ["ArrowLeft"] * 5)
        self.wait_until_simulated(page, before)
        time.sleep(0.4)
        self.assertEqual(self.expect_equal(page)["layout"]["local_batch_size"], 16)
        self.expect_no_complaints()

    def test_what_cannot_be_is_said_and_the_page_stays(self):
        page = self.open(self.address)
        before = page.inner_text("main")
        page.select_option("[data-control=strategy]", "data_parallel")
        self.wait_until_simulated(page, before)
        kept = page.inner_text("main")
        self.move(page, "devices", ["End"])
        page.wait_for_function("() => document.querySelector('.controls .status').textContent.includes('one machine')")
        self.assertEqual(page.inner_text("main"), kept)
        # A refused request is no mistake of the page; the browser tells of it all the same.
        self.assertEqual([one for one in self.complaints if "422" not in one], [])

    def test_a_server_that_is_gone_is_said(self):
        page = self.open(self.address)
        page.route("**/simulate*", lambda route: route.abort())
        self.move(page, "batch", ["ArrowRight"])
        page.wait_for_function("() => document.querySelector('.controls .status').textContent.includes('no answer')")

    def test_the_panel_can_be_read_on_a_narrow_screen(self):
        page = self.open(self.address, width=390)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
