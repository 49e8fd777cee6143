#!/usr/bin/python3
"""The drawings of `overdue flame` in Chromium, through Playwright: zoom, search, tooltips, dark and
light.

flame.mjs has the cases; each is a test here. Screenshots go to build/screenshots. Needs Chromium,
Node.js and playwright-core, which tools/setup installs; without them the test is skipped.
"""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "lib"))
import stacks
from overdue_test import main, overdue

MODULES = SOURCE / "build" / "node"


def missing():
    """Why the cases cannot run; empty if they can."""
    if not shutil.which("chromium"):
        return "chromium is not installed"
    if not shutil.which("node"):
        return "node is not installed"
    if not (MODULES / "node_modules" / "playwright-core").is_dir():
        return "playwright-core is not in build/node: tools/setup installs it"
    return ""


def draw(folder):
    """Makes the drawings for the cases. Returns name → path."""
    before, after = os.path.join(folder, "before.folded"), os.path.join(folder, "after.folded")
    for path, seed in ((before, 2), (after, 1)):
        with open(path, "w", encoding="utf-8") as file:
            file.write("\n".join(stacks.folded(seed)))
    drawings = {}
    for name, options in (("svg", ["-f", "svg"]), ("html", ["-f", "html"]), ("icicle", ["-f", "html", "--icicle"]),
                          ("diff", ["-f", "svg", "--diff", before])):
        drawings[name] = os.path.join(folder, f"{name}.{'html' if 'html' in options else 'svg'}")
        finished = overdue("flame", after, "--unit", "us", "--title", "A server for a minute",
                           *options, "-o", drawings[name])
        assert finished.status == 0, finished
    return drawings


def outcomes():
    """name → error, of every case; one browser for all."""
    screenshots = SOURCE / "build" / "screenshots"
    screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        given = {"modules": str(MODULES), "chromium": shutil.which("chromium"), "drawings": draw(folder),
                 "profile": os.path.join(folder, "profile"), "screenshots": str(screenshots)}
        finished = subprocess.run(["node", HERE / "flame.mjs", json.dumps(given)], check=False, timeout=240,
                                  capture_output=True, encoding="utf-8")
    result = {}
    for line in finished.stdout.splitlines():
        case = json.loads(line)
        result[case["name"]] = case["error"]
    if finished.returncode != 0 or not result:
        result["the_browser"] = finished.stderr or "no case ran"
    return result


class Browser(unittest.TestCase):
    pass


def add_case(name, error):
    def case(self):
        self.assertFalse(error, error)
    setattr(Browser, f"test_{name}", case)


def add_cases():
    reason = missing()
    if reason:
        Browser.test_drawings = unittest.skip(reason)(lambda self: None)
        return
    for name, error in outcomes().items():
        add_case(name, error)


if __name__ == "__main__":
    add_cases()
    main()
