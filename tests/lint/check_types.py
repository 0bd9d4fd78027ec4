#!/usr/bin/env python3
"""The page's TypeScript has no type error: `tsc` in strict mode. esbuild, which bundles it, only drops the types.

  check_types.py [--root DIR] | --self-test
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import tree

PAGE = "report/page"


def check(root):
    compiler = shutil.which("tsc")
    if compiler is None:
        print("skipped: tsc is not there; Debian's package is node-typescript")
        sys.exit(tree.SKIP)
    run = subprocess.run([compiler, "--project", str(pathlib.Path(root) / PAGE), "--pretty", "false"],
                         capture_output=True, text=True)
    return run.stdout.splitlines() + run.stderr.splitlines() if run.returncode != 0 else []


def self_test():
    root = pathlib.Path(__file__).resolve().parents[2]
    planted = {"wrong.ts": ("const length: number = 'three';\nexport {};\n", "TS2322"),
               "null.ts": ("export function f(a: string | null): number { return a.length; }\n", "TS2531"),
               "unused.ts": ("export function g(unused: number): void {}\n", "TS6133"),
               "fine.ts": ("export const fine: number = 3;\n", None)}
    with tempfile.TemporaryDirectory() as scratch:
        page = pathlib.Path(scratch) / PAGE
        page.mkdir(parents=True)
        shutil.copy(root / PAGE / "tsconfig.json", page)
        for name, (text, _) in planted.items():
            (page / name).write_text(text)
        said = check(scratch)
    problems = []
    for name, (_, code) in planted.items():
        about = [line for line in said if name in line]
        if not (any(code in line for line in about) if code else not about):
            problems.append(f"{name}: expected {code}, got {about}")
    return problems


if __name__ == "__main__":
    sys.exit(tree.run_check(__doc__, check, self_test, "See the same with: tsc --project report/page"))
