#!/usr/bin/env python3
"""The closed loop: measure this machine once, then predict runs that the measuring never saw, then run them.

  closed_loop.py --program TWINRUN [--out build/closed-loop] [--probe MPI_PROBE] [calibrate] [cpu] [testbed] [table]

Without names all parts run, one after the other; each keeps what it found in the folder, so that they can be run by
themselves. testbed needs root, and is left out with a printed reason where hosts cannot be made. Nothing is fitted to the
cases: `twinrun calibrate` knows its own products, copies, messages and sums alone.
"""

import argparse
import json
import pathlib
import statistics
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "testbed"))

import cases  # noqa: E402
import hosts  # noqa: E402
import others  # noqa: E402

PARTS = ("calibrate", "cpu", "testbed", "table")
ROUNDS = 3
# Of a core. A round beside more is no measurement; it is repeated, and after so many tries the quietest are taken.
MOST_OF_OTHERS = 0.1
MOST_TRIES = 6
# A virtual machine that begins to wake threads takes a tenth of a second to get quick at it.
STEPS, WARMUP_STEPS = 120, 30


class Failed(Exception):
    """A command that was needed; the text is what it said."""


def output(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))}\n{done.stderr.strip()}")
    return done.stdout


def write_json(file, value):
    file.write_text(json.dumps(value, indent=1) + "\n")


def calibrate(given):
    with others.watched() as watch:
        print(output(given.program, "calibrate", "--backend", "cpu", "-o", given.out / "machine.json", "--force"))
    if watch.share > MOST_OF_OTHERS:
        print(f"others took {watch.share:.1f} of a core meanwhile: what was measured is theirs too")


# ---- threads of this machine ----

def simulated_s(given, job):
    return json.loads(output(given.program, "simulate", job, "--steps", 5, "--format", "json"))["step_s"]


def executed_s(given, job):
    """The steps of one run, in seconds."""
    done = output(given.program, "execute", job, "--backend", "cpu", "--steps", STEPS, "--warmup-steps", WARMUP_STEPS, "--format",
                  "json", "--out", job.with_suffix(""), "--force")
    return json.loads(done)["step_s_each"]


def quiet_rounds(row):
    return [one for one in row["rounds"] if one[0] <= MOST_OF_OTHERS]


def measured(row):
    """The median of the quietest rounds, and how much others had of the machine meanwhile."""
    best = sorted(row["rounds"])[:ROUNDS]
    return {"measured_s": statistics.median(seconds for _, seconds in best), "others": max(share for share, _ in best)}


def cpu(given):
    """Predicts every case, and then runs them in rounds, so that a slow spell of the machine meets all of them."""
    folder = given.out / "cpu"
    folder.mkdir(exist_ok=True)
    rows = []
    for case in cases.cpu_cases(given.out / "machine.json"):
        file = folder / f"{case['file']}.json"
        write_json(file, case["job"])
        rows.append({"case": case["name"], "file": file, "predicted_s": simulated_s(given, file), "rounds": []})
    for _ in range(MOST_TRIES):
        for row in rows:
            if len(quiet_rounds(row)) < ROUNDS:
                with others.watched() as watch:
                    steps = executed_s(given, row["file"])
                row["rounds"].append((watch.share, statistics.median(steps)))
    write_json(given.out / "cpu.json", [{"case": row["case"], "predicted_s": row["predicted_s"], **measured(row)} for row in rows])


def testbed(given):
    rows = hosts.measure(given)
    if rows:
        write_json(given.out / "testbed.json", rows)


# ---- the table ----

def error_pct(row):
    return 100 * (row["predicted_s"] / row["measured_s"] - 1)


def print_rows(rows):
    width = max(len(row["case"]) for row in rows)
    print(f"{'case':{width}}  predicted ms  measured ms  error %")
    for row in rows:
        print(f"{row['case']:{width}}{row['predicted_s'] * 1e3:14.3f}{row['measured_s'] * 1e3:13.3f}{error_pct(row):+9.1f}")


def print_summary(rows):
    sizes = [abs(error_pct(row)) for row in rows]
    worst = max(rows, key=lambda row: abs(error_pct(row)))
    disturbed = sum(row.get("others", 0) > MOST_OF_OTHERS for row in rows)
    if disturbed:
        print(f"{disturbed} of the runs were beside others that took more than {MOST_OF_OTHERS:.0%} of a core")
    print(f"{len(rows)} runs: median error {statistics.median(sizes):.1f} %, worst {error_pct(worst):+.1f} % ({worst['case']})")


def print_winners(rows):
    """Of each network, who was first and who was said to be."""
    groups = {}
    for row in rows:
        groups.setdefault(row["network"], []).append(row)
    right = 0
    for network, ways in groups.items():
        first = [min(ways, key=lambda row: row[key])["way"] for key in ("predicted_s", "measured_s")]
        right += first[0] == first[1]
        print(f"{network}: fastest predicted {first[0]}, measured {first[1]}")
    print(f"winner right in {right} of {len(groups)}")


def table(given):
    rows = []
    for name in ("cpu", "testbed"):
        file = given.out / f"{name}.json"
        if not file.exists():
            continue
        found = json.loads(file.read_text())
        print(f"\n{name}")
        print_rows(found)
        if name == "testbed":
            print_winners(found)
        print_summary(found)
        rows += found
    if rows:
        print("\nall together")
        print_summary(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--probe", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--out", default="build/closed-loop", type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("parts", nargs="*", default=PARTS, metavar="PART", help=" ".join(PARTS))
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for part in given.parts:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}")
        globals()[part](given)


if __name__ == "__main__":
    main()
