"""What tests of `overdue offcpu` share."""
import json
import os

from overdue_test import SLOWER, FolderTest, overdue, require_root

MS = 1_000_000
NAPS = 40
# A nap's timer is set before the thread leaves its CPU, which takes an emulated CPU long.
ASLEEP = 2 * MS - (SLOWER - 1) * MS // 25
HIDDEN = 2  # this kernel hides one switch in a thousand
SPIN = """
import os, sys, time
end = time.thread_time_ns() + int(sys.argv[1]) * 1000000
while time.thread_time_ns() < end: pass
os.write(1, f"{time.thread_time_ns()}\\n".encode())  # two write to one pipe
"""


def offcpu(*arguments):
    """The report of JSON, and the program's output."""
    finished = overdue("offcpu", "-f", "json", *arguments)
    if finished.status != 0:
        raise AssertionError(finished)
    return json.loads(finished.err[finished.err.index("{"):] if "--" in arguments else finished.out), finished


def cpu_time(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def rows_of(report, comm):
    return [row for row in report["threads"] if row["comm"] == comm]


class OffcpuCase(FolderTest):
    def setUp(self):
        super().setUp()
        require_root()

    def assert_adds_up(self, report, all_cpus=True):
        for row in report["threads"]:
            parts = ("oncpu_ns", "offcpu_ns", "unknown_ns")
            self.assertEqual(sum(row[part] for part in parts), row["wall_ns"], row)
            self.assertEqual(row["blocked_ns"] + row["runnable_ns"], row["offcpu_ns"], row)
            self.assertEqual(row["sleeping_ns"] + row["uninterruptible_ns"], row["blocked_ns"], row)
            self.assertEqual(row["runqueue_ns"] + row["preempted_ns"] + row["throttled_ns"], row["runnable_ns"], row)
            if all_cpus:
                self.assertLessEqual(row["unknown_ns"], row["wall_ns"] / 1000 + MS, row)
            displaced = row["displaced_by"]
            self.assertLessEqual(sum(one["count"] for one in displaced), row["preemptions"], row)
            self.assertLessEqual(sum(one["total_ns"] for one in displaced), row["preempted_ns"] + MS, row)
            for one in displaced:
                self.assertLessEqual(one["max_ns"], one["total_ns"], row)
