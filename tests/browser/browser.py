"""Runs cases in Chromium, through Playwright. Needs Chromium, Node.js and playwright-core, which tools/setup installs."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parent.parent
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


def outcomes(script, prepare):
    """name → error, of every case of the script; one browser for all. `prepare` makes the pages in a folder, and
    returns what the script needs to know."""
    screenshots = SOURCE / "build" / "screenshots"
    screenshots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        given = {"modules": str(MODULES), "chromium": shutil.which("chromium"), "screenshots": str(screenshots),
                 "profile": os.path.join(folder, "profile"), **prepare(folder)}
        finished = subprocess.run(["node", HERE / script, json.dumps(given)], check=False, timeout=240,
                                  capture_output=True, encoding="utf-8")
    result = {}
    for line in finished.stdout.splitlines():
        case = json.loads(line)
        result[case["name"]] = case["error"]
    if finished.returncode != 0 or not result:
        result["the_browser"] = finished.stderr or "no case ran"
    return result


def add_cases(tests, script, prepare):
    """Makes each case a test of the class."""
    reason = missing()
    if reason:
        tests.test_pages = unittest.skip(reason)(lambda self: None)
        return

    def add(name, error):
        setattr(tests, f"test_{name}", lambda self: self.assertFalse(error, error))
    for name, error in outcomes(script, prepare).items():
        add(name, error)
