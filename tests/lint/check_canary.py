#!/usr/bin/env python3
"""The lint works: clang-tidy, with our config, reports exactly the five checks that canary.cc breaks."""

import pathlib
import re
import shutil
import subprocess
import sys

import tree

EXPECTED = {
    "cppcoreguidelines-virtual-class-destructor",
    "performance-unnecessary-value-param",
    "readability-braces-around-statements",
    "readability-container-size-empty",
    "readability-identifier-naming",
}


def main():
    if not shutil.which("clang-tidy"):
        print("skipped: clang-tidy is not installed")
        return tree.SKIP
    canary = pathlib.Path(__file__).resolve().with_name("canary.cc")
    run = subprocess.run(["clang-tidy", "--quiet", canary, "--", "-std=c++20"], capture_output=True, text=True)
    reported = set(re.findall(r"error: .*\[([\w.-]+),-warnings-as-errors\]", run.stdout))
    problems = [f"{name} was not reported" for name in sorted(EXPECTED - reported)]
    problems += [f"{name} was reported, unexpected" for name in sorted(reported - EXPECTED)]
    if run.returncode == 0:
        problems.append("clang-tidy succeeded on a file full of mistakes")
    return tree.report(problems, "Something in .clang-tidy switched checks off or on:\n" + run.stdout + run.stderr)


if __name__ == "__main__":
    sys.exit(main())
