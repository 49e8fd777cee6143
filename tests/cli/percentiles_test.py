#!/usr/bin/python3
"""`overdue stalls -T p99`: thresholds that the session chooses, against a program of known latencies."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import SLOWER, FolderTest, main, overdue, read_ndjson, require_root, workload
from stall_findings import MS, Stalls, real_time, stalls

NAPS, EACH = 1500, 50  # one nap of 20 ms after 49 of 1 ms
HIDDEN = 0.02  # part of the waits: this kernel hides one switch in a thousand
# On an emulated CPU, naps of 1 ms take 20 ms now and then: fewer of the slow ones are the slowest.
LEAST_SLOW = NAPS / EACH / (2 if SLOWER == 1 else 4)
PROGRAM = f"import time\nfor nap in range({NAPS}): time.sleep(0.02 if nap % {EACH} == {EACH - 1} else 0.001)"


def napper():
    return (*real_time(), sys.executable, "-c", PROGRAM)


def percentile_of(report, name):
    [row] = [row for row in report["percentiles"] if row["name"] == name]
    return row


class Percentiles(FolderTest):
    def setUp(self):
        super().setUp()
        require_root()

    def assert_slow_naps(self, findings, operations):
        """Few are late, and these are the slow ones, once there had been enough naps."""
        slow = [finding for finding in findings if finding["latency_ns"] >= 20 * MS]
        self.assertGreaterEqual(len(slow), LEAST_SLOW)
        # An emulator takes half a second over the first finding. Until then, the threshold is the one of Python's
        # start, and the naps are longer.
        first = min(finding["time_ns"] for finding in findings) + (0 if SLOWER == 1 else 1000 * MS)
        settled = [finding for finding in findings if finding["time_ns"] >= first]
        self.assertLessEqual(len(settled), 0.05 * operations)

    def test_the_slowest_naps_are_late(self):
        seen = stalls("-T", "clock_nanosleep=p99", "--save", self.file, "--", *napper())
        self.assertEqual(seen.finished.status, 0, seen.finished)
        row = percentile_of(seen.report, "clock_nanosleep")
        self.assertEqual((row["span"], row["percentile"], row["asked"], row["idle"]), ("syscall", "p99", "p99", 0))
        self.assertEqual(row["operations"], NAPS)
        self.assertGreater(row["threshold_ns"], 2 * MS)
        self.assertLessEqual(row["threshold_ns"], 21 * MS)
        self.assert_slow_naps(seen.found, NAPS)
        self.assertEqual({finding["name"] for finding in seen.found}, {"clock_nanosleep"})

        with self.subTest("a recording shows the same"):
            replayed = f"{self.folder}/replayed"
            finished = overdue("report", self.file, "-f", "ndjson", "-o", replayed)
            self.assertEqual(finished.status, 0, finished)
            again = Stalls(read_ndjson(replayed), finished)
            self.assertEqual(again.lines, seen.lines)
            text = overdue("report", self.file).out
            self.assertRegex(text, r"(?m)^p99 of clock_nanosleep: [\d.]+ms \(of 1,500\)$")
            refused = overdue("report", self.file, "-T", "30ms")
            self.assertEqual(refused.status, 2, refused)
            self.assertIn("are percentiles (clock_nanosleep=p99)", refused.err)

    def test_idle_naps_do_not_count(self):
        seen = stalls("-T", "p95", "--", *napper())
        row = percentile_of(seen.report, "clock_nanosleep")
        self.assertGreater(row["idle"], NAPS / 2)
        self.assertEqual(row["operations"] + row["idle"], NAPS)
        self.assertLessEqual(len(seen.named("clock_nanosleep")), 0.05 * NAPS)

    def test_other_spans_have_percentiles_too(self):
        nap = "nap=begin:syscalls:sys_enter_clock_nanosleep,end:syscalls:sys_exit_clock_nanosleep,key:tid"
        seen = stalls("--span", "offcpu,wakeup", "--span", nap, "-T", "p99,wakeup=10s", "--idle", "--", *napper())
        self.assertEqual(seen.finished.status, 0, seen.finished)
        self.assertEqual({row["name"] for row in seen.report["percentiles"]}, {"offcpu", "nap"})
        self.assertEqual(percentile_of(seen.report, "nap")["operations"], NAPS)
        self.assertGreaterEqual(percentile_of(seen.report, "offcpu")["operations"], NAPS * (1 - HIDDEN))
        for span in ("pair", "offcpu"):
            found = [finding for finding in seen.found if finding["span"] == span]
            self.assert_slow_naps(found, NAPS)

    def test_too_few_operations_have_no_percentile(self):
        report = f"{self.folder}/report"
        finished = overdue("stalls", "-T", "p99", "-o", report, "--", workload("nanosleep_loop"), 20, MS)
        self.assertEqual(finished.status, 0, finished)
        with open(report, encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, r"(?m)^too few operations for a percentile: .*\bnanosleep 20\b")
        self.assertNotIn("p99 of", text)

    def test_a_fixed_threshold_beside_a_percentile(self):
        seen = stalls("-T", "100s,getppid=p50", "--", workload("getppid_loop"), 3_000_000)
        self.assertEqual(seen.finished.status, 0, seen.finished)
        [row] = seen.report["percentiles"]
        self.assertEqual((row["name"], row["asked"]), ("getppid", "p50"))
        self.assertGreaterEqual(row["operations"], 2_990_000)
        self.assertNotEqual(row["percentile"], "p50", "half of a million calls a second is too much")
        self.assertEqual({finding["name"] for finding in seen.found} - {"getppid"}, set())

    def test_what_is_refused(self):
        for options, words in ((("-T", "p100"), "p50 to p99.99"), (("-T", "read=p"), "p50 to p99.99"),
                               (("-T", "thread:x=p99"), "of all threads"),
                               (("-T", "p99", "-T", "thread:x=1ms"), "those of threads are times"),
                               (("-T", "block=p99"), "not looked for")):
            refused = overdue("stalls", *options, "--", "true")
            self.assertEqual(refused.status, 2, refused)
            self.assertIn(words, refused.err)
        refused = overdue("record", "-T", "p99", "-o", self.file, "--", "true")
        self.assertEqual(refused.status, 2, refused)
        self.assertIn("only `overdue stalls`", refused.err)


if __name__ == "__main__":
    main()
