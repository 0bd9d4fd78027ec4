"""twinrun flows: a list of transfers in, dates out; mistakes are shown with their line."""

import json
import os
import subprocess
import unittest

PROGRAM = os.environ["TWINRUN"]
SWITCH = "single-switch:hosts=4,bandwidth=12.5GB/s,latency=1us"


def flows(text, *options, topology=SWITCH):
    return subprocess.run([PROGRAM, "flows", "-", "--topology", topology, *options], input=text,
                          capture_output=True, text=True, timeout=60)


class Flows(unittest.TestCase):
    def test_dates_by_hand(self):
        # Both leave host 0 after 2 us of latency; the small one is through when each has moved 12,500 bytes.
        result = flows("src,dst,bytes\n0,1,100kB\n\n# a comment\nnode0/cpu0,node2/cpu0,12500\n", "--each",
                       "--format", "json")
        answer = json.loads(result.stdout)
        self.assertEqual(answer["makespan_s"], 11e-6)
        self.assertEqual([flow["end_s"] for flow in answer["flows"]], [11e-6, 4e-6])
        self.assertAlmostEqual(answer["mean_completion_s"], 7.5e-6, places=15)

    def test_a_window_of_one_runs_them_in_turn(self):
        result = flows("start,src,dst,bytes\n5us,0,1,12500\n0,0,2,12500\n", "--window", "1", "--format", "json")
        self.assertEqual(json.loads(result.stdout)["makespan_s"], 6e-6)
        self.assertIn("W0601", result.stderr)

    def test_mistakes_have_a_line(self):
        for text, said in [
            ("src,dst,bytes\n0,1,2\n0,1\n", ("E0603", "<stdin>:3:1")),
            ("src,dst,bytes\n0,1,-2\n", ("E0604", "<stdin>:2:5")),
            ("src,dst,bytes,start\n0,1,2,soon\n", ("E0604", "<stdin>:2:7")),
            ("src,dst,bytes\n0,4,2\n", ("E0605", "hosts are numbered 0 to 3")),
            ("src,dst,bytes\nnode0/cpu1,1,2\n", ("E0605", 'did you mean "node0/cpu0"')),
            ("src,dts,bytes\n0,1,2\n", ("E0601", 'did you mean "dst"')),
            ("", ("E0602", "no header")),
        ]:
            with self.subTest(text):
                result = flows(text)
                self.assertEqual(result.returncode, 3, result.stderr)
                for words in said:
                    self.assertIn(words, result.stderr)

    def test_a_window_of_none_is_refused(self):
        self.assertEqual(flows("src,dst,bytes\n", "--window", "0").returncode, 2)


if __name__ == "__main__":
    unittest.main()
