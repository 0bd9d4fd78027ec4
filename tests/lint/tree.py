"""Which files are ours: those git tracks or would track, or a plain walk where there is no git."""

import argparse
import os
import pathlib
import subprocess

SKIP = 77  # the exit status ctest counts as "skipped"; the reason is printed


def our_files(root, *suffixes):
    """Paths relative to root, sorted; all files when no suffix is given."""
    root = pathlib.Path(root)
    listed = None
    if (root / ".git").exists():
        git = subprocess.run(["git", "-C", root, "ls-files", "-z", "-co", "--exclude-standard"],
                             capture_output=True, text=True)
        if git.returncode == 0:
            listed = [name for name in git.stdout.split("\0") if name]
    if listed is None:
        listed = []
        for folder, folders, files in os.walk(root):
            folders[:] = [name for name in folders if name not in ("build", ".git", "__pycache__")]
            listed += [os.path.relpath(os.path.join(folder, name), root) for name in files]
    return sorted(pathlib.PurePosixPath(name) for name in listed
                  if (not suffixes or name.endswith(suffixes)) and (root / name).is_file())


def report(problems, fix):
    """Prints what is wrong and what to do; the exit status."""
    for problem in problems:
        print(problem)
    if problems:
        print(f"{len(problems)} problem(s). {fix}")
    return 1 if problems else 0


def run_check(description, check, self_test, fix):
    """The command line of a check: the tree, or the planted mistakes it must see."""
    arguments = argparse.ArgumentParser(description=description)
    arguments.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    arguments.add_argument("--self-test", action="store_true")
    given = arguments.parse_args()
    if given.self_test:
        return report(self_test(), "The check itself is wrong.")
    return report(check(given.root), fix)
