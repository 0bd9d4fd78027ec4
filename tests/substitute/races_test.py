#!/usr/bin/env python3
"""Runs every case of races.cc twice: complete, where ThreadSanitizer must be silent, and with one piece of the order
forgotten, where it must report a race although the numbers come out right; then once more with the library's own locks
visible, where it must find nothing in the library.

  races_test.py PROGRAM
"""

import concurrent.futures
import os
import subprocess
import sys

RACE = "WARNING: ThreadSanitizer: data race"
FOUND = 66  # the sanitizer's exit status when it has reported something


def run(program, *arguments, **environment):
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=120,
                          env=os.environ | {"TSAN_OPTIONS": f"exitcode={FOUND} atexit_sleep_ms=0"} | environment)
    return done.returncode, done.stdout + done.stderr


def check(name, program):
    problems = []
    status, said = run(program, name)
    if status != 0:
        problems.append(f"{name}: complete, but status {status}:\n{said}")
    status, said = run(program, name, "forget")
    value = next((line for line in said.splitlines() if line.startswith(f"{name}: ")), "")
    numbers = value.replace(",", "").split()
    if status != FOUND or RACE not in said:
        problems.append(f"{name}: a piece is forgotten and nothing was reported (status {status}):\n{said}")
    elif len(numbers) < 4 or numbers[1] != numbers[3]:
        problems.append(f"{name}: the numbers should come out right: {value}")
    status, said = run(program, name, TWINRUN_SUBSTITUTE_TSAN="self")
    if status != 0:
        problems.append(f"{name}: the library itself has a race, status {status}:\n{said}")
    return problems


def main():
    program = sys.argv[1]
    names = run(program)[1].split()
    if len(names) < 10:
        print(f"only {len(names)} cases: {names}")
        return 1
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [problem for found in pool.map(lambda name: check(name, program), names) for problem in found]
    for problem in problems:
        print(problem)
    print(f"{len(names)} cases, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
