#!/usr/bin/env python3
"""clang-tidy over the product's files in a build folder's compile_commands.json, a few at a time.

  run_tidy.py [-j N] BUILD [PART-OF-PATH…]    such as: run_tidy.py build/dev core/base

In a build folder whose targets are compiled several files at once (build/release) so is the lint, which
then parses each header once for all of them and needs a third of the time.

Without a part it looks at everything but tests/: those are written against GoogleTest's macros, which
clang-tidy understands slowly and poorly, and would double the time.

A file that was clean is not looked at again until its preprocessed text or .clang-tidy changes: preprocessing
takes a tenth of the time. BUILD/tidy-clean/ holds one empty file for each such text.
"""

import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]


def fingerprint(command):
    """Of all that decides what clang-tidy says about the file; -C keeps comments, for NOLINT."""
    words = shlex.split(command["command"]) if "command" in command else command["arguments"]
    if "-o" in words:
        del words[words.index("-o"):words.index("-o") + 2]
    run = subprocess.run([*words, "-E", "-C"], cwd=command["directory"], capture_output=True)
    config = (ROOT / ".clang-tidy").read_bytes()
    version = subprocess.run(["clang-tidy", "--version"], capture_output=True).stdout
    return hashlib.sha256(b"\0".join([run.stdout, run.stderr, config, version])).hexdigest()


def lint(build, path, command):
    start = time.monotonic()
    clean = build / "tidy-clean" / fingerprint(command)
    if clean.exists():
        return path, 0, "", time.monotonic() - start
    # The commands are g++'s: it has warnings to switch off that clang has never heard of. Several files as one
    # means a file that includes .cc files. Debug checks stay on: they tell the analyzer what cannot be.
    several = ["--checks=-bugprone-suspicious-include"] if path.parent.name == "Unity" else []
    flags = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-UNDEBUG", *several]
    run = subprocess.run(["clang-tidy", "--quiet", *flags, "-p", build, path], capture_output=True, text=True)
    if run.returncode == 0:
        clean.touch()
    # stderr only counts the warnings suppressed in other people's headers, unless clang-tidy itself broke.
    said = run.stdout if run.stdout.strip() else run.stderr
    return path, run.returncode, said, time.monotonic() - start


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("-j", type=int, default=os.cpu_count())
    arguments.add_argument("build", type=pathlib.Path)
    arguments.add_argument("only", nargs="*")
    given = arguments.parse_args()

    commands = json.loads((given.build / "compile_commands.json").read_text())
    files = {pathlib.Path(command["directory"], command["file"]).resolve(): command for command in commands}
    build = given.build.resolve()
    ours = sorted(file for file in files if ROOT / "build" not in file.parents or file.parent.name == "Unity")
    ours = [file for file in ours if file.suffix != ".cu"]  # clang 14 knows neither nvcc's options nor CUDA 13
    ours = [file for file in ours if "co_await" not in file.read_text()]  # clang 14 cannot read GCC 12's <coroutine>
    if given.only:
        ours = [file for file in ours if any(part in str(file) for part in given.only)]
    else:
        ours = [file for file in ours if ROOT / "tests" not in file.parents and build / "tests" not in file.parents]
    if not ours:
        print(f"no file of ours in {given.build}/compile_commands.json: nothing would be checked")
        return 1

    (given.build / "tidy-clean").mkdir(exist_ok=True)
    failed, seconds = 0, []
    with concurrent.futures.ThreadPoolExecutor(given.j) as pool:
        for path, status, said, took in pool.map(lambda file: lint(given.build, file, files[file]), ours):
            seconds.append((took, path.relative_to(ROOT)))
            if status != 0:
                failed += 1
                print(said, flush=True)
    slowest = ", ".join(f"{path} {took:.0f} s" for took, path in sorted(seconds, reverse=True)[:3])
    print(f"clang-tidy: {len(ours)} files, {failed} with findings; slowest: {slowest}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
