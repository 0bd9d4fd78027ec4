#!/usr/bin/env python3
"""Every diagnostic code that the sources name is explained in core/base/diagnostic_codes.cc, and every
explained one is used: `twinrun explain CODE` never says "unknown", and explains nothing that cannot happen.

  check_codes.py [--root DIR] | --self-test
"""

import pathlib
import re
import sys
import tempfile

import tree

TABLE = "core/base/diagnostic_codes.cc"
FOLDERS = ("core/", "cli/", "sim/", "exec/", "report/")
CODE = re.compile(r'"([EW]\d{4})"')
ROW = re.compile(r'DiagnosticCode\{\s*"([EW]\d{4})"')
ARRIVING = {"E0207"}  # explained ahead of its first use; remove with that use


def check(root):
    root = pathlib.Path(root)
    rows = ROW.findall((root / TABLE).read_text(encoding="utf-8"))
    problems = [f"{TABLE}: {code} is there twice" for code in sorted(set(rows)) if rows.count(code) > 1]
    used = {}
    for path in tree.our_files(root, ".h", ".cc", ".cu"):
        if str(path).startswith(FOLDERS) and str(path) != TABLE:
            for code in CODE.findall((root / path).read_text(encoding="utf-8")):
                used.setdefault(code, path)
    problems += [f"{used[code]}: {code} is not explained in {TABLE}" for code in sorted(set(used) - set(rows))]
    problems += [f"{TABLE}: nothing uses {code}" for code in sorted(set(rows) - set(used) - ARRIVING)]
    return problems


def self_test():
    cases = [  # rows of the table, what a source says, what the check must say
        (["E0101"], '"E0101"', None),
        (["E0101"], "// as E0999 was", "nothing uses E0101"),
        (["E0101"], '"E0101" "W0301"', "sim/a.cc: W0301 is not explained"),
        (["E0101", "E0101"], '"E0101"', "twice"),
    ]
    problems = []
    for rows, source, expected in cases:
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            (root / TABLE).parent.mkdir(parents=True)
            (root / TABLE).write_text("\n".join(f'DiagnosticCode{{\n  "{row}"}},' for row in rows))
            (root / "sim").mkdir()
            (root / "sim/a.cc").write_text(source)
            said = check(root)
            if (expected is None and said) or (expected and not (len(said) == 1 and expected in said[0])):
                problems.append(f"{rows} and {source}: expected {expected!r}, got {said}")
    return problems


if __name__ == "__main__":
    sys.exit(tree.run_check(__doc__, check, self_test, "Add the row, or remove what nothing can say any more."))
