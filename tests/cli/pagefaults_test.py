#!/usr/bin/python3
"""Spans of page faults, against the account of the process (getrusage)."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, overdue, read_ndjson, require_root

PAGES = 2000
# Touches new memory, then pages of a file that are not in memory, and prints the account of both.
PROGRAM = """\
import mmap, os, resource, sys
def account():
    use = resource.getrusage(resource.RUSAGE_SELF)
    return [use.ru_minflt, use.ru_majflt]
path, pages = sys.argv[1], int(sys.argv[2])
before = account()
memory = mmap.mmap(-1, pages * 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
if hasattr(mmap, "MADV_NOHUGEPAGE"):
    memory.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, pages * 4096, 4096):
    memory[at] = 1
between = account()
with open(path, "rb") as file:
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    cold = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
    cold.madvise(mmap.MADV_RANDOM)
    for at in range(0, len(cold), 4096):
        cold[at]
after = account()
print(between[0] - before[0], after[1] - between[1], after[0] - before[0], *after)
"""


class Pagefaults(unittest.TestCase):
    def setUp(self):
        require_root()
        # Beside the source: a temporary folder may be in memory, and its pages are never read.
        made = tempfile.TemporaryDirectory(dir=os.environ.get("OVERDUE_DISK", os.getcwd()))
        self.addCleanup(made.cleanup)
        self.path = f"{made.name}/cold.data"
        with open(self.path, "wb") as file:
            file.write(os.urandom(300 * 4096))
            file.flush()
            os.fsync(file.fileno())
        self.out = f"{made.name}/report"

    def program(self):
        return ["--", sys.executable, "-c", PROGRAM, self.path, PAGES]

    def test_the_counts_are_those_of_the_process(self):
        finished = overdue("spans", "--span", "pagefault", "-f", "json", "-o", self.out, *self.program())
        self.assertEqual(finished.status, 0, finished)
        with open(self.out, encoding="utf-8") as file:
            report = json.load(file)
        touched, cold, own, minor, major = map(int, finished.out.split())
        rows = {row["name"]: row for row in report["spans"]}
        seen = {kind: sum(row["calls"] for name, row in rows.items() if name.startswith(kind))
                for kind in ("minor", "major")}
        self.assertGreaterEqual(touched, PAGES)
        self.assertGreaterEqual(rows["minor anonymous"]["calls"], PAGES * 0.99)
        # The account has faults before the program was executed too, and those of the program up to
        # its account only.
        self.assertGreaterEqual(seen["minor"], own * 0.99, rows)
        self.assertLessEqual(seen["minor"], minor + 1500, rows)
        self.assertGreaterEqual(seen["major"], (major - 20) * 0.99, rows)
        if cold:  # else the file's pages stay in memory here
            self.assertGreaterEqual(rows["major cold.data"]["calls"], cold * 0.95, rows)
            self.assertLessEqual(rows["major cold.data"]["calls"], cold + 5, rows)
        self.assertEqual(report["receipt"]["lost"], 0, report["receipt"])

    def test_late_faults_are_explained(self):
        finished = overdue("stalls", "--span", "pagefault", "-T", "1us", "-f", "ndjson", "-o", self.out, *self.program())
        self.assertEqual(finished.status, 0, finished)
        found = [line for line in read_ndjson(self.out) if line["type"] == "stall"]
        self.assertTrue(found)
        explained = 0
        for finding in found:
            self.assertEqual(finding["span"], "pagefault")
            self.assertRegex(finding["name"], "^(minor|major) ")
            parts = finding.get("breakdown")
            if parts and parts.get("unknown_ns", 0) == 0:
                explained += 1
                self.assertAlmostEqual(sum(parts.values()), finding["latency_ns"], delta=finding["latency_ns"] / 100)
        self.assertGreater(explained, len(found) / 2)
        self.assertTrue(any(finding.get("user_stack") for finding in found))
        cold = [finding for finding in found if finding["name"] == "major cold.data"]
        if int(finished.out.split()[1]) and cold:
            self.assertTrue(any(finding["breakdown"]["blocked_ns"] for finding in cold if "breakdown" in finding), cold[:3])

    def test_only_what_is_asked_for_is_loaded(self):
        finished = overdue("spans", "--span", "timer", "-v", "-d", "100ms", "-a")
        self.assertEqual(finished.status, 0, finished)
        self.assertNotIn("faults", finished.err)


if __name__ == "__main__":
    main()
