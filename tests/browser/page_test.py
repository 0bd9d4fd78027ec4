"""The page of `twinrun report` in a real browser: it loads, says what result.json says, and can be used by
mouse and by keys, in both themes, on paper and on a narrow screen."""

import json
import re
import sys
import unittest

from chromium import JOBS, BrowserTest, page_data, twinrun

UNITS = {"s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "min": 60, "h": 3600, "B": 1, "KiB": 2**10, "MiB": 2**20,
         "GiB": 2**30, "TiB": 2**40, "%": 1, "GB/s": 1}


def value_of(text):
    """ "1.62 ms" as 0.00162: what a person reads."""
    number, _, unit = text.partition(" ")
    return float(number.replace(",", "").replace("−", "-").lstrip("+")) * UNITS.get(unit.split(" ")[0] if unit else "", 1)


# Text as it is drawn: its colour against what is painted behind it.
CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parse(getComputedStyle(at).backgroundColor);
      if (color.length === 3 || color[3] > 0.99) return color;
    }
    return [255, 255, 255];
  };
  const poor = [];
  for (const element of document.querySelectorAll("body *")) {
    const has = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!has || !element.getClientRects().length || element.closest("script, style, noscript, .on-part, .on-bar")) continue;
    const style = getComputedStyle(element);
    const ink = parse(element instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(element))].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) poor.push(`${element.textContent.slice(0, 40)}: ${ratio.toFixed(2)}`);
  }
  return poor;
}"""

# Text on coloured bars, and lines and areas against the page.
BAR_CONTRASTS = """() => {
  const probe = document.createElement("span");
  document.body.appendChild(probe);
  const color = (name) => {
    probe.style.color = `var(--${name})`;
    return (getComputedStyle(probe).color.match(/[\\d.]+/g) || []).map(Number);
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ratio = (a, b) => {
    const [x, y] = [light(color(a)), light(color(b))].sort((p, q) => q - p);
    return (x + 0.05) / (y + 0.05);
  };
  const poor = [];
  const ops = ["forward", "backward", "recompute", "update", "compute", "collective", "message", "copy", "host"];
  for (const op of ops) {
    if (ratio(`op-${op}`, "on-bar") < 4.5) poor.push(`text on op-${op}: ${ratio(`op-${op}`, "on-bar")}`);
    if (ratio(`op-${op}`, "surface") < 3) poor.push(`op-${op}: ${ratio(`op-${op}`, "surface")}`);
  }
  for (const name of ["path", "series-server", "series-ring", "slower", "quicker", "focus"])
    if (ratio(name, "surface") < 3) poor.push(`${name}: ${ratio(name, "surface")}`);
  probe.remove();
  return poor;
}"""


class Pages(BrowserTest):
    @classmethod
    def ddp(cls):
        return cls.folder("ddp", "simulate", JOBS / "resnet50-ddp-8gpu.json")

    @classmethod
    def ddp_page(cls):
        return cls.page_file("ddp", cls.ddp())

    @classmethod
    def server_page(cls):
        return cls.page_file("server", cls.folder("server", "simulate", JOBS / "resnet50-ps-8gpu.json"),
                             options=["--curves", "none"])

    @classmethod
    def pipeline(cls):
        return cls.folder("pipeline", "simulate", JOBS / "gpipe-amoebanet.json", "--set", "training.global_batch_size=32")

    @classmethod
    def pipeline_page(cls):
        return cls.page_file("pipeline", cls.pipeline(), options=["--curves", "none"])

    @classmethod
    def comparison_page(cls):
        simulated = cls.folder("simulated", "simulate", JOBS / "mlp-4cpu.json")
        executed = cls.folder("executed", "execute", JOBS / "mlp-4cpu.json", "--backend", "cpu", "--steps", "12")
        return cls.page_file("comparison", simulated, executed, options=["--curves", "none"])

    @classmethod
    def sweep(cls):
        return cls.folder("sweep", "sweep", JOBS / "resnet50-ddp-8gpu.json", "--set",
                          "training.local_batch_size=1,4,16,64", "--set", "training.dtype=fp32,fp16")

    @classmethod
    def large(cls):
        """64 ranks × 3 steps."""
        return cls.folder("large", "simulate", JOBS / "resnet50-ddp-8gpu.json", "--topology", "dgx1-v100:nodes=8",
                          "--steps", "3")

    def sections(self, page):
        return page.eval_on_selector_all("main > section", "all => all.map((one) => one.id)")

    # ---- it loads ----

    def test_a_run_has_all_its_sections(self):
        page = self.open_file(self.ddp_page())
        self.assertEqual(self.sections(page), ["overview", "breakdown", "timeline", "memory", "topology", "batch",
                                               "server-or-ring", "scaling", "collectives", "devices", "answers",
                                               "inputs"])
        self.assertEqual(page.eval_on_selector_all("nav li a", "all => all.map((one) => one.hash.slice(1))"),
                         self.sections(page))
        self.expect_no_complaints()

    def test_other_pages_have_theirs(self):
        plan = self.folder("plan", "simulate", JOBS / "four-gpu-step.plan.json", "--topology", "pcie-8gpu")
        pages = [(self.pipeline_page(), "pipeline"), (self.comparison_page(), "comparison"),
                 (self.page_file("sweep", self.sweep()), "sweep"), (self.page_file("plan", plan), "timeline"),
                 (self.page_file("three", self.ddp(), self.pipeline(), plan, options=["--curves", "none"]), "overview"),
                 (self.server_page(), "timeline")]
        for file, section in pages:
            with self.subTest(file.name):
                page = self.open_file(file)
                self.assertIn(section, self.sections(page))
                self.assertTrue(page.inner_text("#headline").strip())
                for element in page.query_selector_all("main svg, main canvas:not([aria-hidden])"):
                    self.assertTrue(element.get_attribute("aria-label"))
                self.expect_no_complaints()

    def test_a_plan_says_why_it_has_no_curves(self):
        plan = self.folder("plan", "simulate", JOBS / "four-gpu-step.plan.json", "--topology", "pcie-8gpu")
        page = self.open_file(self.page_file("plan", plan))
        self.assertIn("need a job", page.inner_text("#inputs"))

    def test_names_are_text_and_nothing_else(self):
        job = json.loads((JOBS / "mlp-4cpu.json").read_text())
        job["name"] = "</script><img src=x onerror=alert(1)> & \"quotes\""
        (self.at / "odd.json").write_text(json.dumps(job))
        page = self.open_file(self.page_file("odd", self.folder("odd", "simulate", self.at / "odd.json")))
        self.assertEqual(page.inner_text("#title"), job["name"])
        self.assertEqual(page_data(page)["title"], job["name"])
        self.expect_no_complaints()

    # ---- it says what result.json says ----

    def test_tiles_show_the_result(self):
        result = json.loads((self.ddp() / "result.json").read_text())
        result["peak_bytes"] = max(device["peak_bytes"] for device in result["memory"])
        result["exposed_communication_s"] = result["breakdown_s"]["exposed_communication"]
        page = self.open_file(self.ddp_page())
        seen = set()
        for tile in page.query_selector_all(".tile"):
            key = tile.get_attribute("data-key")
            seen.add(key)
            self.assertEqual(float(tile.get_attribute("data-value")), result[key], key)
            shown = value_of(tile.query_selector(".value").inner_text())
            self.assertLess(abs(shown - result[key]), 0.006 * abs(result[key]), key)
        self.assertEqual(seen, {"step_s", "samples_per_s", "scaling_efficiency_pct", "t1_s", "t2_s",
                                "exposed_communication_s", "peak_bytes"})

    def rows_of(self, page, section):
        """The cells of the section's first table, whether it is open or not."""
        return page.eval_on_selector_all(
            f"#{section} table:first-of-type tbody tr",
            "rows => rows.map((row) => [...row.cells].map((cell) => cell.textContent))")

    def test_the_parts_of_a_step_are_those_of_the_result(self):
        page = self.open_file(self.ddp_page())
        parts = json.loads((self.ddp() / "result.json").read_text())["breakdown_s"]
        for name, time, _ in self.rows_of(page, "breakdown"):
            expected = parts[name.lower().replace(" ", "_")]
            self.assertLess(abs(value_of(time) - expected), 0.006 * expected + 1e-12, name)

    def test_the_busiest_links_are_those_of_the_result(self):
        page = self.open_file(self.ddp_page())
        links = {link["link"]: link for link in json.loads((self.ddp() / "result.json").read_text())["links"]}
        rows = self.rows_of(page, "topology")
        self.assertEqual(value_of(rows[0][4]), round(max(link["busy_pct"] for link in links.values()), 1))
        for name, _, _, carried, busy in rows:
            self.assertLess(abs(value_of(carried) - links[name]["bytes"]), 0.006 * links[name]["bytes"] + 1)
            self.assertLess(abs(value_of(busy) - links[name]["busy_pct"]), 0.051)

    def test_curves_mark_where_t1_meets_t2(self):
        said = json.loads(twinrun("explain", JOBS / "resnet50-ddp-8gpu.json", "--format", "json"))["answers"]
        page = self.open_file(self.ddp_page())
        answers = page_data(page)["answers"]
        self.assertEqual(answers, said)
        batch = next(one for one in said if one["question"] == "batch_where_t1_equals_t2")
        self.assertIn(f"t1 = t2 at {batch['value']}", page.text_content("#batch svg"))

    def test_a_sweep_shows_every_point(self):
        page = self.open_file(self.page_file("sweep", self.sweep()))
        points = json.loads((self.sweep() / "result.json").read_text())["points"]
        rows = self.rows_of(page, "sweep")
        self.assertEqual(len(rows), len(points))
        for row, point in zip(rows, points):
            self.assertEqual(row[:2], list(point["set"].values()))
            self.assertLess(abs(value_of(row[3]) - point["step_s"]), 0.006 * point["step_s"])
        self.assertEqual(page.locator("#sweep circle.pareto").count(), sum(point["pareto"] for point in points))
        page.select_option("#sweep .toolbar select >> nth=0", "training.dtype")
        page.select_option("#sweep .toolbar select >> nth=1", "peak_bytes")
        self.assertIn("fp16", page.text_content("#sweep .chart-holder svg"))
        self.expect_no_complaints()

    def test_a_comparison_says_what_compare_says(self):
        page = self.open_file(self.comparison_page())
        data = page_data(page)
        results = [json.loads((self.at / name / "result.json").read_text()) for name in ("simulated", "executed")]
        step = next(metric for metric in data["comparison"]["metrics"] if metric["name"] == "step_s")
        self.assertAlmostEqual(step["a"], results[0]["step_s"], places=12)
        self.assertAlmostEqual(step["b"], results[1]["step_s"], places=12)
        shares = [one["share_of_error_pct"] for one in data["comparison"]["ops"] + data["comparison"]["waits"]]
        self.assertAlmostEqual(sum(shares), 100, places=6)
        row = next(row for row in self.rows_of(page, "comparison") if row[0] == "Step")
        self.assertLess(abs(value_of(row[1]) - results[0]["step_s"]), 0.006 * results[0]["step_s"])

    # ---- sizes ----

    def test_64_ranks_and_3_steps_are_whole_and_below_3_mb(self):
        file = self.page_file("large", self.large(), options=["--curves", "none"])
        self.assertLess(file.stat().st_size, 3_000_000)
        page = self.open_file(file)
        timeline = page_data(page)["runs"][0]["timeline"]
        plan = json.loads((self.large() / "plan.json").read_text())
        self.assertEqual(timeline["ops"], sum(op["kind"] != "marker" for op in plan["ops"]))
        self.assertEqual(timeline["left_out"], "")
        self.assertIn("64 alike", page.get_attribute(".timeline", "data-lines"))
        self.expect_no_complaints()

    def test_beyond_its_size_it_says_what_it_left_out(self):
        file = self.page_file("small", self.pipeline(), options=["--curves", "none", "--size", "250kB"])
        self.assertLess(file.stat().st_size, 400_000)
        page = self.open_file(file)
        self.assertIn("the timeline shows", page.inner_text("#timeline .note"))
        self.expect_no_complaints()

    # ---- the timeline ----

    def view(self, page):
        page.wait_for_timeout(60)  # a frame or two
        begin, end = page.eval_on_selector(".timeline", "one => [Number(one.dataset.begin), Number(one.dataset.end)]")
        return begin, end

    def canvas(self, page):
        canvas = page.locator(".timeline-scroller canvas")
        canvas.scroll_into_view_if_needed()
        return canvas

    def times_of(self, folder):
        """Op id → (ready, start, end) in s, from the run's own exact trace."""
        plan = json.loads((folder / "plan.json").read_text())
        trace = json.loads((folder / "trace.json").read_text())
        return {op["id"]: [time / 1e12 for time in times] for op, times in zip(plan["ops"], trace["ops"])}

    def tip(self, page):
        rows = page.eval_on_selector_all(".tooltip dt", "all => all.map((one) => [one.textContent, one.nextSibling.textContent])")
        return page.inner_text(".tooltip strong"), dict(rows)

    def test_hovering_tells_the_op_under_the_pointer(self):
        page = self.open_file(self.ddp_page())
        box = self.canvas(page).bounding_box()
        times = self.times_of(self.ddp())
        begin, end = self.view(page)
        gutter = 158
        checked = 0
        for share in (0.12, 0.35, 0.61, 0.83):
            # The first stream of the first device: under the axis and the device's name.
            page.mouse.move(box["x"] + gutter + share * (box["width"] - gutter), box["y"] + 26 + 22 + 9)
            title, rows = self.tip(page)
            ready, start, stop = times[title]
            instant = (begin + share * (end - begin)) / 1e9
            slack = 3 * (end - begin) / 1e9 / (box["width"] - gutter)
            self.assertTrue(start - slack <= instant <= stop + slack, title)
            self.assertLess(abs(value_of(rows["takes"]) - (stop - start)), 0.006 * (stop - start) + 1e-9)
            self.assertIn("gpu0, compute", rows["on"])
            checked += 1
        self.assertEqual(checked, 4)
        page.mouse.move(5, 5)
        self.assertTrue(page.locator(".tooltip").is_hidden())

    def test_it_zooms_by_wheel_buttons_keys_and_stretches(self):
        page = self.open_file(self.ddp_page())
        canvas = self.canvas(page)
        box = canvas.bounding_box()
        whole = self.view(page)
        x, y = box["x"] + 0.5 * box["width"], box["y"] + 60
        page.mouse.move(x, y)
        under = whole[0] + (x - box["x"] - 158) / (box["width"] - 158) * (whole[1] - whole[0])
        page.keyboard.down("Control")
        page.mouse.wheel(0, -200)
        page.keyboard.up("Control")
        zoomed = self.view(page)
        self.assertLess(zoomed[1] - zoomed[0], 0.7 * (whole[1] - whole[0]))
        after = zoomed[0] + (x - box["x"] - 158) / (box["width"] - 158) * (zoomed[1] - zoomed[0])
        self.assertLess(abs(after - under), 1e-6 * whole[1])  # what is under the pointer stays there
        page.mouse.down()
        page.mouse.move(x - 100, y)
        page.mouse.up()
        self.assertGreater(self.view(page)[0], zoomed[0])
        page.click("button[title='Show everything']")
        self.assertEqual(self.view(page), whole)
        page.click("button[title='Zoom in']")
        self.assertLess(self.view(page)[1] - self.view(page)[0], whole[1] - whole[0])
        canvas.focus()
        page.keyboard.press("0")
        self.assertEqual(self.view(page), whole)
        page.keyboard.press("+")
        page.keyboard.press("+")
        near = self.view(page)
        self.assertAlmostEqual((near[1] - near[0]) * 1.6 * 1.6 / (whole[1] - whole[0]), 1, places=6)
        page.keyboard.press("ArrowRight")
        self.assertGreater(self.view(page)[0], near[0])
        page.keyboard.press("-")
        page.keyboard.press("-")
        self.assertEqual(self.view(page), whole)
        page.keyboard.down("Shift")
        page.mouse.move(box["x"] + 400, y)
        page.mouse.down()
        page.mouse.move(box["x"] + 500, y, steps=4)
        page.mouse.up()
        page.keyboard.up("Shift")
        stretch = self.view(page)
        self.assertAlmostEqual((stretch[1] - stretch[0]) / (whole[1] - whole[0]), 100 / (box["width"] - 158), places=3)
        self.expect_no_complaints()

    def test_a_wheel_without_focus_scrolls_the_page(self):
        page = self.open_file(self.server_page())
        box = self.canvas(page).bounding_box()
        whole = self.view(page)
        page.mouse.move(box["x"] + 400, box["y"] + 100)
        page.mouse.wheel(0, 120)
        self.assertEqual(self.view(page), whole)

    def test_ops_can_be_walked_by_keys_and_are_told(self):
        page = self.open_file(self.ddp_page())
        times = self.times_of(self.ddp())
        self.canvas(page).focus()
        page.keyboard.press("ArrowDown")
        first = page.inner_text(".timeline-said")
        page.keyboard.press("]")
        second = page.inner_text(".timeline-said")
        names = [re.match(r"\S+(?=:)", text).group() for text in (first, second)]
        self.assertEqual(times[names[0]][2], times[names[1]][1])  # one begins where the other ends
        page.keyboard.press("Enter")
        begin, end = self.view(page)
        _, start, stop = times[names[1]]
        self.assertLess(abs((begin + end) / 2e9 - (start + stop) / 2), 1e-8)
        page.keyboard.press("[")
        self.assertIn(names[0], page.inner_text(".timeline-said"))

    def test_search_finds_ops_by_name(self):
        page = self.open_file(self.ddp_page())
        page.fill("#timeline input[type=search]", "bucket3")
        self.assertRegex(page.inner_text("#timeline .found"), r"^[1-9]\d* names")
        page.keyboard.press("Enter")
        self.assertIn("bucket3", page.inner_text(".timeline-said"))
        page.fill("#timeline input[type=search]", "no such op")
        self.assertEqual(page.inner_text("#timeline .found"), "0 names")
        self.expect_no_complaints()

    def test_a_step_alone_begins_at_zero(self):
        page = self.open_file(self.ddp_page())
        steps = page_data(page)["runs"][0]["timeline"]["steps"]
        page.select_option("#timeline .toolbar select >> nth=0", "1")
        begin, end = self.view(page)
        self.assertEqual(begin, 0)
        self.assertAlmostEqual(end, steps[1][2] - steps[1][1], places=3)

    def test_two_runs_are_aligned_and_tell_of_each_other(self):
        page = self.open_file(self.comparison_page())
        self.assertEqual(self.view(page)[0], 0)
        box = self.canvas(page).bounding_box()
        lines = page.get_attribute(".timeline", "data-lines").split("\n")
        self.assertEqual(lines[:3], ["cpu0", "simulated compute", "executed compute"])
        page.mouse.move(box["x"] + 158 + 12, box["y"] + 26 + 22 + 9)
        _, rows = self.tip(page)
        self.assertRegex(rows["executed"], r"^[\d.]+ (ms|µs|s)")
        self.expect_no_complaints()

    def test_the_critical_path_can_be_shown_alone(self):
        page = self.open_file(self.ddp_page())
        self.canvas(page)
        image = "() => document.querySelector('.timeline-scroller canvas').toDataURL()"
        pictures = set()
        for style in ("shown", "alone", "hidden"):
            page.select_option("#timeline .toolbar select >> nth=1", style)
            page.wait_for_timeout(60)
            pictures.add(page.evaluate(image))
        self.assertEqual(len(pictures), 3)

    # ---- themes, paper, narrow screens, keys ----

    def test_both_themes_can_be_read(self):
        for file in (self.ddp_page(), self.comparison_page(), self.page_file("sweep", self.sweep())):
            for scheme in ("light", "dark"):
                with self.subTest(file=file.name, scheme=scheme):
                    page = self.open_file(file, scheme=scheme)
                    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
                    self.assertEqual(page.evaluate(CONTRASTS), [])
                    self.assertEqual(page.evaluate(BAR_CONTRASTS), [])

    def test_the_button_changes_the_theme_and_redraws(self):
        page = self.open_file(self.server_page())
        background = "() => getComputedStyle(document.body).backgroundColor"
        pixel = """() => [...document.querySelector('.timeline-scroller canvas').getContext('2d')
            .getImageData(3, 3, 1, 1).data].slice(0, 3)"""
        page.wait_for_timeout(80)
        before = page.evaluate(background), page.evaluate(pixel)
        page.click("#theme")
        page.wait_for_timeout(80)
        after = page.evaluate(background), page.evaluate(pixel)
        self.assertNotEqual(before[0], after[0])
        self.assertNotEqual(before[1], after[1])
        self.assertEqual(page.get_attribute("#theme", "aria-pressed"), "true")

    def test_it_prints(self):
        page = self.open_file(self.ddp_page(), scheme="dark")
        pdf = page.pdf(format="A4")
        self.assertTrue(pdf.startswith(b"%PDF"))
        self.assertGreater(len(pdf), 60_000)
        pages = len(re.findall(rb"/Type\s*/Page\b", pdf))
        self.assertTrue(3 <= pages <= 14, pages)
        self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark")  # as before
        self.expect_no_complaints()

    def test_nothing_sticks_out_on_a_telephone(self):
        for file in (self.ddp_page(), self.comparison_page(), self.pipeline_page(), self.page_file("sweep", self.sweep())):
            with self.subTest(file.name):
                page = self.open_file(file, width=390, height=800)
                self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 390)
                self.expect_no_complaints()

    def test_everything_is_reached_by_the_tab_key(self):
        page = self.open_file(self.server_page())
        seen = []
        for _ in range(40):
            page.keyboard.press("Tab")
            seen.append(page.evaluate("""() => {
              const one = document.activeElement;
              const outline = getComputedStyle(one).outlineStyle;
              return [one.tagName, one.className, outline !== 'none'];
            }"""))
        self.assertEqual(seen[0][1], "skip")
        self.assertIn("CANVAS", [tag for tag, _, _ in seen])
        self.assertIn("SUMMARY", [tag for tag, _, _ in seen])
        unseen = [one for one in seen if not one[2] and one[0] not in ("BODY", "HTML")]
        self.assertEqual(unseen, [])

    def test_every_drawing_has_its_table(self):
        page = self.open_file(self.ddp_page())
        for section in ("breakdown", "timeline", "memory", "topology", "batch", "scaling"):
            self.assertGreater(page.locator(f"#{section} table").count(), 0, section)
        self.assertEqual(page.locator("#server-or-ring table").count(), page.locator("#server-or-ring svg").count())

    def test_links_of_the_topology_tell_what_they_carried(self):
        page = self.open_file(self.ddp_page())
        link = page.locator("#topology path.link").last
        link.scroll_into_view_if_needed()
        link.dispatch_event("pointerenter", {"clientX": 200, "clientY": 200})
        title, rows = self.tip(page)
        self.assertIn("—", title)
        self.assertIn("GB/s", rows["bandwidth"])
        self.assertTrue(any("busy" in value for value in rows.values()))

    def test_a_pipeline_is_drawn_block_by_block(self):
        page = self.open_file(self.pipeline_page())
        blocks = sum(len(row["blocks"]) for row in page_data(page)["runs"][0]["pipeline"]["rows"])
        # eight micro-batches, forward, recompute and backward on eight devices; the last of a device's
        # recomputations and its backward pass may be one stretch only when the schedule skips it
        self.assertEqual(page.locator("#pipeline rect:not(.empty)").count(), blocks)
        forward = [block for row in page_data(page)["runs"][0]["pipeline"]["rows"] for block in row["blocks"] if block[0] == 0]
        self.assertEqual(len(forward), 8 * 8)


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
