#!/usr/bin/python3
"""`overdue worst hwlat`: time that the hardware takes."""
import json
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, Live, main, overdue, run, wait_until_measuring, workload
from worst_runs import Case, has_tracer

HWLAT = re.compile(r" +osnoise/(?P<cpu>\d+)-\d+ +\[\d{3}\] \.{4} +(?P<time>\d+\.\d{6}): #(?P<number>\d+) +"
                   r"inner/outer\(us\): +(?P<inner>\d+)/(?P<outer>\d+) +ts:(?P<wall>\d+\.\d{9}) count:(?P<count>\d+)"
                   r"(?: nmi-total:\d+ nmi-count:\d+)?")


class Hardware(Case):
    """`hwlat`, with busy threads of ours. This machine may have no such latencies: with a threshold
    of a microsecond, the unexplained part of every tick is one."""

    def test_lines_are_the_kernels(self):
        begin = time.time()
        finished = overdue("worst", "hwlat", "--backend", "bpf", "-T", "1us", "--window", "100ms", "--width", "50ms",
                           "-d", "1500ms")
        end = time.time()
        self.assertEqual(finished.status, 0, finished)
        self.assertTrue(finished.out.startswith("# tracer: hwlat\n#\n"), finished)
        lines = [line for line in finished.out.split("\n\n")[0].splitlines() if not line.startswith("#")]
        matches = [HWLAT.fullmatch(line) for line in lines]
        self.assertNotIn(None, matches, lines)
        self.assertGreater(len(matches), 2, finished)
        self.assertEqual([int(match["number"]) for match in matches], list(range(1, len(matches) + 1)))
        times = [float(match["time"]) for match in matches]
        self.assertEqual(times, sorted(times))
        for match in matches:
            self.assertGreaterEqual(max(int(match["inner"]), int(match["outer"])), 1, match[0])
            self.assertTrue(begin <= float(match["wall"]) <= end, (begin, match[0], end))
            self.assertGreater(int(match["count"]), 0)
        # The CPUs are measured one after the other.
        self.assertGreater(len({match["cpu"] for match in matches}), 1, lines)
        self.assertIn("measured with interrupts on", finished.out)

    def test_what_has_a_cause_is_none(self):
        """20 ms of a higher-priority thread: a stall, but not a hardware latency."""
        with Live(OVERDUE, "worst", "hwlat", "--backend", "bpf", "-T", "15ms", "--width", "900ms", "--cpu", "0", "-f",
                  "json", "-v") as live:
            wait_until_measuring(live)
            time.sleep(0.1)
            ran = run([workload("fifo_hog"), "0", "60", "20", "5"]).out.split()
            live.signal(signal.SIGINT)
            finished = live.finish()
        if not ran:
            self.skipTest("no real-time priorities here")
        self.assertEqual(finished.status, 0, finished)
        report = json.loads(finished.out)
        self.assertEqual({key: report["hwlat"][key] for key in ("interrupts_off", "threshold_ns", "width_ns")},
                         {"interrupts_off": False, "threshold_ns": 15_000_000, "width_ns": 900_000_000})
        self.assertGreaterEqual(report["receipt"]["events"], 3)
        explained = [int(note.split()[0]) for note in report["notes"] if "explain them" in note]
        self.assertGreaterEqual(explained[0], 3, report)
        # A machine may stop that long by itself, but hardly each time that the thread ran.
        self.assertLess(sum(window["count"] for window in report["hwlat"]["windows"]), 3, report)

    def test_what_is_refused(self):
        for arguments, words in ((["--width", "2s"], "95 %"), (["-T", "1ns"], "below 1us"), (["-p", "1"], "no target"),
                                 (["--keep", "2"], "--keep is not for hwlat"), (["--events"], "--events is not"),
                                 (["--backend", "kernel", "-T", "5us"], "not ours to change")):
            finished = overdue("worst", "hwlat", *arguments, "-d", "1s")
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(words, finished.err)
        finished = overdue("worst", "wakeup", "--width", "1ms")
        self.assertEqual(finished.status, 2, finished)

    def test_native(self):
        if has_tracer("hwlat"):
            finished = overdue("worst", "hwlat", "-d", "2s")
            self.assertEqual(finished.status, 0, finished)
            self.assertIn("interrupts were off", finished.out)
        else:
            finished = overdue("worst", "hwlat", "--backend", "kernel", "-d", "1s")
            self.assertEqual(finished.status, 1, finished)
            self.assertIn("the kernel has no tracer hwlat", finished.err)


if __name__ == "__main__":
    main()
