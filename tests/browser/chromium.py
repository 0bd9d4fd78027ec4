"""Debian's Chromium, headless, driven by Playwright; and the runs whose pages the tests look at.

Both may be missing: then the tests are skipped (exit status 77) with a printed reason.
"""

import glob
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.environ["TWINRUN"]
JOBS = pathlib.Path(os.environ["TWINRUN_JOBS"])
SKIP = 77


def skip(reason):
    print(f"skipped: {reason}; `make packages-browser` installs what these tests need")
    sys.exit(SKIP)


sys.path += glob.glob(os.path.join(os.environ.get("TWINRUN_BROWSER_VENV", ""), "lib/python*/site-packages"))
try:
    from playwright.sync_api import sync_playwright
except ImportError:
    skip("Playwright is not there")
CHROMIUM = shutil.which("chromium")
if CHROMIUM is None:
    skip("Chromium is not there")


def twinrun(*arguments, **options):
    run = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options)
    if run.returncode != 0:
        raise AssertionError(f"twinrun {' '.join(map(str, arguments))}: {run.returncode}\n{run.stderr}")
    return run.stdout


class BrowserTest(unittest.TestCase):
    """One browser and one scratch folder for all tests of a class."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.at = pathlib.Path(folder.name)
        playwright = sync_playwright().start()
        cls.addClassCleanup(playwright.stop)
        # Nothing here is from strangers, and CI runs as root, where Chromium's sandbox refuses to start.
        cls.browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        cls.addClassCleanup(cls.browser.close)
        cls.pages = {}

    @classmethod
    def folder(cls, name, verb, *arguments):
        """A run or sweep, made once."""
        out = cls.at / name
        if not out.exists():
            twinrun(verb, *arguments, "--out", out)
        return out

    @classmethod
    def page_file(cls, name, *folders, options=()):
        """The page of some folders, made once."""
        if name not in cls.pages:
            cls.pages[name] = cls.at / f"{name}.html"
            twinrun("report", *folders, "-o", cls.pages[name], *options)
        return cls.pages[name]

    def open(self, address, width=1280, height=900, scheme="light", **options):
        """Opens a page and from then on notes everything that it should not do."""
        context = self.browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, **options)
        self.addCleanup(context.close)
        page = context.new_page()
        page.set_default_timeout(20000)
        self.complaints = []
        home = address.split("?")[0] if address.startswith("http") else "file:"
        page.on("console", lambda message: self.complaints.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: (self.complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: None if request.url.startswith((home, "data:")) else
                self.complaints.append(f"asked for {request.url}"))
        page.goto(address)
        page.wait_for_selector("html[data-ready=yes]")
        return page

    def open_file(self, path, **options):
        return self.open(f"file://{path}", **options)

    def expect_no_complaints(self):
        self.assertEqual(self.complaints, [])


def page_data(page):
    return json.loads(page.evaluate("document.getElementById('data').textContent"))
