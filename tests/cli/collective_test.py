"""twinrun collective: nccl-tests, simulated and measured."""

import json
import math
import os
import shutil
import subprocess
import unittest

PROGRAM = os.environ["TWINRUN"]


def collective(*options):
    return subprocess.run([PROGRAM, "collective", *options], capture_output=True, text=True, timeout=60)


def rows(*options):
    result = collective(*options, "--format", "json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)["rows"]


def switch(hosts):
    return f"single-switch:hosts={hosts},bandwidth=12.5GB/s,latency=1us"


class Collective(unittest.TestCase):
    def test_a_stepwise_ring_is_its_closed_form(self):
        for ranks in (8, 64, 256):
            row, = rows("all_reduce", "--topology", switch(ranks), "-b", "100000000", "--algorithm", "ring",
                        "--fidelity", "stepwise")
            chunk = math.ceil(25e6 / ranks) * 4
            self.assertAlmostEqual(row["time_s"] / (2 * (ranks - 1) * (2e-6 + chunk / 12.5e9)), 1, delta=1e-9)
            self.assertEqual((row["bytes"], row["count"], row["type"]), (100000000, 25000000, "fp32"))
            self.assertAlmostEqual(row["algbw_GBps"], 0.1 / row["time_s"], delta=1e-9)
            self.assertAlmostEqual(row["busbw_GBps"], 2 * (ranks - 1) / ranks * 0.1 / row["time_s"], delta=1e-9)
            self.assertEqual(row["algorithm"], "ring")
            self.assertIn("->", row["bottleneck"])

    def test_a_server_in_a_place_of_its_own(self):
        row, = rows("all_reduce", "--topology", switch(9), "--ranks", "8", "-b", "100000000", "--algorithm", "ps",
                    "--servers", "node8/cpu0", "--fidelity", "stepwise")
        self.assertAlmostEqual(row["time_s"], 2 * (2e-6 + 8 * 1e8 / 12.5e9), delta=1e-12)
        self.assertIn("node8", row["bottleneck"])

    def test_mpis_own_choice_is_taken_to_be_the_best(self):
        # Two exchanges, in each of which a rank sends the three others a quarter (of 25 elements: 7).
        small, large = rows("all_reduce", "--topology", switch(4), "-b", "100", "-e", "100000000", "-f", "1000000",
                            "--algorithm", "mpi", "--fidelity", "stepwise")
        self.assertAlmostEqual(small["time_s"], 2 * (2e-6 + 3 * 28 / 12.5e9), delta=1e-11)
        self.assertAlmostEqual(large["time_s"], 2 * (2e-6 + 3 * 25e6 / 12.5e9), delta=1e-9)
        self.assertIn("MPI's own choice", json.loads(collective(
            "all_reduce", "--topology", switch(4), "-b", "8", "--algorithm", "mpi", "--format", "json").stdout)["fidelity"])

    def test_sizes_go_up_by_the_factor(self):
        sizes = [row["bytes"] for row in rows("all_reduce", "--topology", switch(4), "-b", "8", "-e", "1K", "-f", "4")]
        self.assertEqual(sizes, [8, 32, 128, 512])

    def test_a_copy(self):
        row, = rows("send_recv", "--topology", switch(2), "--ranks", "node0/cpu0,node1/cpu0", "-b", "125000")
        self.assertAlmostEqual(row["time_s"], 12e-6, delta=1e-15)

    def test_an_all_to_all_over_nccl_is_a_group_of_messages(self):
        # 8 KiB to each of 8: half a microsecond for each of 16 calls, and NCCL's latency of a step.
        small, large = rows("all_to_all", "--topology", "dgx-a100", "-b", "64K", "-e", "1G", "-f", "16384")
        self.assertEqual((small["algorithm"], small["protocol"]), ("SendRecv", "Simple"))
        self.assertGreater(small["time_s"], 8e-6)
        self.assertLess(small["time_s"], 30e-6)
        self.assertAlmostEqual(large["time_s"] - small["time_s"], 7 / 8 * (2**30 - 2**16) / 240e9, delta=3e-5)

    def test_nothing_takes_no_time_and_has_no_rate(self):
        for options in (("-b", "0"), ("-b", "1M", "--ranks", "1")):
            row, = rows("all_reduce", "--topology", switch(4), *options)
            self.assertEqual(row["time_s"], 0)
            self.assertIsNone(row["algbw_GBps"])

    def test_every_algorithm_and_kind_gives_finite_numbers(self):
        for kind in ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv"):
            for fidelity in ("auto", "stepwise", "pipelined"):
                for row in rows(kind, "--topology", "dgx1-v100", "-b", "8", "-e", "64M", "-f", "64", "--fidelity", fidelity):
                    self.assertGreater(row["time_s"], 0)
                    self.assertTrue(math.isfinite(row["busbw_GBps"]))

    def test_gpus_get_what_nccl_does(self):
        row, = rows("all_reduce", "--topology", "dgx-h100", "-b", "256M")
        self.assertEqual((row["algorithm"], row["protocol"]), ("NVLS", "Simple"))
        ring, = rows("all_reduce", "--topology", "dgx-h100", "-b", "256M", "--algorithm", "ring", "--fidelity", "nccl")
        self.assertEqual(ring["algorithm"], "Ring")
        self.assertGreater(ring["time_s"], row["time_s"])

    # nccl-tests on a DGX-1V, 1 GiB: bus bandwidth by the number of GPUs, within a tenth.
    def test_the_cube_mesh(self):
        for ranks, measured in zip(range(2, 9), (22, 45, 86, 37, 46, 88, 135)):
            row, = rows("all_reduce", "--topology", "dgx1-v100", "--ranks", str(ranks), "-b", "1G")
            self.assertAlmostEqual(row["busbw_GBps"], measured, delta=measured / 10)

    def test_mistakes(self):
        for options, code, words in [
            (("all_reduce", "--topology", switch(4), "-b", "8Q"), 2, "powers of 1024"),
            (("all_reduce", "--topology", switch(4), "-b", "8K", "-e", "1K"), 2, "less than"),
            (("all_reduce", "--topology", switch(4), "--ranks", "5"), 2, "has 4 devices"),
            (("all_reduce", "--topology", switch(4), "--ranks", "0"), 2, "has 4 devices"),
            (("all_reduce", "--topology", switch(4), "--ranks", "node0/cpu0,node0/cpu0"), 2, "twice"),
            (("all_reduce", "--topology", switch(4), "--ranks", "node0/cpu9"), 2, "did you mean"),
            (("all_reduce", "--topology", switch(4), "--algorithm", "rign"), 2, "ring"),
            (("all_reduec", "--topology", switch(4)), 2, "all_reduce"),
            (("all_to_all", "--topology", switch(4), "--algorithm", "ring"), 4, "not all_to_all"),
            (("all_reduce", "--topology", "dgx1-v100", "--algorithm", "nvls"), 4, "NCCL does not"),
            (("all_reduce", "--topology", switch(4), "--fidelity", "nccl"), 4, "NCCL"),
            (("broadcast", "--topology", switch(4), "--root", "4"), 2, "0 to 3"),
            (("all_reduce", "--topology", switch(4), "-b", "9000P"), 2, "powers of 1024"),
        ]:
            with self.subTest(options):
                result = collective(*options)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(words, result.stderr)

    def test_more_bytes_than_can_be(self):
        for topology, bytes, words in [(switch(4), 1 << 60, "more than can be counted"),
                                       (switch(4), 1 << 57, "as far as the clock goes"),
                                       ("dgx1-v100", 1 << 60, "as far as the clock goes")]:
            result = collective("all_reduce", "--topology", topology, "-b", str(bytes))
            self.assertEqual(result.returncode, 4, result.stdout)
            self.assertIn(words, result.stderr)


KINDS = ("all_reduce", "reduce_scatter", "all_gather", "broadcast", "reduce", "all_to_all", "send_recv")


def measured(*options):
    result = collective(*options, "--format", "json")
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


class Measured(unittest.TestCase):
    BACKEND = "cpu"

    def test_every_collective_comes_out_right(self):
        for kind in KINDS:
            for ranks in (2, 3):
                with self.subTest(kind, ranks=ranks):
                    result = measured(kind, "--backend", self.BACKEND, "--ranks", str(ranks), "-b", "24", "-e", "240K",
                                      "-f", "100", "-n", "3", "-w", "1")
                    self.assertEqual(result["wrong"], 0)
                    self.assertEqual([row["bytes"] for row in result["rows"]], [24, 2400, 240000])
                    for row in result["rows"]:
                        self.check_row(row, kind, ranks)

    def check_row(self, row, kind, ranks):
        factor = {"all_reduce": 2 * (ranks - 1) / ranks, "reduce_scatter": (ranks - 1) / ranks,
                  "all_gather": (ranks - 1) / ranks, "all_to_all": (ranks - 1) / ranks}.get(kind, 1)
        self.assertEqual((row["count"], row["type"]), (row["bytes"] // 4, "fp32"))
        self.assertGreater(row["time_s"], 0)
        self.assertLessEqual(row["time_min_s"], row["time_median_s"])
        self.assertLessEqual(row["time_median_s"], row["time_max_s"])
        self.assertLessEqual(row["time_min_s"], row["time_s"])
        self.assertLessEqual(row["time_s"], row["time_max_s"])
        self.assertAlmostEqual(row["algbw_GBps"] * row["time_s"] * 1e9 / row["bytes"], 1, delta=1e-9)
        self.assertAlmostEqual(row["busbw_GBps"], row["algbw_GBps"] * factor, delta=1e-9 * row["busbw_GBps"])
        self.assertIsNone(row["simulated_s"])
        if kind != "send_recv":
            is_small = kind == "all_reduce" and row["bytes"] <= 16384
            self.assertEqual(row["algorithm"], "direct" if kind == "all_to_all" else
                             "recursive-doubling" if is_small else "ring")

    def test_every_algorithm_of_the_all_reduce(self):
        for algorithm in ("ring", "tree", "halving-doubling", "recursive-doubling", "direct", "hierarchical", "ps", "ps-sharded"):
            result = measured("all_reduce", "--backend", self.BACKEND, "--ranks", "4", "-b", "10000", "-n", "2", "-w", "0",
                              "--algorithm", algorithm)
            self.assertEqual((result["wrong"], result["rows"][0]["algorithm"]), (0, algorithm))

    def test_the_simulation_beside(self):
        topology = "cpu:devices=2"
        row, = measured("all_reduce", "--backend", self.BACKEND, "--topology", topology, "-b", "1M", "-n", "2")["rows"]
        alone, = rows("all_reduce", "--topology", topology, "-b", "1M", "--algorithm", "ring")
        self.assertEqual(row["simulated_s"], alone["time_s"])
        self.assertAlmostEqual(row["error_pct"], 100 * (alone["time_s"] / row["time_s"] - 1), delta=1e-6)

    def test_the_header_says_what_was_done(self):
        text = collective("all_reduce", "--backend", self.BACKEND, "--ranks", "2", "-b", "4K", "-n", "7", "-w", "3").stdout
        self.assertIn("7 iterations a size after 3 warm-ups", text)
        self.assertIn("wrong 0", text)
        self.assertIn(f"the {self.BACKEND} backend", text)
        self.assertNotIn("simulated us", text)

    def test_sizes_are_whole_elements_for_every_rank(self):
        for kind, ranks, bytes in (("all_reduce", 3, 1000), ("all_gather", 3, 996), ("send_recv", 2, 1000)):
            row, = measured(kind, "--backend", self.BACKEND, "--ranks", str(ranks), "-b", "1003", "-n", "1")["rows"]
            self.assertEqual(row["bytes"], bytes)

    def test_nothing_is_moved_in_no_bytes_and_by_one_rank(self):
        for options in (("--ranks", "2", "-b", "0"), ("--ranks", "1", "-b", "1K")):
            result = measured("all_reduce", "--backend", self.BACKEND, *options, "-n", "1")
            self.assertEqual(result["wrong"], 0)

    def test_mistakes(self):
        for options, code, words in [
            (("all_reduce", "--type", "fp16"), 4, "fp32"),
            (("all_reduce", "-b", "1T"), 4, "this machine has"),
            (("all_reduce", "--algorithm", "nvls"), 4, "NCCL"),
            (("all_to_all", "--algorithm", "ring"), 4, "not all_to_all"),
            (("all_reduce", "--servers", "cpu0"), 2, "--servers"),
            (("send_recv", "--ranks", "1"), 2, "two ranks"),
            (("broadcast", "--root", "9"), 2, "--root 9"),
        ]:
            with self.subTest(options):
                options = options if "--ranks" in options else (*options, "--ranks", "2")
                result = collective(*options, "--backend", self.BACKEND)
                self.assertEqual(result.returncode, code, result.stderr)
                self.assertIn(words, result.stderr)


@unittest.skipUnless(shutil.which("mpirun"), "there is no mpirun")
class MeasuredOverMpi(Measured):
    BACKEND = "mpi"

    def test_mpis_own_all_reduce(self):
        result = measured("all_reduce", "--backend", "mpi", "--ranks", "3", "-b", "40K", "-n", "3", "--algorithm", "mpi")
        self.assertEqual((result["wrong"], result["rows"][0]["algorithm"], result["processes"]), (0, "mpi", 3))


class Backends(unittest.TestCase):
    def test_only_those_there_are(self):
        result = collective("all_reduce", "--backend", "cup")
        self.assertEqual(result.returncode, 2)
        self.assertIn("cpu", result.stderr)

    def test_a_simulation_needs_a_topology(self):
        result = collective("all_reduce")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--topology", result.stderr)


if __name__ == "__main__":
    unittest.main()
