#!/usr/bin/env python3
"""Our ring over shared memory beside Open MPI's MPI_Allreduce and Gloo, on this machine.

  compare_allreduce.py FOLDER-OF-THE-PROGRAMS [--mib 64] [--ranks 2,4] [--rounds 5] [--repetitions 6]

Each round runs every program once, so that what else the machine does meets all of them; the first repetition of a run
warms up and is not counted. The middle of all counts, and the quickest. Programs of libraries that are not there are
left out and named. Exit status 1 when a sum is wrong.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys

PEERS = {"ring": "twinrun", "mpi": "Open MPI", "gloo": "Gloo"}


def launcher(name, ranks):
    """Of nine settings for mpirun this was the quickest on a busy machine of two cores."""
    if name != "mpi":
        return []
    return ["mpirun", "-n", str(ranks), "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"]


def absent(folder, name):
    if not (folder / f"{name}_allreduce").exists():
        return "not built: its library was not found"
    return "no mpirun" if name == "mpi" and not shutil.which("mpirun") else None


def seconds(folder, name, ranks, mib, repetitions):
    command = [*launcher(name, ranks), folder / f"{name}_allreduce", str(ranks), str(mib), str(repetitions + 1)]
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | as_root)
    if done.returncode != 0:
        sys.exit(f"{PEERS[name]}: {done.stderr.strip() or f'ended with {done.returncode}'}")
    return [float(line) for line in done.stdout.split()][1:]


def print_table(times):
    ours = statistics.median(times["ring"])
    print(f"  {'':10}{'median ms':>11}{'quickest ms':>13}{'ours is':>12}")
    for name, all_of_it in times.items():
        middle = statistics.median(all_of_it)
        ratio = f"{middle / ours:8.2f} x" if name != "ring" else ""
        print(f"  {PEERS[name]:10}{middle * 1e3:11.2f}{min(all_of_it) * 1e3:13.2f}{ratio:>12}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--mib", type=int, default=64)
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--repetitions", type=int, default=6)
    given = parser.parse_args()
    missing = {name: reason for name in PEERS if (reason := absent(given.folder, name))}
    for name, reason in missing.items():
        print(f"{PEERS[name]} is left out: {reason}")
    for ranks in map(int, given.ranks.split(",")):
        times = {name: [] for name in PEERS if name not in missing}
        for _ in range(given.rounds):
            for name in times:
                times[name] += seconds(given.folder, name, ranks, given.mib, given.repetitions)
        print(f"all-reduce of {given.mib} MiB over {ranks} ranks, the middle of {given.rounds * given.repetitions}:")
        print_table(times)


if __name__ == "__main__":
    main()
