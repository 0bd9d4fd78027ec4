"""A timeline of a million ops, no two rows alike, stays usable. How long things take is printed, not judged."""

import base64
import json
import random
import sys
import time
import unittest

from chromium import JOBS, BrowserTest

DEVICES, OPS = 128, 8000
FRAMES = """async (zooms) => {
  const canvas = document.querySelector('.timeline-scroller canvas');
  canvas.focus();
  const times = [];
  for (let i = 0; i < 40; i++) {
    const begin = performance.now();
    canvas.dispatchEvent(new KeyboardEvent('keydown', { key: zooms ? (i % 20 < 10 ? '+' : '-') : 'ArrowRight' }));
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
    times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b);
}"""


def varints(numbers):
    out = bytearray()
    for number in numbers:
        while number >= 0x80:
            out.append(number & 0x7F | 0x80)
            number >>= 7
        out.append(number)
    return base64.b64encode(bytes(out)).decode()


def large_timeline():
    """The timeline and the (start, end) of every op, by device."""
    dice = random.Random(1)
    labels = [[f"forward/layer{i}@", i % 6, 1000 * i, 1e6 * i, "compute", 0] for i in range(200)]
    sequences, rows, times = [], [], []
    longest = 0
    for device in range(DEVICES):
        at, label, names, numbers, spans = 0, -1, [], [], []
        for _ in range(OPS):
            now = dice.randrange(200)
            step = now - label - 1
            names.append(2 * step if step >= 0 else -2 * step - 1)
            gap, length = dice.randrange(200), dice.randrange(1, 3000)
            numbers += [2 * gap, length, 0]  # the gap is signed: zigzag
            spans.append((at + gap, at + gap + length))
            at, label = at + gap + length, now
        sequences += [varints(names), varints(numbers)]
        rows.append({"device": device, "stream": "compute", "lane": 0, "owner": f"@rank{device}",
                     "chunks": [[0, 0, len(sequences) - 2, len(sequences) - 1, -1]]})
        times.append(spans)
        longest = max(longest, at)
    return {"ops": DEVICES * OPS, "left_out": "", "makespan_ns": longest, "steps": [[0, 0, longest]],
            "devices": [f"gpu{i}" for i in range(DEVICES)], "labels": labels, "sequences": sequences, "rows": rows}, times


class LargeTimeline(BrowserTest):
    def test_a_million_ops(self):
        small = self.page_file("small", self.folder("run", "simulate", JOBS / "mlp-4cpu.json"),
                               options=["--curves", "none"]).read_text()
        begin = small.index('id="data">') + len('id="data">')
        end = small.index("</script>", begin)
        data = json.loads(small[begin:end])
        timeline, times = large_timeline()
        data["runs"][0]["timeline"].update(timeline)
        large = self.at / "large.html"
        large.write_text(small[:begin] + json.dumps(data) + small[end:])
        start = time.monotonic()
        page = self.open_file(large)
        loaded = time.monotonic() - start
        zooms, pans = page.evaluate(FRAMES, True), page.evaluate(FRAMES, False)
        print(f"{DEVICES * OPS} ops, {large.stat().st_size / 1e6:.1f} MB: loaded in {loaded:.2f} s; a frame while zooming "
              f"{zooms[20]:.0f} ms (worst {zooms[-1]:.0f}), while moving {pans[20]:.0f} ms (worst {pans[-1]:.0f})")
        page.keyboard.press("0")
        page.wait_for_timeout(200)
        canvas = page.locator(".timeline-scroller canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        for zoom in range(12):
            page.keyboard.press("+")
        page.wait_for_timeout(200)
        begin, end = (float(page.get_attribute(".timeline", f"data-{side}")) for side in ("begin", "end"))
        page.mouse.move(box["x"] + 158 + 300, box["y"] + 26 + 22 + 9)
        instant = begin + 300 / (box["width"] - 158) * (end - begin)
        takes = page.evaluate("""() => [...document.querySelectorAll('.tooltip dt')]
            .find((one) => one.textContent === 'takes').nextSibling.textContent""")
        slack = 3 * (end - begin) / (box["width"] - 158)
        near = [b - a for a, b in times[0] if a - slack <= instant <= b + slack]
        number, unit = takes.split(" ")
        shown = float(number) * {"ns": 1, "µs": 1e3}[unit]
        self.assertTrue(any(abs(shown - length) <= 0.006 * length for length in near), (takes, near))
        self.expect_no_complaints()


if __name__ == "__main__":
    unittest.main(argv=sys.argv)
