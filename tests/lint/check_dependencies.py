#!/usr/bin/env python3
"""Conan, Debian and CMake name the same dependencies: every package of conanfile.txt has a find_package, a
Debian package in cmake/debian-packages.txt and a version in conan/profiles/debian, and the other way round.

  check_dependencies.py [--root DIR] | --self-test
"""

import argparse
import pathlib
import re
import shutil
import sys
import tempfile

import tree

CONANFILE = "conanfile.txt"
PROFILE = "conan/profiles/debian"
DEBIAN = "cmake/debian-packages.txt"


def conan_names(text, sections):
    names, section = set(), None
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line.startswith("["):
            section = line
        elif section in sections and "/" in line:
            names.add(line.split("/")[0])
    return names


def check(root):
    root = pathlib.Path(root)
    conan = conan_names((root / CONANFILE).read_text(), ("[requires]", "[test_requires]"))
    profile = conan_names((root / PROFILE).read_text(), ("[platform_requires]",))
    debian = set(re.findall(r"conan: *(\w+)", (root / DEBIAN).read_text())) - {"NAME"}
    cmake = set()
    for path in tree.our_files(root, "CMakeLists.txt", ".cmake"):
        found = re.findall(r"^\s*find_package\((\w+)", (root / path).read_text(), re.MULTILINE)
        cmake |= {name.lower() for name in found}
    problems = []
    for name in sorted(conan | profile | debian):
        places = [(conan, CONANFILE), (profile, PROFILE), (debian, DEBIAN)]
        problems += [f"{name} is missing in {file}" for names, file in places if name not in names]
        if name not in cmake:
            problems.append(f"{name} has no find_package in any CMake file")
    return problems


def self_test(root):
    cases = [  # file, what to change there, what the check must say
        (CONANFILE, (r"^fmt/.*\n", ""), "fmt is missing in conanfile.txt"),
        (DEBIAN, (r"conan: fmt", ""), "fmt is missing in cmake/debian-packages.txt"),
        (PROFILE, (r"^fmt/.*\n", ""), "fmt is missing in conan/profiles/debian"),
        ("CMakeLists.txt", (r"find_package\(fmt.*\n", ""), "fmt has no find_package"),
    ]
    problems = []
    for file, (pattern, replacement), expected in cases:
        with tempfile.TemporaryDirectory() as scratch:
            copy = pathlib.Path(scratch)
            for name in [CONANFILE, PROFILE, DEBIAN, "CMakeLists.txt", "tests/CMakeLists.txt"]:
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(pathlib.Path(root) / name, copy / name)
            text = (copy / file).read_text()
            (copy / file).write_text(re.sub(pattern, replacement, text, flags=re.MULTILINE))
            said = check(copy)
            if not (len(said) == 1 and expected in said[0]):
                problems.append(f"{file} without fmt: expected {expected!r}, got {said}")
    return problems


def main():
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--root", default=pathlib.Path(__file__).resolve().parents[2])
    arguments.add_argument("--self-test", action="store_true")
    given = arguments.parse_args()
    if given.self_test:
        return tree.report(self_test(given.root), "The check itself is wrong.")
    return tree.report(check(given.root), "A dependency is named in all four places.")


if __name__ == "__main__":
    sys.exit(main())
