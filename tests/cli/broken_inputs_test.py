"""Broken inputs get a clear error and exit code 3: never a crash, a hang, or gigabytes of memory.

Every command that reads a file is given every broken file. Commands whose verb the program does not
have (yet) are skipped with a printed reason.
"""

import os
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["TWINRUN"]
COMMANDS = [["topo", "validate"], ["topo", "show"], ["plan", "validate"], ["plan", "show"]]
SECONDS = 20
MEBIBYTES = 300


def repeated(head, unit, times, tail=b""):
    """Writes head, the unit so many times, tail, without holding it all."""

    def write(path):
        per_block = max(1, (1 << 20) // len(unit))
        block = unit * per_block
        with open(path, "wb") as file:
            file.write(head)
            for _ in range(times // per_block):
                file.write(block)
            file.write(unit * (times % per_block) + tail)

    return write


def text(content):
    return repeated(content if isinstance(content, bytes) else content.encode(), b" ", 0)


# Under a sanitizer everything is many times slower, and budgets are not checked: a tenth of the size will do.
HUGE = 10 if "ASAN_OPTIONS" in os.environ else 1

# Broken for every reader of JSON.
ANY = {
    "empty": text(""),
    "only_a_newline": text("\n"),
    "truncated": text('{"schema": "twinrun/topology/1", "nodes": {"dgx'),
    "truncated_after_colon": text('{"schema":'),
    "trailing_comma": text('{"schema": "twinrun/plan/1",}'),
    "two_values": text("{} {}"),
    "comment": text('{ // no\n "schema": 1}'),
    "nan": text('{"a": NaN}'),
    "infinity": text('{"a": -Infinity}'),
    "huge_number": text('{"a": 1e999}'),
    "million_digits": repeated(b'{"a": ', b"9", 10**6, b"}"),
    "array_for_object": text("[1, 2, 3]"),
    "string_for_object": text('"text"'),
    "number_for_object": text("17"),
    "null_for_object": text("null"),
    "empty_object": text("{}"),
    "doubled_key": text('{"schema": "x", "schema": "y"}'),
    "only_unknown_keys": repeated(b'{"a": 1', b', "b": 2', 1000, b"}"),
    "million_unknown_keys": lambda path: write_keys(path, 10**6 // HUGE),
    "wrong_schema": text('{"schema": "twinrun/nonsense/9"}'),
    "schema_of_wrong_type": text('{"schema": {"a": []}}'),
    "invalid_utf8": text(b'{"schema": "\xff\xfe"}'),
    "utf16": text('{"schema": 1}'.encode("utf-16")),
    "zero_bytes": repeated(b"", b"\0", 10**6),
    "control_characters": text(b'{"\x1b[31m": "\x07"}'),
    "byte_order_mark_only": text(b"\xef\xbb\xbf"),
    "deep_nesting": repeated(b"", b"[", 10**4),
    "deep_and_closed": text("[" * 10**4 + "]" * 10**4),
    "deep_objects": repeated(b"", b'{"a":', 10**4),
    "hundred_thousand_brackets": repeated(b"", b"[", 10**5),
    "gigabyte_of_spaces": repeated(b"", b" ", (1 << 30) // HUGE),
    "long_string": repeated(b'{"schema": "', b"x", 10**8 // HUGE, b'"}'),
    "long_key": repeated(b'{"', b"k", 10**8 // HUGE, b'": 1}'),
    "binary": lambda path: write_random(path),
}

TOPOLOGY = {
    "negative_count": text('{"schema": "twinrun/topology/1", "nodes": {"dgx-a100": -4}}'),
    "huge_count": text('{"schema": "twinrun/topology/1", "nodes": {"dgx-a100": 1000000000000}}'),
    "count_of_wrong_type": text('{"schema": "twinrun/topology/1", "nodes": {"dgx-a100": "many"}}'),
    "count_with_fraction": text('{"schema": "twinrun/topology/1", "nodes": {"dgx-a100": 1.5}}'),
    "unknown_template": text('{"schema": "twinrun/topology/1", "nodes": {"dgx-z9000": 1}}'),
    "unknown_fabric": text(
        '{"schema": "twinrun/topology/1", "nodes": {"dgx-a100": 2}, "fabric": {"kind": "rnig"}}'
    ),
    "nodes_is_a_string": text('{"schema": "twinrun/topology/1", "nodes": "dgx-a100"}'),
}

PLAN = {
    "ops_is_a_number": text('{"schema": "twinrun/plan/1", "ops": 5}'),
    "ops_hold_numbers": text('{"schema": "twinrun/plan/1", "ops": [1, 2]}'),
    "op_without_anything": text('{"schema": "twinrun/plan/1", "ops": [{}]}'),
    "million_empty_ops": repeated(b'{"schema": "twinrun/plan/1", "ops": [{}', b",{}", 10**6 // HUGE, b"]}"),
}


def write_keys(path, count):
    with open(path, "w", encoding="ascii") as file:
        file.write('{"a": 1')
        file.writelines(f', "key{i}": {i}' for i in range(count))
        file.write("}")


def write_random(path):
    with open(path, "wb") as file:
        file.write(bytes((i * 7919 + i // 256) % 256 for i in range(100000)))


def run(arguments):
    """(exit code or -signal, stdout, stderr, seconds, MiB at the peak)"""
    start = time.monotonic()
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen([PROGRAM, *arguments], stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        while True:
            done, status, usage = os.wait4(process.pid, os.WNOHANG)
            if done:
                break
            if time.monotonic() - start > 3 * SECONDS:
                process.kill()
            time.sleep(0.002)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu_seconds = usage.ru_utime + usage.ru_stime
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read(10**6).decode("utf-8", "strict"))
        return process.returncode, *texts, cpu_seconds, usage.ru_maxrss / 1024


def has_command(command):
    result = subprocess.run([PROGRAM, *command, "--help"], capture_output=True, text=True)
    return result.returncode == 0 and f"twinrun {' '.join(command)}" in result.stdout


class BrokenInputs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="twinrun_broken_")
        self.addCleanup(self.folder.cleanup)
        self.commands = [command for command in COMMANDS if has_command(command)]
        for command in COMMANDS:
            if command not in self.commands:
                print(f"skipped: this build has no command: twinrun {' '.join(command)}", flush=True)

    def refused(self, command, path):
        code, out, err, seconds, peak = run([*command, path])
        shown = err[:2000]
        self.assertEqual(code, 3, shown)
        self.assertIn("error[E", err, shown)
        self.assertEqual(out, "", "a refused input has no result")
        self.assertLess(len(err), 60000, "a message must not drown its reader")
        self.assertNotIn("\x1b", err)
        if "ASAN_OPTIONS" not in os.environ:
            self.assertLess(seconds, SECONDS)
            self.assertLess(peak, MEBIBYTES)

    def refused_by_all(self, inputs, first_word=None):
        for name, write in inputs.items():
            path = os.path.join(self.folder.name, name + ".json")
            commands = [c for c in self.commands if first_word in (None, c[0])]
            if not commands:
                continue
            write(path)
            for command in commands:
                with self.subTest(input=name, command=" ".join(command)):
                    self.refused(command, path)
            os.remove(path)

    def test_anything_that_is_not_json_of_ours(self):
        self.refused_by_all(ANY)

    def test_topologies(self):
        self.refused_by_all(TOPOLOGY, "topo")

    def test_plans(self):
        self.refused_by_all(PLAN, "plan")

    def test_things_that_are_not_files(self):
        for command in self.commands:
            for path in (self.folder.name, os.path.join(self.folder.name, "missing.json")):
                with self.subTest(path=path, command=" ".join(command)):
                    self.refused(command, path)

    def test_an_endless_device(self):
        for command in self.commands:
            code, _, err, _, _ = run([*command, "/dev/zero"])
            self.assertEqual(code, 3, err[:2000])


if __name__ == "__main__":
    unittest.main()
