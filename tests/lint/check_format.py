#!/usr/bin/env python3
"""Our C++ files are as clang-format writes them.

  check_format.py [--root DIR] | --self-test
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tree

VERSION = "14."  # versions differ in taste, so only the one that .clang-format was written for decides


def clang_format_missing():
    if not shutil.which("clang-format"):
        return "clang-format is not installed"
    said = subprocess.run(["clang-format", "--version"], capture_output=True, text=True).stdout.strip()
    return None if f"version {VERSION}" in said else f"needs clang-format {VERSION}x, found: {said}"


def check(root):
    files = [pathlib.Path(root) / path for path in tree.our_files(root, ".h", ".cc", ".cu")]
    if not files:
        return ["no C++ files found: the check would check nothing"]
    run = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], capture_output=True, text=True)
    lines = [line for line in run.stderr.splitlines() if ": error: " in line]
    return lines or ([run.stderr] if run.returncode else [])


def self_test(root):
    problems = []
    for text, caught in [("int main() { return 0; }\n", False), ("int  main(){return 0 ;}\n", True)]:
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copy(pathlib.Path(root) / ".clang-format", scratch)
            (pathlib.Path(scratch) / "a.cc").write_text(text)
            if bool(check(scratch)) != caught:
                problems.append(f"{text!r}: expected {'a complaint' if caught else 'none'}")
    return problems


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    arguments.add_argument("--self-test", action="store_true")
    given = arguments.parse_args()
    missing = clang_format_missing()
    if missing:
        print(f"skipped: {missing}")
        return tree.SKIP
    if given.self_test:
        return tree.report(self_test(given.root), "The check itself is wrong.")
    return tree.report(check(given.root), "Run: make format")


if __name__ == "__main__":
    sys.exit(main())
