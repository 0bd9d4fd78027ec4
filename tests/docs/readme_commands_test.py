#!/usr/bin/env python3
"""Every command in README.md works, and prints what the README shows.

Commands are all lines of ```sh blocks, and the lines after "$ " in ```console blocks, where the lines that
follow are the expected output ("…" alone on a line stands for any lines). A block headed ```console exit=3
shows an error on purpose. They run in order in one scratch folder that sees the program as `twinrun` and
`build/release/twinrun`, and the repository's data folders. `make X` is checked by name only: this test runs
inside `make test`.

  readme_commands_test.py --root DIR --program build/release/twinrun | --self-test
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SKIP = 77
PROGRESS = re.compile(r" · (eta )?\d+s$")  # told after ten seconds, which only sanitizers take
DATA = ("topologies", "models", "jobs", "traces")
RUN = ("twinrun", "build/release/twinrun", "cat", "echo", "head", "ls", "cp", "mkdir", "export")
NOT_RUN = ("git", "cd", "sudo", "cmake", "conan")  # they get or build the tree that we are already in


def commands(text):
    """(line number, command, expected output or None, expected exit status) in file order."""
    found, fence, status, pending = [], None, 0, ""
    for number, line in enumerate(text.splitlines(), 1):
        opening = re.match(r"```(\w*)(?: exit=(\d+))?\s*$", line)
        if opening:
            fence = opening.group(1) if fence is None else None
            status = int(opening.group(2) or 0)
            continue
        is_command = fence == "sh" or (fence == "console" and (pending or line.startswith("$ ")))
        if is_command:
            part = line[2:] if fence == "console" and line.startswith("$ ") else line.strip()
            pending += part
            if pending.endswith("\\"):  # goes on in the next line
                pending = pending[:-1]
                continue
            command = re.sub(r"\s#.*", "", " " + pending).strip()
            pending = ""
            if command:
                found.append((number, command, [] if fence == "console" else None, status))
        elif fence == "console" and found and found[-1][2] is not None:
            found[-1][2].append(line)
    return found


def same(shown, printed):
    """Lines are equal but for blanks at the end; "…" matches any number of them."""
    pattern = "".join(r"(?:.*\n)*?" if line.strip() == "…" else re.escape(line.rstrip()) + r"\n" for line in shown)
    text = "".join(line.rstrip() + "\n" for line in printed)
    return re.fullmatch(pattern, text.rstrip("\n") + "\n" if text.strip() else "") is not None


def check_make(root, words):
    makefile = (root / "Makefile").read_text()
    targets = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
    return [f"the Makefile has no target {target}" for target in targets
            if not re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE)]


def run(command, expected, status, scratch):
    environment = dict(os.environ, PATH=f"{scratch}/build/release:{os.environ['PATH']}", NO_COLOR="1",
                       COLUMNS="100", LC_ALL="C.UTF-8")
    done = subprocess.run(["bash", "-euc", command], cwd=scratch, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    if done.returncode != status:
        return [f"exit status {done.returncode}, expected {status}:\n{done.stdout}"]
    while expected and not expected[-1].strip():
        expected.pop()
    printed = [line for line in done.stdout.splitlines() if not PROGRESS.search(line)]
    if expected is not None and not same(expected, printed):
        return ["the README shows:\n" + "\n".join(expected) + f"\nbut it prints:\n{done.stdout}"]
    return []


def check(root, program):
    root = pathlib.Path(root)
    problems, ran = [], 0
    with tempfile.TemporaryDirectory() as scratch:
        release = pathlib.Path(scratch, "build/release")
        release.mkdir(parents=True)
        (release / "twinrun").symlink_to(pathlib.Path(program).resolve())
        for folder in DATA:
            if (root / folder).is_dir():
                pathlib.Path(scratch, folder).symlink_to(root.resolve() / folder)
        for number, command, expected, status in commands((root / "README.md").read_text(encoding="utf-8")):
            words = command.split()
            if words[0] == "make":
                said = check_make(root, words)
            elif words[0].removeprefix("./") in RUN:
                said = run(command, expected, status, scratch)
                ran += 1
            elif words[0] in NOT_RUN:
                said = []
            else:
                said = ["this test does not know how to run it"]
            problems += [f"README.md:{number}: {command}\n{one}" for one in said]
    return problems, ran


def self_test():
    cases = [  # README, what the test must say
        ("```console\n$ twinrun hello\nhello\n```", None),
        ("```console\n$ twinrun a b\n…\nb\n```", None),
        ("```sh\ngit clone somewhere\ntwinrun x   # says x\nmake demo\n```", None),
        ("```sh\ntwinrun a | \\\n  head -n 1\n```", None),
        ("```console exit=3\n$ twinrun fail\n```", None),
        ("```text\n$ no such thing\n```", None),
        ("```console\n$ twinrun hello\nhullo\n```", "but it prints:\nhello"),
        ("```console\n$ twinrun a b\na\n```", "but it prints"),
        ("```sh\ntwinrun fail\n```", "exit status 3, expected 0"),
        ("```sh\nmake coffee\n```", "no target coffee"),
        ("```sh\nfrobnicate\n```", "does not know how to run"),
    ]
    problems = []
    for readme, expected in cases:
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            (root / "README.md").write_text(readme, encoding="utf-8")
            (root / "Makefile").write_text("demo:\n")
            program = root / "program"
            program.write_text('#!/bin/sh\n[ "$1" != fail ] || exit 3\nprintf "%s\\n" "$@"\n')
            program.chmod(0o755)
            said, _ = check(root, program)
            if (expected is None and said) or (expected and not (len(said) == 1 and expected in said[0])):
                problems.append(f"{readme!r}: expected {expected!r}, got {said}")
    return problems


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    arguments.add_argument("--root", type=pathlib.Path)
    arguments.add_argument("--program", type=pathlib.Path)
    arguments.add_argument("--self-test", action="store_true")
    given = arguments.parse_args()
    if given.self_test:
        problems = self_test()
    elif not (given.root / "README.md").exists():
        print("skipped: there is no README.md")
        return SKIP
    else:
        problems, ran = check(given.root, given.program)
        print(f"ran {ran} commands of README.md")
    print("\n".join(problems))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
