#!/usr/bin/env python3
"""Who may include whom. The two tables ARE the architecture: changing them is a design decision.

  check_includes.py [--root DIR]   checks the tree
  check_includes.py --self-test    plants violations in a scratch copy and sees each caught
"""

import pathlib
import re
import sys
import tempfile

import tree

# A folder sees itself, and the folders named here; "core/*" is everything below core.
ALLOWED = {
    "core/base": set(),
    "core/topology": {"core/base"},
    "core/model": {"core/base"},
    "core/plan": {"core/base"},
    "core/compute": {"core/base", "core/topology", "core/plan"},
    "core/trace": {"core/base", "core/plan"},
    "core/collective": {"core/base", "core/topology", "core/plan"},
    "core/nccl": {"core/base", "core/topology", "core/plan"},
    "core/strategy": {"core/base", "core/topology", "core/model", "core/plan", "core/collective", "core/compute"},
    "core/calibrate": {"core/base", "core/topology", "core/model", "core/plan", "core/compute", "core/strategy", "core/trace"},
    "core/io": {"core/*"},
    "sim": {"core/*"},
    "exec": {"core/*", "exec/cpu", "exec/mpi", "exec/cuda"},  # the table over the backends
    "exec/training": {"core/*", "exec"},  # what payloads mean, whoever computes
    "exec/cpu": {"core/*", "exec", "exec/training"},
    "exec/tcp": {"core/*", "exec"},
    "exec/mpi": {"core/*", "exec", "exec/training", "exec/cpu", "exec/tcp"},  # its devices are CPUs; or TCP under torchrun
    "exec/cuda": {"core/*", "exec", "exec/training", "exec/cpu", "exec/mpi"},  # hosts serve; processes join
    "exec/discover": {"core/*", "exec", "exec/cuda"},  # the machine at hand as a topology
    "report": {"core/*"},
    "cli": {"core/*", "sim", "exec", "exec/discover", "report"},
    "tests": {"core/*", "sim", "exec", "exec/*", "report", "cli"},
}

# Third parties have one owner each: the folders whose files may name the header. tests may all.
OWNERS = [
    (r"nlohmann/", {"core/io", "core/trace", "report", "cli"}),
    (r"CLI/", {"cli"}),
    (r"pugixml\.hpp", {"core/io"}),
    (r"boost/(asio|beast)", {"cli"}),  # the server of `serve`
    (r"zlib\.h", {"core/io"}),
    (r"boost/", {"core/base", "core/topology", "core/plan"}),
    (r"fmt/", set(ALLOWED)),  # and only in .cc files, see below
    (r"(cblas|openblas_config|f77blas)\.h", {"exec/cpu"}),
    (r"mpi\.h", {"exec/mpi"}),
    (r"hwloc(\.h|/)", {"exec/discover"}),  # in hwloc_topology.h, which finds the library too
    (r"(cuda|cublas|nccl|nvtx|nvml)\w*(\.h|/)", {"exec/cuda"}),
    (r"(gtest|gmock|benchmark|valijson)/", set()),
]
SYSTEM = re.compile(r"(sys|arpa|net|netinet|linux)/")  # slashes that belong to the machine
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)


def folder_of(path):
    """The longest row of ALLOWED that the file lies under, or None."""
    parents = [str(parent) for parent in pathlib.PurePosixPath(path).parents]
    return next((parent for parent in parents if parent in ALLOWED), None)


def may_see(folder, target):
    return folder == target or any(
        target == row or (row.endswith("/*") and target.startswith(row[:-1]))
        for row in ALLOWED[folder])


def complaint_about_ours(root, path, folder, included):
    if not (root / included).is_file() and not (root / (included + ".in")).is_file():
        return f'"{included}" is not written from the repository\'s root'
    target = folder_of(included)
    if target is None:
        return f'"{included}" is in no folder of the table'
    if target == "tests" and folder != "tests":
        return f'{folder} includes "{included}"; only tests include tests'
    if not may_see(folder, target):
        return f'{folder} may not include {target} ("{included}")'
    owner, detail, _ = included.rpartition("/detail/")
    if detail and not str(path).startswith(owner + "/"):
        return f'"{included}" is private to {owner}'
    return None


def complaint_about_others(path, folder, included):
    if folder == "tests":
        return None
    for pattern, owners in OWNERS:
        if re.match(pattern, included):
            if folder not in owners:
                whose = ", ".join(sorted(owners)) or "tests"
                return f"{folder} may not include <{included}>; it belongs to {whose}"
            if pattern == r"fmt/" and path.suffix != ".cc":
                return f"<{included}> belongs in .cc files, not in a header"
            return None
    if "/" in included and not SYSTEM.match(included):
        return f"<{included}> has no owner in the table"
    return None


def check(root):
    root = pathlib.Path(root)
    problems = []
    for path in tree.our_files(root, ".h", ".cc", ".cu", ".cuh"):
        folder = folder_of(path)
        text = (root / path).read_text(encoding="utf-8")
        if folder is None:
            problems.append(f"{path}:1: lies in no folder of the table")
            continue
        for found in INCLUDE.finditer(text):
            bracket, included = found.groups()
            if bracket == '"':
                complaint = complaint_about_ours(root, path, folder, included)
            else:
                complaint = complaint_about_others(path, folder, included)
            if complaint:
                line = text.count("\n", 0, found.start(1)) + 1
                problems.append(f"{path}:{line}: {complaint}")
    return problems


# (file, its include, what the complaint must say; None when it must pass)
PLANTED = [
    ("core/base/a.h", '"core/base/b.h"', None),
    ("core/io/a.cc", '"core/topology/a.h"', None),
    ("core/io/a.cc", "<nlohmann/json.hpp>", None),
    ("core/base/a.cc", "<fmt/format.h>", None),
    ("core/base/a.cc", "<sys/stat.h>", None),
    ("tests/a_test.cc", "<gtest/gtest.h>", None),
    ("tests/a_test.cc", '"exec/cpu/a.h"', None),
    ("exec/cpu/a.h", '"exec/b.h"', None),
    ("sim/a.h", '"exec/b.h"', "sim may not include exec"),
    ("exec/b.h", '"sim/a.h"', "exec may not include sim"),
    ("exec/cpu/a.h", '"exec/cuda/a.h"', "exec/cpu may not include exec/cuda"),
    ("core/base/a.h", '"core/topology/a.h"', "core/base may not include core/topology"),
    ("core/plan/a.cc", '"core/io/a.h"', "core/plan may not include core/io"),
    ("cli/a.cc", '"tests/a.h"', "only tests include tests"),
    ("core/base/a.cc", '"b.h"', "not written from the repository's root"),
    ("core/base/a.cc", '"../base/b.h"', "not written from the repository's root"),
    ("core/io/a.cc", '"core/topology/detail/a.h"', "private to core/topology"),
    ("core/base/a.cc", "<nlohmann/json.hpp>", "belongs to cli, core/io, core/trace, report"),
    ("core/io/a.cc", "<CLI/CLI.hpp>", "belongs to cli"),
    ("cli/a.cc", "<boost/graph/graph_traits.hpp>", "belongs to core/base"),
    ("core/base/a.h", "<fmt/format.h>", "belongs in .cc files"),
    ("sim/a.cc", "<gtest/gtest.h>", "belongs to tests"),
    ("sim/a.cc", "<cuda_runtime.h>", "belongs to exec/cuda"),
    ("cli/a.cc", "<hwloc.h>", "belongs to exec/discover"),
    ("exec/cpu/a.cc", "<hwloc/bitmap.h>", "belongs to exec/discover"),
    ("sim/a.cc", "<absl/strings.h>", "has no owner"),
    ("util/a.cc", "<vector>", "lies in no folder"),
]


def self_test():
    problems = []
    for path, include, expected in PLANTED:
        with tempfile.TemporaryDirectory() as scratch:
            root = pathlib.Path(scratch)
            for name in [path, "core/base/b.h", "core/topology/a.h", "core/topology/detail/a.h", "core/io/a.h",
                         "exec/b.h", "exec/cpu/a.h", "exec/cuda/a.h", "sim/a.h", "tests/a.h"]:
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).touch()
            (root / path).write_text(f"#include {include}\n")
            said = check(root)
            right = not said if expected is None else len(said) == 1 and expected in said[0]
            if not right:
                problems.append(f"{path} with #include {include}: expected {expected!r}, got {said}")
    return problems


if __name__ == "__main__":
    sys.exit(tree.run_check(__doc__, check, self_test, "The tables are at the top of tests/lint/check_includes.py."))
