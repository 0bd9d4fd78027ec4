"""twinrun execute --backend mpi: processes that it starts itself or a launcher has started, and how they end.

Each fault leaves an error that names op, rank and what the others waited for, the trace of what was done, and
nothing else: no process, no shared memory, no folder.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

PROGRAM = os.environ["TWINRUN"]
MLP = str(pathlib.Path(__file__).resolve().parents[2] / "jobs" / "mlp-4cpu.json")
ROOT_MAY = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
LIMIT = 120  # seconds; on a busy machine everything takes longer


def long_plan(devices=3, rounds=4000):
    """Every device computes, then all sum; again and again."""
    names = [f"cpu{i}" for i in range(devices)]
    ops = [op for step in range(rounds) for name in names for op in (
        {"id": f"step{step}/work@{name}", "kind": "compute", "device": name, "flops": 1e8},
        {"id": f"step{step}/sum@{name}", "kind": "collective", "device": name, "collective": "all_reduce",
         "group": "all", "bytes": 4000, "stream": "compute"})]
    return {"schema": "twinrun/plan/1", "topology": f"cpu:devices={devices}", "groups": {"all": names}, "ops": ops}


def environment_of(process):
    try:
        return pathlib.Path(f"/proc/{process}/environ").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


class MpiTest(unittest.TestCase):
    """A folder, and a mark in the environment by which all processes of the test are found."""

    def setUp(self):
        self.mark = f"TWINRUN_TEST={uuid.uuid4()}"
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.temporary = self.folder / "tmp"
        self.temporary.mkdir()
        key, value = self.mark.split("=")
        # What Open MPI leaks itself is not looked for.
        self.environment = {**os.environ, **ROOT_MAY, key: value, "TMPDIR": str(self.temporary),
                            "ASAN_OPTIONS": "detect_leaks=0"}
        self.shared_before = self.shared()

    @staticmethod
    def shared():
        return set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()

    def processes(self):
        """By id: the environment of each that the test has started."""
        found = {int(name): environment_of(name) for name in os.listdir("/proc") if name.isdigit()}
        return {process: words for process, words in found.items() if self.mark in words}

    def of_others(self, name):
        """Whether a process of somebody else, such as another test that runs beside this one, works in that folder."""
        processes = [environment_of(process) for process in os.listdir("/proc") if process.isdigit()]
        return any(self.mark not in words and any(word.endswith(f"/{name}") for word in words) for words in processes)

    def run_program(self, *arguments, before=(), text=None):
        return subprocess.run([*before, PROGRAM, "execute", *map(str, arguments), "--backend", "mpi"], input=text,
                              env=self.environment, capture_output=True, text=True, timeout=LIMIT)

    def executed(self, *arguments, **options):
        result = self.run_program(*arguments, "--format", "json", **options)
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout)

    def assert_nothing_is_left(self):
        until = time.monotonic() + 20
        left = None
        while time.monotonic() < until:
            shared = {name for name in self.shared() - self.shared_before
                      if ("twinrun" in name or "vader" in name) and not self.of_others(name)}
            left = (sorted(self.processes()), sorted(os.listdir(self.temporary)), sorted(shared))
            if left == ([], [], []):
                return
            time.sleep(0.2)
        self.fail(f"left behind: {left}")


class Execute(MpiTest):
    def test_it_starts_a_process_for_each_rank_and_ends_with_the_weights_of_one_device(self):
        run = self.executed(MLP, "--steps", 5, "--data", "integers", "--out", self.folder / "run")
        one = subprocess.run([PROGRAM, "execute", MLP, "--steps", "5", "--data", "integers", "--backend", "cpu", "--set",
                              "parallelism.strategy=single", "--format", "json"], capture_output=True, check=True)
        one = json.loads(one.stdout)
        self.assertEqual((run["backend"], run["processes"], run["devices"]), ("mpi", 4, 4))
        self.assertEqual((run["weights_sha256"], run["loss"]), (one["weights_sha256"], one["loss"]))
        self.assertEqual(run["replica_disagreement"], 0)
        self.assertEqual(run["clock_residual_s"], 0)  # one host, one clock
        self.assertLess(run["clock_residual_s"], 1)
        kept = json.loads((self.folder / "run" / "result.json").read_text())
        self.assertEqual(kept["weights_sha256"], one["weights_sha256"])
        self.assertEqual(len(list((self.folder / "run" / "traces").iterdir())), 5)
        self.assert_nothing_is_left()

    def test_n_says_how_many(self):
        self.assertEqual(self.executed(MLP, "-n", 2, "--steps", 2)["devices"], 2)
        plan = json.dumps(long_plan(devices=4, rounds=2))
        run = self.executed("-", "-n", 2, text=plan)  # standard input; two devices a process
        self.assertEqual((run["processes"], run["devices"]), (2, 4))
        self.assert_nothing_is_left()

    def test_mpis_own_all_reduce_is_an_algorithm(self):
        run = self.executed(MLP, "--steps", 2, "--data", "integers", "--set", "parallelism.all_reduce_algorithm=mpi")
        ring = self.executed(MLP, "--steps", 2, "--data", "integers", "--set", "parallelism.all_reduce_algorithm=ring")
        self.assertEqual({entry["algorithm"] for entry in run["collectives"]}, {"mpi"})
        self.assertEqual({entry["algorithm"] for entry in ring["collectives"]}, {"ring"})
        self.assertEqual(run["weights_sha256"], ring["weights_sha256"])

    def test_under_a_launcher_it_joins_and_the_first_process_reports(self):
        before = ["mpirun", "-n", "3", "--oversubscribe", "--bind-to", "none"]
        run = self.executed(MLP, "--steps", 3, "--data", "integers", before=before)
        self.assertEqual((run["processes"], run["devices"]), (3, 4))
        self.assertEqual(run["weights_sha256"], self.executed(MLP, "--steps", 3, "--data", "integers")["weights_sha256"])

    def test_what_cannot_be_run_is_refused_once(self):
        result = self.run_program(MLP, "--topology", "dgx1-v100:gpus=2", "--set", "training.offload=weights")
        self.assertEqual((result.returncode, result.stdout), (4, ""))
        self.assertEqual(result.stderr.count("which are in different processes"), 1)
        self.assert_nothing_is_left()

    def test_the_arguments_of_mpirun_can_be_given(self):
        self.environment["TWINRUN_MPIRUN"] = "mpirun --no-such-argument"
        result = self.run_program(MLP, "--steps", 1)
        self.assertEqual(result.returncode, 1)
        self.assertIn("no-such-argument", result.stderr)
        self.environment["TWINRUN_MPIRUN"] = "no-such-mpirun"
        result = self.run_program(MLP, "--steps", 1)
        self.assertEqual(result.returncode, 6)
        self.assertIn("no no-such-mpirun in PATH", result.stderr)
        self.assert_nothing_is_left()


class Faults(MpiTest):
    def start(self, timeout=3):
        plan = self.folder / "long.json"
        plan.write_text(json.dumps(long_plan()))
        self.process = subprocess.Popen(
            [PROGRAM, "execute", plan, "--backend", "mpi", "--timeout", str(timeout), "--out", self.folder / "run",
             "--format", "json"], env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.process.stderr.close)
        self.addCleanup(self.process.stdout.close)
        self.wait_until_ops_end()

    def ranks(self):
        """By rank: the id of its process. mpirun's own environment has none."""
        return {int(word.split("=")[1]): process for process, words in self.processes().items() for word in words
                if word.startswith("OMPI_COMM_WORLD_RANK=")}

    def mpirun(self):
        return next(process for process in self.processes()
                    if pathlib.Path(f"/proc/{process}/stat").read_text().split()[3] == str(self.process.pid))

    def wait_until_ops_end(self):
        """Until every rank has said that it is alive and at work."""
        until = time.monotonic() + LIMIT
        while time.monotonic() < until and self.process.poll() is None:
            tables = list(self.temporary.glob("twinrun-*/live.*"))
            if len(tables) == 3 and all(any(table.read_bytes()[128:128 + 2400]) for table in tables):
                time.sleep(0.5)
                return
            time.sleep(0.1)
        self.fail("it never came so far: " + self.process.communicate()[1])

    def result(self, exit_code):
        out, errors = self.process.communicate(timeout=LIMIT)
        self.assertEqual(self.process.returncode, exit_code, errors + out)
        self.assert_nothing_is_left()
        kept = json.loads((self.folder / "run" / "result.json").read_text())
        self.assertEqual(kept["failure"], json.loads(out)["failure"])
        self.assertGreater(kept["makespan_s"], 0)  # what was done is there, and marked
        self.assertIsNone(kept["step_s"])
        self.assertTrue(list((self.folder / "run" / "traces").iterdir()))
        return kept["failure"]

    def test_a_killed_rank(self):
        self.start()
        os.kill(self.ranks()[1], signal.SIGKILL)
        failure = self.result(7)
        self.assertTrue(failure.startswith("rank 1 (cpu1) died"), failure)
        self.assertRegex(failure, r"rank 1 \(cpu1\): last seen before step\d+/(work|sum)@cpu1")
        self.assertRegex(failure, r"rank 0 \(cpu0\): .*step\d+/(sum|work)@cpu0 on cpu0")

    def test_a_rank_that_stops_answering(self):
        self.start()
        os.kill(self.ranks()[2], signal.SIGSTOP)
        failure = self.result(124)
        self.assertRegex(failure, r"rank 2 \(cpu2\)( has not answered|: last seen)")
        self.assertRegex(failure, r"for step\d+/sum@cpu\d on cpu\d")

    def test_the_first_rank_stops_answering(self):
        self.start()
        os.kill(self.ranks()[0], signal.SIGSTOP)
        failure = self.result(124)
        self.assertIn("rank 0 (cpu0)", failure)
        self.assertRegex(failure, r"for step\d+/sum@cpu\d on cpu\d")

    def test_ctrl_c(self):
        self.start()
        self.process.send_signal(signal.SIGINT)
        self.assertTrue(self.result(130).startswith("interrupted"))

    def test_it_is_terminated(self):
        self.start()
        self.process.send_signal(signal.SIGTERM)
        self.assertTrue(self.result(143).startswith("interrupted"))

    def test_mpirun_dies(self):
        self.start()
        os.kill(self.mpirun(), signal.SIGKILL)
        self.assertIn("mpirun died of signal 9", self.result(7))

    def test_mpirun_dies_while_a_rank_is_stopped(self):
        self.start()
        os.kill(self.ranks()[1], signal.SIGSTOP)
        os.kill(self.mpirun(), signal.SIGKILL)
        self.assertIn("mpirun died of signal 9", self.result(7))

    def test_the_program_itself_dies_and_takes_the_processes_with_it(self):
        self.start()
        self.process.kill()
        self.process.communicate(timeout=LIMIT)
        self.assert_nothing_is_left()

    def test_collectives_in_another_order(self):
        """One device sums a, then b; the other b, then a: seen before anything starts (what happens when such a plan
        does run is in tests/exec/mpi/part_run_test.cc)."""
        ops = [{"id": f"{name}@cpu{device}", "kind": "collective", "device": f"cpu{device}", "collective": "all_reduce",
                "group": "all", "bytes": 4000, "stream": "sums"}
               for device, order in ((0, "ab"), (1, "ba")) for name in order]
        plan = {"schema": "twinrun/plan/1", "topology": "cpu:devices=2", "groups": {"all": ["cpu0", "cpu1"]}, "ops": ops}
        result = self.run_program("-", "--timeout", 3, text=json.dumps(plan))
        self.assertEqual((result.returncode, result.stdout), (3, ""))
        self.assertIn('"cpu0" has "a" before "b", "cpu1" has "b" before "a"', result.stderr)
        self.assert_nothing_is_left()

    @unittest.skipIf(b"__asan_init" in pathlib.Path(PROGRAM).read_bytes(), "sanitizers end the process instead")
    def test_an_exception_in_an_op(self):
        """A product of more rows than the library can count; the memory for it is asked for and never touched."""
        rows = 2200000000
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        if memory < 2.2 * 4 * rows:
            self.skipTest(f"asks for more than the {memory / 1e9:.0f} GB that this machine has")
        ops = [{"id": "fine@cpu0", "kind": "compute", "device": "cpu0", "flops": 1e6},
               {"id": "huge@cpu1", "kind": "compute", "device": "cpu1", "flops": 2 * rows, "bytes": 1, "kernel":
                {"kind": "gemm", "m": rows, "n": 1, "k": 1}, "after": ["fine@cpu0"]},
               {"id": "next@cpu0", "kind": "compute", "device": "cpu0", "flops": 1e6, "after": ["huge@cpu1"]}]
        plan = {"schema": "twinrun/plan/1", "topology": "cpu:devices=2", "ops": ops}
        result = self.run_program("-", "--timeout", 20, "--format", "json", text=json.dumps(plan))
        self.assertEqual(result.returncode, 1, result.stderr)
        failure = json.loads(result.stdout)["failure"]
        self.assertIn("huge@cpu1 on cpu1 failed", failure)
        self.assertIn("next@cpu0 on cpu0 for huge@cpu1", failure)
        self.assert_nothing_is_left()


if __name__ == "__main__":
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun in PATH")
        sys.exit(77)
    unittest.main()
