#!/usr/bin/python3
"""`overdue stalls` names a function from the file that was mapped when its thread was late, or not
at all: replaced libraries, files that reuse an inode, programs that execute each other."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import long_or_short, main, workload
from stall_findings import Case, functions, stalls

TIMES = long_or_short(1000, 120)
LONGEST_MS = long_or_short(200, 40)
OF_LIBC = ("clock_nanosleep", "syscall", "__syscall")


class Names(Case):
    def count_of_named(self, *program):
        """The number of naps with their function's name. None has another function's name."""
        seen = stalls("-T", "4ms", "-e", "clock_nanosleep", "--idle", "--first", 0, "--", *program, timeout=600)
        self.assert_sound(seen)
        naps = seen.events("nap")
        self.assertEqual(len(naps), TIMES)
        calls = [one for one in seen.named("clock_nanosleep") if "way_back" not in one]
        found = iter(sorted(calls, key=lambda one: one["time_ns"]))
        right = 0
        for nap in naps:
            late = next((one for one in found if one["time_ns"] >= nap["begin_ns"]), None)
            self.assertTrue(late and late["time_ns"] <= nap["end_ns"], nap)
            own = [name for name in functions(late["user_stack"]) if name and name not in OF_LIBC]
            if own and own[0].startswith("nap_"):
                self.assertEqual(own[0], nap["function"], late["user_stack"])
                right += 1
            else:
                self.assertNotIn("innocent", own, late["user_stack"])
        return right

    # A file that still exists when stacks are resolved gives names; a busy machine may be late.

    def test_libraries_in_one_place(self):
        self.assertGreater(self.count_of_named(workload("reloads"), "library", TIMES, LONGEST_MS), 0.5 * TIMES)

    def test_files_with_one_inode(self):
        """The files are gone soon, and some names with them."""
        with tempfile.TemporaryDirectory() as folder:
            self.assertGreater(self.count_of_named(workload("reloads"), "replaced", TIMES, LONGEST_MS, folder), 0)

    def test_programs_that_execute_one_another(self):
        self.assertGreater(self.count_of_named(workload("exec_fixed_a"), TIMES, LONGEST_MS), 0.5 * TIMES)


if __name__ == "__main__":
    main()
