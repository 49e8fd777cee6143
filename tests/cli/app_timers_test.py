#!/usr/bin/python3
"""`overdue timerlat` with a target: app timers, which the target's own threads wait for."""
import json
import os
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import Live, attached, eventually, main, overdue, read_ndjson, require_root, tool, workload
from quota import PERIOD_MS, QUOTA_MS, QuotaMixin
from real_time import is_limited, setting

MS = 1_000_000
HIDDEN = 2

SLEEPS = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
while True: time.sleep(0.002)
"""
# A higher-priority thread on the sleeper's CPU, for 2 ms of every 7 ms.
HOG = """
import os, time
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
while True:
    end = time.monotonic() + 0.002
    while time.monotonic() < end: pass
    time.sleep(0.005)
"""


def python(text):
    return [sys.executable, "-c", text]


def timers(*arguments, status=0):
    """The JSON report of a run."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        finished = overdue("timerlat", "-f", "json", "-o", path, *arguments)
        assert finished.status == status, finished
        with open(path) as file:
            return json.load(file)


class KeptByQuota(QuotaMixin, unittest.TestCase):
    """Timers of a thread whose cgroup has used up its quota."""

    def setUp(self):
        require_root()
        self.require_quotas()

    def session(self, group):
        """The program's own account, and the latest wake-up of its sleeps."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report.json")
            finished = overdue("timerlat", "-f", "json", "-o", path, "--", tool("taskset"), "-c", "0",
                               workload("over_quota"), "tick", group.procs, 60)
            self.assertEqual(finished.status, 0, finished)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        own = json.loads(finished.out)
        row, = [row for row in report["timers"] if row["tid"] == own["tid"] and row["timer"] == "clock_nanosleep"]
        return own, row["latest"]

    def test_is_told_with_the_cgroup(self):
        group = self.group("overdue-timers", "api")
        group.limit(group.path)
        for _ in range(3):  # other programs that keep the CPU for long make another wake-up the latest
            own, latest = self.session(group)
            throttled = [part["ns"] for part in latest["parts"] if part["kind"] == "throttled"]
            self.assertGreater(own["late_ns"], 40 * MS, "it was never kept")
            self.assertLessEqual(latest["latency_ns"], own["late_ns"])
            self.assertGreater(latest["latency_ns"], 0.9 * own["late_ns"], latest)
            self.assertEqual(sum(part["ns"] for part in latest["parts"]), latest["latency_ns"], latest)
            if throttled:
                break
        # On a busy machine, the thread waits for the CPU after the throttling.
        self.assertGreater(sum(throttled), 0.4 * latest["latency_ns"], latest)
        self.assertEqual(latest["throttled_by"]["cgroup"], group.name)
        self.assertEqual((latest["throttled_by"]["quota_ns"], latest["throttled_by"]["period_ns"]),
                         (QUOTA_MS * MS, PERIOD_MS * MS))

    def test_text(self):
        group = self.group("overdue-timers-text")
        group.limit(group.path)
        finished = overdue("timerlat", "--", tool("taskset"), "-c", "0", workload("over_quota"), "tick", group.procs, 40)
        self.assertRegex(finished.err, r"throttled +\d[\d.]*ms  by cgroup /overdue-timers-text \(20.0ms of each 100ms\)")


class KeptByTheLimit(unittest.TestCase):
    """Timers of real-time threads that have used up the time of such threads on a CPU."""

    def test_is_told(self):
        require_root()
        if not is_limited():
            self.skipTest("this kernel has no limit for real-time threads")
        # A hypervisor that takes the CPU for longer than the limit does makes another wake-up the latest.
        for _ in range(3):
            own, lines, latest = self.session()
            late = [line for line in lines if line["type"] == "app_timer" and line["comm"] == "sleeper"]
            kept = [line for line in late if line["throttled_ns"] > 10 * MS]
            self.assertGreater(own["longest_ns"], 20 * MS, "it was never kept")
            self.assertTrue(kept, max(late, key=lambda line: line["run_ns"] - line["expires_ns"]))
            for line in kept:
                late_ns = line["run_ns"] - line["expires_ns"]
                self.assertGreater(line["throttled_ns"], 0.9 * (late_ns - line["behind_ns"]), line)
            self.assertEqual(sum(part["ns"] for part in latest["parts"]), latest["latency_ns"], latest)
            # The workload measures from the end of one sleep to the end of the next.
            self.assertLessEqual(latest["latency_ns"], own["longest_ns"] + 2 * MS)
            if "throttled_by" in latest: break
        throttled, = [part["ns"] for part in latest["parts"] if part["kind"] == "throttled"]
        self.assertGreater(throttled, 0.9 * latest["latency_ns"], latest)
        by = latest["throttled_by"]
        self.assertEqual((by["limit"], by["cgroup"], by["quota_ns"], by["period_ns"]),
                         ("real_time", "/", 1000 * setting("sched_rt_runtime_us"),
                          1000 * setting("sched_rt_period_us")))

    def session(self):
        """What the workload says of its sleeper, the lines of Overdue, and its latest wake-up of the sleeper."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lines.ndjson")
            finished = overdue("timerlat", "--trace", "-f", "ndjson", "-o", path, "--", workload("real_time_limit"),
                               os.cpu_count() - 1, 2200)
            self.assertEqual(finished.status, 0, finished)
            lines = read_ndjson(path)
        own = next(one for one in map(json.loads, finished.out.splitlines()) if one["name"] == "sleeper")
        report, = [line for line in lines if line["type"] == "report"]
        row, = [row for row in report["timers"] if row["comm"] == "sleeper"]
        return own, lines, row["latest"]


class AppTimers(unittest.TestCase):
    def setUp(self):
        require_root()

    def assert_sound(self, row):
        """The latest wake-up of a row adds up, and its figures are in order."""
        latest = row["latest"]
        self.assertEqual(sum(part["ns"] for part in latest["parts"]), latest["latency_ns"], latest)
        self.assertEqual(row["user"]["max_ns"], latest["latency_ns"])
        for figure in ("min_ns", "max_ns"):
            self.assertLessEqual(row["irq"][figure], row["thread"][figure], row)
            self.assertLessEqual(row["thread"][figure], row["user"][figure], row)
        for context in ("irq", "thread", "user"):
            self.assertEqual(row[context]["count"], row["irq"]["count"])

    def test_sleeps_of_a_program(self):
        report = timers("--", workload("nanosleep_loop"), 20, 3 * MS)
        row, = [row for row in report["timers"] if row["timer"] == "nanosleep"]
        # A hardened kernel may hide a switch, which is counted, or a wake-up, which is not.
        self.assertGreaterEqual(row["irq"]["count"] + report["receipt"]["unmatched"] + HIDDEN, 20)
        self.assertLessEqual(row["irq"]["count"], 20)
        self.assert_sound(row)
        self.assertEqual(row["comm"], "nanosleep_loop")
        self.assertGreater(report["receipt"]["probe_runs"], 20)
        self.assertIsNone(report["cause"])

    def test_of_a_thread_that_waits_with_the_library(self):
        """liboverdue-timerlat and the kernel's side report the same expiries and the same times."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lines.ndjson")
            finished = overdue("timerlat", "--trace", "-f", "ndjson", "-o", path, "--", workload("periodic"), 30, 3 * MS)
            self.assertEqual(finished.status, 0, finished)
            lines = read_ndjson(path)
        ours = {json.loads(line)["expires_ns"]: json.loads(line) for line in finished.out.splitlines()}
        self.assertEqual(len(ours), 30)
        kernels = {line["expires_ns"]: line for line in lines if line["type"] == "app_timer"}
        both = ours.keys() & kernels.keys()
        missed = sum(activation["missed"] for activation in ours.values())
        self.assertGreaterEqual(len(both) + lines[-1]["unmatched"] + missed + HIDDEN, 30)
        for expires_ns in both:
            # The end of the system call comes before the return to the program.
            back_ns = kernels[expires_ns]["time_ns"] - expires_ns
            self.assertLessEqual(back_ns, ours[expires_ns]["user_ns"])

    def test_text(self):
        finished = overdue("timerlat", "--", workload("nanosleep_loop"), 5, 3 * MS)
        self.assertIn(" nanosleep ", finished.err)
        self.assertRegex(finished.err, r"run queue +\S+  (behind|while the CPU idled|until it ran)")
        self.assertRegex(finished.err, r"\n\d+ events, 0 lost")

    def test_nothing(self):
        finished = overdue("timerlat", "--", tool("true"))
        self.assertIn("no thread of the target was woken by a timer", finished.err)

    def test_who_had_the_cpu_is_named(self):
        for _ in range(20):
            with Live(*python(HOG)) as hog, Live(*python(SLEEPS)) as sleeper:
                report = timers("--pid", sleeper.pid, "-d", "1s")
            row, = report["timers"]
            self.assert_sound(row)
            longest = max(row["latest"]["parts"], key=lambda part: part["ns"])
            if (longest["kind"], longest.get("tid")) == ("run queue", hog.pid) and longest["ran_ns"] > longest["ns"] / 2:
                break  # else the machine stood still once, or another thread ran too
        self.assertEqual((longest["kind"], longest.get("tid")), ("run queue", hog.pid), row["latest"])
        self.assertGreater(longest["ns"], MS / 5)
        self.assertGreater(longest["ran_ns"], longest["ns"] / 2)

    def test_stops_at_a_limit(self):
        with Live(*python(HOG)), Live(*python(SLEEPS)) as sleeper:
            report = timers("--pid", sleeper.pid, "-T", "1000", "-d", "20s", status=3)
        cause = report["cause"]
        self.assertEqual(cause["tid"], sleeper.pid)
        self.assertGreater(cause["latency_ns"], MS)
        self.assertLess(report["duration_ns"], 15_000 * MS)

    def test_every_wake_up(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lines.ndjson")
            overdue("timerlat", "--trace", "--stack", "1ns", "-f", "ndjson", "-o", path, "--",
                    workload("nanosleep_loop"), 10, 2 * MS)
            lines = read_ndjson(path)
        wakes = [line for line in lines if line["type"] == "app_timer"]
        self.assertEqual(len(wakes), lines[-1]["events"])
        self.assertGreaterEqual(len(wakes) + lines[-1]["unmatched"] + HIDDEN, 10)
        for wake in wakes:
            moments = [wake[key] for key in ("expires_ns", "irq_ns", "wake_ns", "run_ns", "time_ns")]
            self.assertEqual(moments, sorted(moments))
        self.assertEqual(lines[-2]["type"], "report")

    def test_intervals(self):
        def shown(text):
            lines = [json.loads(line) for line in text.split("\n")[:-1]]
            return [line for line in lines if line["type"] == "interval" and line["timers"]]

        with Live(*python(SLEEPS)) as sleeper, attached("timerlat", "--pid", sleeper.pid, "-i", "200ms", "-f",
                                                        "ndjson") as live:
            eventually(lambda: len(shown(live.out())) >= 3, 20, "it does not show three intervals")
            live.signal(signal.SIGINT)
            finished = live.finish()
        counts = [line["timers"][0]["irq"]["count"] for line in shown(finished.out)]
        self.assertEqual(counts, sorted(counts), "the sums so far")
        self.assertGreater(counts[-1], counts[0])

    def test_what_does_not_go_together(self):
        for option in ("--hist", "--trace", "--dma-latency=0"):
            finished = overdue("timerlat", option, "--", tool("true"))
            self.assertNotEqual(finished.status, 0)
            self.assertIn("is not for a target's own timers", finished.err)


if __name__ == "__main__":
    main()
