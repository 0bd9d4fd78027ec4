#!/usr/bin/env python3
"""No file of ours names a place on somebody's machine: what works only there must not be committed.

  check_paths.py [--root DIR] | --self-test
"""

import pathlib
import re
import sys
import tempfile

import tree

MACHINE_PATH = re.compile(r"(?<![\w.:/$}-])/(?:work|root|Users|home/\w+)/[\w.-]*")
BINARY = (".png", ".gz", ".et", ".pb", ".woff2", ".ico")


def check(root):
    root = pathlib.Path(root)
    problems = []
    for path in tree.our_files(root):
        if path.suffix in BINARY:
            continue
        text = (root / path).read_text(encoding="utf-8", errors="replace")
        for found in MACHINE_PATH.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            problems.append(f"{path}:{line}: names the machine's own {found.group()}")
    return problems


def self_test():
    bad = "/" + "work/main"  # put together here, so that this file passes its own check
    cases = [(f"cd {bad}", True), (f'"{bad}"', True), (f"\n\n{bad}", True),
             ("cd $HOME/" + "work/main", False), ("see https://example.com/" + "work/it", False),
             ("frame" + bad, False), ("/usr/share/doc", False)]
    problems = []
    for text, caught in cases:
        with tempfile.TemporaryDirectory() as scratch:
            (pathlib.Path(scratch) / "notes.md").write_text(text)
            if bool(check(scratch)) != caught:
                problems.append(f"{text!r}: expected {'a complaint' if caught else 'none'}")
    return problems


if __name__ == "__main__":
    sys.exit(tree.run_check(__doc__, check, self_test, "Write it relative to the repository, or ask the environment."))
