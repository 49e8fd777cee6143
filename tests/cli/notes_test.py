#!/usr/bin/python3
"""The notes that a report must have besides its figures."""
import json
import os
import re
import resource
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (call_records, counts, main, overdue, require_root, syscalls_report,
                          tiny32, workload)


class Notes(unittest.TestCase):
    def setUp(self):
        require_root()

    def test_two_phase_that_stayed_waits_idly(self):
        """A 32-bit call keeps the hooks of the first phase; no periodic work is left to do."""
        def measured(seconds):
            """(CPU time of the whole run, the report)"""
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            report, finished = syscalls_report("--two-phase", "--discover-time", "100ms", "--", "sh", "-c",
                                               f"{tiny32()}; sleep {seconds}")
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            self.assertEqual(finished.status, 0, finished)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, report

        to_begin_and_end, _ = measured(0.3)
        used, report = measured(2.3)
        self.assertTrue(any("stayed" in note for note in report["notes"]), report["notes"])
        self.assertEqual(counts(report)["i386:getpid"], 12)
        self.assertLess(used - to_begin_and_end, 1, "of two seconds that were slept through")

    def test_numbers_that_sets_cannot_hold_are_not_passed_over(self):
        """Seven calls with numbers above 511: a note in a live list or choice; names in a file."""
        for options in (["--discover"], ["-e", "!read"]):
            report, _ = syscalls_report(*options, "--", workload("unknown_calls"))
            self.assertTrue(any(re.search("numbers above 511.*: 7$", note)
                                for note in report["notes"]), report["notes"])
        with tempfile.TemporaryDirectory() as folder:
            overdue("record", "-q", "-o", f"{folder}/x.odt", "--", workload("unknown_calls"))
            names = json.loads(overdue("report", f"{folder}/x.odt", "--discover", "-f", "json").out)
            chosen = overdue("report", f"{folder}/x.odt", "-e", "!read", "-f", "json")
        self.assertTrue({"syscall_511", "syscall_9999", "syscall_4294967295"} <= set(names["names"]))
        self.assertEqual(names["notes"], [])
        self.assertEqual(json.loads(chosen.out)["notes"],
                         ["calls of numbers above 511 that are not shown: 7"])

    def test_strings_that_could_not_be_read(self):
        """One path of the workload is at a bad address: the call is shown, with a note."""
        records, _ = call_records("-e", "openat", "--", workload("long_paths"))
        self.assertEqual(records[-2]["type"], "report")
        unread = [note for note in records[-2]["notes"] if "could not be read" in note]
        self.assertEqual([note.rpartition(": ")[2] for note in unread], ["1"], records[-2])
        self.assertEqual(records[-1]["lost"], 0)


if __name__ == "__main__":
    main()
