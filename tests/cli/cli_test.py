"""The program as people and scripts meet it: exit codes, streams, formats, help, completion."""

import csv
import io
import json
import os
import pty
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

PROGRAM = os.environ["TWINRUN"]
WORKING = [["doctor"], ["version"], ["schema"], ["explain"], ["explain", "E0203"], ["schema", "plan"]]


def run(*arguments, env=None, **options):
    environment = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "TERM")}
    environment.update(env or {})
    return subprocess.run(
        [PROGRAM, *arguments], capture_output=True, text=True, env=environment, timeout=60, **options
    )


def commands_of(*path):
    """The names that a --help lists under Commands."""
    names = []
    lines = run(*path, "--help").stdout.split("\n")
    if "Commands:" in lines:
        for line in lines[lines.index("Commands:") + 1 :]:
            if not line:
                break
            names.append(line.split()[0])
    return names


def on_terminal(*arguments, env=None):
    """Standard output when it is a terminal."""
    ours, theirs = pty.openpty()
    environment = {k: v for k, v in os.environ.items() if k != "NO_COLOR"}
    environment.update({"TERM": "xterm", **(env or {})})
    with subprocess.Popen([PROGRAM, *arguments], stdout=theirs, env=environment) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:
                break
            if not piece:
                break
            seen += piece
        process.wait()
    os.close(ours)
    return seen.decode()


class Results(unittest.TestCase):
    def test_go_to_stdout_and_nothing_to_stderr(self):
        for arguments in WORKING:
            with self.subTest(arguments):
                result = run(*arguments)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertNotEqual(result.stdout, "")

    def test_parse_in_every_format(self):
        for arguments in WORKING:
            with self.subTest(arguments):
                json.loads(run(*arguments, "--format", "json").stdout)
                lines = [json.loads(l) for l in run("--format=jsonl", *arguments).stdout.splitlines()]
                self.assertEqual(lines[0]["type"], "version")
                self.assertEqual((lines[0]["tool"], lines[0]["schema"]), ("twinrun", "1.0"))
                rows = list(csv.reader(io.StringIO(run(*arguments, "--format", "csv").stdout)))
                self.assertTrue(rows)

    def test_of_csv_tables_are_rectangular(self):
        for arguments in (["doctor"], ["version"], ["explain"], ["schema"]):
            rows = list(csv.reader(io.StringIO(run(*arguments, "--format", "csv").stdout)))
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, arguments)

    def test_doctor_names_every_part_with_status_and_fix(self):
        parts = json.loads(run("doctor", "--format", "json").stdout)["parts"]
        names = [part["name"] for part in parts]
        self.assertEqual(names, ["CPU", "BLAS", "hwloc", "MPI", "CUDA toolkit", "NCCL", "NVIDIA driver",
                                 "GPUs", "CUDA backend"])
        for part in parts:
            self.assertIn(part["status"], ("ok", "warning", "missing"))
            self.assertEqual(part["fix"] == "", part["status"] == "ok", part)

    def test_doctor_survives_without_path(self):
        self.assertEqual(run("doctor", env={"PATH": "/nowhere"}).returncode, 0)

    def test_full_disk_is_an_error_and_a_closed_pipe_is_not_a_message(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([PROGRAM, "version"], stdout=full, stderr=subprocess.PIPE, text=True)
        self.assertEqual(result.returncode, 1)
        self.assertIn("error: cannot write the result", result.stderr)
        result = subprocess.run(
            ["bash", "-c", f"set -o pipefail; '{PROGRAM}' explain | true"], capture_output=True, text=True
        )
        self.assertEqual(result.stderr, "")

    def test_interrupt_ends_with_130(self):
        with tempfile.TemporaryDirectory() as folder:
            slow = os.path.join(folder, "mpirun")
            with open(slow, "w", encoding="ascii") as script:
                script.write("#!/bin/sh\nexec sleep 5\n")
            os.chmod(slow, 0o755)
            path = folder + ":" + os.environ["PATH"]
            with subprocess.Popen([PROGRAM, "doctor"], stdout=subprocess.DEVNULL, env={"PATH": path}) as process:
                time.sleep(1)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(), 130)


class Color(unittest.TestCase):
    def test_is_off_in_a_pipe_and_on_when_asked(self):
        self.assertNotIn("\x1b", run("doctor").stdout)
        self.assertIn("\x1b[", run("doctor", "--color", "always").stdout)
        self.assertIn("\x1b[", run("nonsense", "--color=always").stderr)

    def test_is_on_on_a_terminal_unless_told_otherwise(self):
        self.assertIn("\x1b[", on_terminal("doctor"))
        self.assertNotIn("\x1b", on_terminal("doctor", env={"NO_COLOR": "1"}))
        self.assertNotIn("\x1b", on_terminal("doctor", "--color", "never"))
        self.assertIn("\x1b[", on_terminal("doctor", env={"NO_COLOR": ""}))


class Usage(unittest.TestCase):
    def refused(self, arguments, *texts):
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stdout), (2, ""), arguments)
        self.assertTrue(result.stderr.startswith("error: "), result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    def test_mistakes_are_refused_with_a_suggestion(self):
        self.refused([], "needs a command", "twinrun --help")
        self.refused(["verzion"], "unknown command verzion", 'did you mean "version"?')
        self.refused(["version", "--fromat", "json"], "unknown option --fromat", 'did you mean "--format"?')
        self.refused(["--fromat=json", "version"], "unknown option --fromat", 'did you mean "--format"?')
        self.refused(["version", "--format", "jason"], '"jason" is not a --format', 'did you mean "json"?')
        self.refused(["version", "--color", "alway"], 'did you mean "always"?')
        self.refused(["version", "extra"], "one argument too many: extra")
        self.refused(["schema", "topologie"], 'did you mean "topology"?')
        self.refused(["explain", "E0999"], "there is no code E0999")
        self.refused(["completion"], "SHELL is required")
        self.refused(["completion", "bsh"], 'did you mean "bash"?')

    def test_errors_are_json_lines_when_results_are(self):
        for form in ("json", "jsonl"):
            result = run("schema", "nonsense", "--format", form)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertEqual(json.loads(result.stderr)["severity"], "error")

    def test_every_command_has_help_with_an_example(self):
        self.assertIn("Examples:", run("--help").stdout)
        paths = [[name] for name in commands_of()]
        self.assertGreaterEqual(len(paths), 5)
        while paths:
            path = paths.pop()
            paths += [path + [name] for name in commands_of(*path)]
            result = run(*path, "--help")
            self.assertEqual((result.returncode, result.stderr), (0, ""), path)
            self.assertIn("example", result.stdout.lower(), path)
            self.assertIn("  twinrun " + " ".join(path) if path != ["completion"] else "twinrun completion",
                          result.stdout.split("xample")[1])

    def test_explain_knows_every_code_it_lists(self):
        for row in json.loads(run("explain", "--format", "json").stdout)["codes"]:
            result = run("explain", row["code"].lower())
            self.assertTrue(result.stdout.startswith(f"{row['code']}: {row['title']}\n\n"), result.stdout)


class Completion(unittest.TestCase):
    def completed(self, *words):
        script = (
            'source <("$1" completion bash); shift; COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); '
            '_twinrun; printf "%s\\n" "${COMPREPLY[@]}"'
        )
        result = subprocess.run(
            ["bash", "--norc", "-c", script, "bash", PROGRAM, "twinrun", *words],
            capture_output=True, text=True, check=True,
        )
        self.assertEqual(result.stderr, "")
        return result.stdout.split()

    def test_bash_offers_commands_options_and_words(self):
        self.assertEqual(self.completed(""), commands_of())
        self.assertEqual(self.completed("ver"), ["version"])
        self.assertEqual(self.completed("schema", "to"), ["topology"])
        self.assertEqual(self.completed("--format", "json", "sch"), ["schema"])
        self.assertEqual(self.completed("doctor", "--format", "j"), ["json", "jsonl"])
        self.assertIn("--strict", self.completed("doctor", "--"))

    def test_zsh_and_fish_scripts_hold_every_command(self):
        for shell, check in (("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
            script = run("completion", shell).stdout
            for name in commands_of():
                self.assertIn(f"'{name}'", script)
            if shutil.which(shell):
                with tempfile.NamedTemporaryFile("w", suffix="." + shell) as file:
                    file.write(script)
                    file.flush()
                    subprocess.run([*check, file.name], check=True)


if __name__ == "__main__":
    unittest.main()
