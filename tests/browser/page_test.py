#!/usr/bin/python3
"""The pages of `-f html` in Chromium: they load nothing, their tables can be sorted, names are harmless, and they are
readable in dark and light and on a telephone. page.mjs has the cases; each is a test here."""
import os
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "lib"))
from browser import add_cases
from overdue_test import main, overdue

RECORDINGS = HERE.parent / "golden" / "reports"
HOSTILE = "<img src=x onerror=alert(1)>"


def write_pages(folder):
    """Makes the pages for the cases. Returns name → path."""
    pages = {}
    for name in ("why", "syscalls", "stalls", "offcpu", "timerlat", "osnoise", "spans"):
        pages[name] = os.path.join(folder, f"{name}.html")
        finished = overdue("report", str(RECORDINGS / f"{name}.odt"), "-f", "html", "-o", pages[name])
        assert finished.status == 0, finished
    if os.geteuid() == 0:
        pages["hostile"] = os.path.join(folder, "hostile.html")
        finished = overdue("syscalls", "--by", "thread", "-f", "html", "-o", pages["hostile"], "--",
                           "python3", "-c", "import sys\n"
                           "open('/proc/self/comm', 'w').write('<i><script>x')\n"
                           "try: open(sys.argv[1])\n"
                           "except OSError: pass\n", HOSTILE)
        assert finished.status == 0, finished
    return pages


class Browser(unittest.TestCase):
    pass


if __name__ == "__main__":
    add_cases(Browser, "page.mjs", lambda folder: {"pages": write_pages(folder)})
    main()
