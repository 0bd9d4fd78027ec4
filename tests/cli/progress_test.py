"""The progress line as a terminal sees it: late, not too often, and gone at the end."""

import os
import pty
import re
import subprocess
import unittest

PROGRAM = os.environ["TWINRUN_PROGRESS"]


def drawn_on_terminal(*arguments):
    """Everything the program writes to standard error when that is a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen([PROGRAM, *arguments], stderr=theirs) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                piece = os.read(ours, 4096)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            seen += piece
        assert process.wait() == 0
    os.close(ours)
    return seen.decode()


class Progress(unittest.TestCase):
    def test_is_drawn_after_a_second_and_erased_at_the_end(self):
        seen = drawn_on_terminal()
        frames = re.findall(r"\rcounting · (\d+)% · µ note · eta \d+s\x1b\[K", seen)
        self.assertGreaterEqual(len(frames), 3)
        self.assertLessEqual(len(frames), 15)  # at most ten a second
        self.assertGreaterEqual(int(frames[0]), 20)  # nothing in the first second
        self.assertTrue(seen.endswith("\r\x1b[K"), seen)
        self.assertNotIn("\n", seen)

    def test_short_work_draws_nothing(self):
        self.assertEqual(drawn_on_terminal("short"), "")

    def test_quiet_draws_nothing(self):
        self.assertEqual(drawn_on_terminal("long", "--quiet"), "")

    def test_off_a_terminal_two_seconds_are_not_worth_a_line(self):
        result = subprocess.run([PROGRAM], stderr=subprocess.PIPE, check=True)
        self.assertEqual(result.stderr, b"")


if __name__ == "__main__":
    unittest.main()
