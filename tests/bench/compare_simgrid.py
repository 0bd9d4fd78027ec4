#!/usr/bin/env python3
"""Our simulator and SimGrid on the same scenarios, in one table.

  compare_simgrid.py quick|full|reduced --scenario PROGRAM --program TWINRUN [--only PART-OF-NAME]

quick takes a minute or two; full also lets SimGrid run what takes it minutes; reduced is small scenarios of ours alone,
for the tests. The scenarios and what they must give are those of the peer baselines (R, PSe, PSs, FT). The SimGrid
programs are built from the folder beside the checkout in which they are kept; without them, or without libsimgrid-dev,
their column is empty and the reason is printed.

What is timed, in CPU seconds of one core, so that a busy machine counts less: of FT, PS and the rings the simulation
with its routing, but not the building of the platform, for both; of R our whole process against SimGrid's simulation.
SimGrid prints wall time, which is multiplied by the share of the core that its process had. Short runs are repeated
and the middle one is taken. Exit status 1 when a result is wrong.
"""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
PEER_SOURCES = ROOT.parent / "shared" / "bench" / "simgrid"
BANDWIDTH, LATENCY, BYTES = 12.5e9, 1e-6, 100_000_000


@dataclasses.dataclass
class Row:
    name: str
    ours: list  # words for the scenario program, or for twinrun when they begin with "collective"
    peer: list  # words for the SimGrid program; empty: not run there
    expected: list  # (value, allowed error) of the result, any of them; then of the mean where known
    mean: tuple = None
    target: str = ""
    modes: str = "quick full"  # in which the row is there
    peer_modes: str = "quick full"  # in which SimGrid runs it


@dataclasses.dataclass
class Measured:
    seconds: float
    result_s: float
    mean_s: float = 0
    peak_mib: float = 0


def digits(value):
    return [(value, 0.5e-9)]


def exact(value):
    return [(value, 1e-9 * value)]


def fat_tree(flows, sizes, window, makespan, mean, **more):
    name = f"FT({flows}, {sizes}, {window})"
    ours, peer = ["ft", str(flows), sizes, str(window)], ["fattree", str(flows), sizes, str(window)]
    return Row(name, ours, peer, makespan, mean=mean, **more)


def server(kind, workers, **more):
    if kind == "pse":
        expected, name, mode = 2 * (2 * LATENCY + workers * BYTES / BANDWIDTH), "PSe", "equal"
    else:
        shares = [math.floor(BYTES * (1 + i / workers) + 0.5) for i in range(workers)]
        expected = 4 * LATENCY + (workers * shares[0] + sum(shares)) / BANDWIDTH
        name, mode = "PSs", "spread"
    return Row(f"{name}({workers})", [kind, str(workers)], ["ps", str(workers), mode], exact(expected), **more)


def ring(ranks, **more):
    topology = f"single-switch:hosts={ranks},bandwidth=12.5GB/s,latency=1us"
    ours = ["collective", "all_reduce", "--topology", topology, "--ranks", "all", "-b", str(BYTES), "-e", str(BYTES),
            "--algorithm", "ring", "--fidelity", "stepwise", "--format", "json"]
    # The largest chunk, in whole bytes or in whole elements of four.
    chunks = {math.ceil(BYTES / ranks), 4 * math.ceil(BYTES / 4 / ranks)}
    expected = [exact(2 * (ranks - 1) * (2 * LATENCY + chunk / BANDWIDTH))[0] for chunk in sorted(chunks)]
    return Row(f"R({ranks})", ours, ["ring", str(ranks)], expected, **more)


def rows():
    reduced = {"modes": "reduced", "peer_modes": ""}
    long = {"peer_modes": "full"}
    return [
        ring(8, **reduced),
        ring(256),
        ring(1024, target=">= 60 x, >= 8 M messages/s"),
        ring(4096, target=">= 100 x, <= 64 MiB", **long),
        server("pse", 64, **reduced),
        server("pss", 64, **reduced),
        server("pse", 4096),
        server("pss", 4096, target=">= 200 x"),
        fat_tree(1000, "uniform", 0, digits(0.030792765), (0.009416044, 0.5e-9), modes="reduced", peer_modes=""),
        fat_tree(5000, "uniform", 0, digits(0.059985544), (0.022206956, 0.5e-9)),
        fat_tree(10000, "uniform", 256, digits(0.266313430), (0.128896595, 0.5e-9)),
        fat_tree(10000, "uniform", 1024, digits(0.126990349), (0.058251302, 0.5e-9), target=">= 250 x"),
        fat_tree(10000, "equal", 0, digits(0.0168), (0.010103384, 0.5e-9), **long),
        fat_tree(10000, "uniform", 0, digits(0.101018616), (0.036566268, 0.5e-9), target=">= 800 x", **long),
        # Chaotic: a unit in the last place of a capacity moves it by 2e-6.
        fat_tree(100000, "uniform", 1024, [(1.127925, 2e-5)], (0.5603066, 3e-6), target=">= 250 x", **long),
        fat_tree(100000, "uniform", 0, [(0.567071473, 1e-6)], (0.279475054, 1e-6), target="<= 40 s", peer_modes=""),
        # 8 flows over 256 links, across them 256 chains of short flows over 8 links: every link is shared by two, so
        # each of the 391 rounds takes 4 MB at half of 50 GB/s.
        Row("8 rings of 256 links, 100000 flows", ["rings", "100000"], [], exact(391 * 4e6 / 25e9), target="< 1 s",
            peer_modes=""),
        Row("8 rings of 256 links, 2560 flows", ["rings", "2560"], [], exact(10 * 4e6 / 25e9), **reduced),
    ]


def run_pinned(command):
    """Standard output, standard error, CPU and wall seconds, peak MiB of a process kept on one core."""
    core = max(os.sched_getaffinity(0))
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=out, stderr=err, preexec_fn=lambda: os.sched_setaffinity(0, {core}))
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        texts = out.read(), err.read()
    return process.returncode, *texts, usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def measure_ours(row, options):
    """Measured, or why not."""
    if row.ours[0] != "collective":
        status, out, err, *_ = run_pinned([options.scenario, *row.ours])
        if status != 0:
            sys.exit(f"{row.name}: the scenario program ended with status {status}\n{err}")
        result, mean, seconds, peak = map(float, out.split())
        return Measured(seconds, result, mean, peak)
    status, out, err, cpu, _, peak = run_pinned([options.program, *row.ours])
    if status == 2:
        return (err.strip().splitlines() or ["this twinrun has no such verb"])[0]
    if status != 0:
        sys.exit(f"{row.name}: twinrun ended with status {status}\n{err}")
    return Measured(cpu, json.loads(out)["rows"][0]["time_s"], 0, peak)


def peer_run(binary, row):
    status, out, err, cpu, wall, peak = run_pinned([str(binary / row.peer[0]), *row.peer[1:]])
    if status != 0:
        sys.exit(f"{row.name}: SimGrid's program ended with status {status}\n{err}")
    figures = dict(re.findall(r"(\w+)=([-+.\de]+)", out))
    return Measured(float(figures["run_wall_s"]) * min(1, cpu / wall), float(figures["sim_s"]), 0, peak)


def measure_peer(binary, row):
    runs = [peer_run(binary, row)]
    while runs[0].seconds < 1 and len(runs) < 3:
        runs.append(peer_run(binary, row))
    runs[0].seconds = statistics.median(run.seconds for run in runs)
    return runs[0]


def build_peer(folder):
    """Why SimGrid cannot be run, or nothing; its programs are in the folder then."""
    if not PEER_SOURCES.is_dir():
        return "the folder with its programs is not beside this checkout"
    compiler = os.environ.get("CXX") or shutil.which("g++") or "c++"
    for program in ("fattree", "ps", "ring"):
        done = subprocess.run([compiler, "-O2", "-std=c++17", str(PEER_SOURCES / f"{program}.cpp"), "-lsimgrid", "-o",
                               str(folder / program)], capture_output=True, text=True)
        if done.returncode != 0:
            return "its programs do not build (is libsimgrid-dev installed?): " + done.stderr.strip().split("\n")[0]
    return None


def verdict(row, ours):
    if not any(abs(ours.result_s - value) <= error for value, error in row.expected):
        return f"NO, {row.expected[0][0]:.9f}"
    if row.mean and abs(ours.mean_s - row.mean[0]) > row.mean[1]:
        return f"NO, mean {ours.mean_s:.9f}"
    return "yes"


def line_of(row, mode, binary, options, notes):
    """Cells, and whether the result is right; adds to the notes."""
    ours = measure_ours(row, options)
    wants_peer = binary is not None and mode in row.peer_modes.split()
    peer = measure_peer(binary, row) if wants_peer else None
    peer_cell = f"{peer.seconds:.3f}" if peer else "BENCH=full" if row.peer_modes == "full" and mode == "quick" else "-"
    if isinstance(ours, str):
        notes.append(f"{row.name} is not available here: {ours}")
        return [row.name, "-", peer_cell, "-", row.target, "-", "not available", "-"], True
    ratio = f"{peer.seconds / ours.seconds:.0f} x" if peer else "-"
    right = verdict(row, ours)
    return [row.name, f"{ours.seconds:.4f}", peer_cell, ratio, row.target, f"{ours.peak_mib:.0f}",
            f"{ours.result_s:.9f}", right], right == "yes"


def print_table(header, lines):
    widths = [max(len(line[i]) for line in [header, *lines]) for i in range(len(header))]
    left = {0, 4, 6, 7}
    for line in [header, ["-" * width for width in widths], *lines]:
        cells = [cell.ljust(width) if i in left else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(line, widths))]
        print("  ".join(cells).rstrip())


def show_progress(text):
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mode", choices=("quick", "full", "reduced"))
    parser.add_argument("--scenario", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        binary, why_not = pathlib.Path(folder), None
        if options.mode != "reduced":
            why_not = build_peer(binary)
        chosen = [row for row in rows() if options.mode in row.modes.split() and options.only in row.name]
        lines, notes, all_right = [], [], True
        for row in chosen:
            show_progress(f"{row.name} …")
            cells, is_right = line_of(row, options.mode, None if why_not else binary, options, notes)
            lines.append(cells)
            all_right = all_right and is_right
        show_progress("")
    print_table(["scenario", "twinrun s", "SimGrid s", "ratio", "target", "peak MiB", "result s", "as expected"], lines)
    print("\nCPU seconds of the simulation without building the platform; R: our whole process. One core.")
    if why_not:
        notes.append(f"SimGrid was not run: {why_not}")
    for note in notes:
        print(note)
    return 0 if all_right else 1


if __name__ == "__main__":
    sys.exit(main())
