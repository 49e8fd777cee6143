#!/usr/bin/python3
"""The drawings of `overdue flame` in Chromium, through Playwright: zoom, search, tooltips, dark and
light.

flame.mjs has the cases; each is a test here. Screenshots go to build/screenshots. Needs Chromium,
Node.js and playwright-core, which tools/setup installs; without them the test is skipped.
"""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
import stacks
from browser import add_cases
from overdue_test import main, overdue


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


class Browser(unittest.TestCase):
    pass


if __name__ == "__main__":
    add_cases(Browser, "flame.mjs", lambda folder: {"drawings": draw(folder)})
    main()
