#!/usr/bin/python3
"""`overdue worst` with the kernel's own tracers, and the lower bounds where there are none."""
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, TRACEFS, Live, eventually, left_out, main, overdue, wait_until_measuring, workload
from worst_runs import CPU, ROUNDS, SPIN_MS, Case, Run, certain_ns, has_tracer


class Native(Case):
    """The kernel's own tracer, if the kernel has one."""

    def setUp(self):
        super().setUp()
        if not os.path.exists(f"{TRACEFS}/instances"):
            self.skipTest("tracefs is not mounted")
        self.before = self.settings()
        self.addCleanup(lambda: self.assertEqual(self.settings(), self.before))

    @staticmethod
    def settings():
        """The settings of the global instance, and the names of the others."""
        values = {"instances": sorted(os.listdir(f"{TRACEFS}/instances"))}
        for name in ("current_tracer", "tracing_on", "trace_clock", "tracing_thresh", "tracing_max_latency",
                     "trace_options", "events/sched/enable"):
            with contextlib.suppress(OSError), open(f"{TRACEFS}/{name}", encoding="ascii") as file:
                values[name] = file.read()
        return values

    def need(self, name):
        if not has_tracer(name):
            self.skipTest(f"this kernel has no tracer {name}")

    def test_without_the_tracer_it_says_so(self):
        if has_tracer("wakeup_rt"):
            self.skipTest("this kernel has the tracer")
        for arguments in (["wakeup_rt", "--backend", "kernel"], ["irqsoff", "--backend", "kernel"]):
            finished = overdue("worst", *arguments, "-d", "100ms")
            self.assertEqual(finished.status, 1, finished)
            self.assertIn(f"the kernel has no tracer {arguments[0]}", finished.err)

    def side_by_side(self):
        with Live(workload("displaced_wakeup"), 200, SPIN_MS, CPU) as live:
            with Live(OVERDUE, "worst", "wakeup_rt", "--backend", "bpf", "-v", "-f", "json") as ours:
                wait_until_measuring(ours)
                native = overdue("worst", "wakeup_rt", "--backend", "kernel", "-d", "2s", "-f", "json", "--events")
                ours.signal(signal.SIGINT)
                mine = ours.finish()
            if live.process.poll() == 77:
                self.skipTest("no real-time priorities here")
        self.assertEqual((native.status, mine.status), (0, 0), (native, mine))
        return json.loads(native.out)["worst"][0], json.loads(mine.out)["worst"][0]

    def test_agrees_with_ours(self):
        self.need("wakeup_rt")
        # The kernel's tracer also tracks a thread that is woken while it still runs, until the next
        # switch to it: that is no latency, and longer than any here.
        for _ in range(5):
            native, mine = self.side_by_side()
            print(f"kernel: {native['comm']} {native['latency_ns']} ns; ours: {mine['comm']} {mine['latency_ns']} ns, "
                  f"of which {mine.get('queued_ns')} ns before it was in a run queue")
            if native["comm"] == "wakee" and native["latency_ns"] < 2_000_000 * SPIN_MS:
                break
        else:
            self.skipTest("the kernel's tracer reported of no wake-up of the workload's")
        self.assertEqual((native["policy"], native["rt_priority"], native["nice"]), (1, 10, 0))
        # Our session begins before the tracer and ends after it: its longest wake-up is no shorter.
        self.assertGreaterEqual(mine["latency_ns"], native["latency_ns"] * 9 // 10)
        text = "\n".join(native["lines"])
        self.assertRegex(text, r"==> \[000\] *\d+: 89:R wakee")
        self.assertRegex(text, r"sched_switch: |sched_waking: ")

    def test_text(self):
        self.need("wakeup_rt")
        with Live(workload("displaced_wakeup"), 100, SPIN_MS, CPU):
            finished = overdue("worst", "wakeup_rt", "--backend", "kernel", "-d", "1s")
        self.assertEqual(finished.status, 0, finished)
        self.assertIn("\n# wakeup_rt latency trace v1.1.5 on ", finished.out)
        self.assertRegex(finished.out, r"\| task: wakee-\d+ \(uid:0 nice:0 policy:1 rt_prio:10\)")

    def lines_of(self, *options):
        """The lines of the kernel's wakeup_rt about the longest wake-up while the workload runs."""
        self.need("wakeup_rt")
        seen = Run(self, "--backend", "kernel", *options)
        self.assertEqual(len(seen.truth), ROUNDS)
        self.assertEqual(seen.report["backend"], "the kernel's tracer wakeup_rt")
        self.assertIn("the kernel's tracer tracked the whole machine, not only the program", seen.report["notes"])
        # Other threads are woken too: the longest latency may be theirs, but is not shorter.
        self.assertGreaterEqual(seen.windows[0]["latency_ns"] + 1000, max(map(certain_ns, seen.truth)))
        return seen.windows[0]["lines"]

    def test_shows_what_it_has_seen(self):
        """Also a wake-up that is under way when the tracer begins or ends."""
        self.need("wakeup_rt")
        with Live(workload("displaced_wakeup"), 1000, SPIN_MS, CPU):
            for _ in range(20):
                finished = overdue("worst", "wakeup_rt", "--backend", "kernel", "-d", "150ms", "-f", "json")
                self.assertEqual(finished.status, 0, finished)
                lines = json.loads(finished.out)["worst"][0]["lines"]
                self.assertTrue(any(" ==> " in line for line in lines), lines)

    def test_functions(self):
        called = re.compile(r"us.: \w+(?:\.\w+)* <-\w+")
        few, many = self.lines_of(), self.lines_of("--functions")
        of_few, of_many = (sum(called.search(line) is not None for line in lines) for lines in (few, many))
        print(f"{of_few} functions, and with --functions {of_many}")
        # The tracer itself reports the function that woke, and the one that switched.
        self.assertLessEqual(of_few, 2, few)
        self.assertGreater(of_many, 50, many)

    def test_graph(self):
        text = "\n".join(self.lines_of("--graph"))
        self.assertRegex(text, r"\n# +REL TIME +CPU +TASK/PID +.*DURATION +FUNCTION CALLS\n")
        self.assertRegex(text, r"\n[^\n]*us +\|  +\w+(\.\w+)*\(\);\n", "a function that calls none")
        self.assertRegex(text, r"\n[^\n]*\|  +\w+(\.\w+)*\(\) \{\n", "one that calls others")

    def test_functions_need_the_tracer(self):
        if not has_tracer("irqsoff"):
            finished = overdue("worst", "irqsoff", "--functions", "-d", "100ms")
            self.assertEqual(finished.status, 1, finished)
            self.assertIn("cannot tell which functions ran: the kernel has no tracer irqsoff", finished.err)
        for option in ("--functions", "--graph"):
            finished = overdue("worst", "wakeup_rt", option, "--backend", "bpf", "-d", "100ms")
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(f"leave {option} out, or use --backend kernel", finished.err)

    def test_killed_leaves_nothing(self):
        self.need("wakeup_rt")
        for seconds, options in (0.05, ["--events"]), (0.2, []), (0.5, ["--graph"]), (1, ["--functions", "--events"]):
            with Live(OVERDUE, "worst", "wakeup_rt", "--backend", "kernel", *options) as live:
                time.sleep(seconds)
                live.signal(signal.SIGKILL)
                live.process.wait()
            eventually(lambda: self.settings() == self.before, 20, "something is left in tracefs")


class LowerBounds(Case):
    """The BPF backend, for kernels without the tracers. Only a program in the kernel can surely
    disable interrupts or preemption: probes_test has one."""

    def need(self, name):
        finished = overdue("worst", name, "--backend", "bpf", "-d", "10ms")
        if finished.status == 1 and "cannot find disabled" in finished.err:
            self.skipTest(finished.err.strip())
        self.assertEqual(finished.status, 0, finished)

    def test_say_that_they_are_that(self):
        for name in ("irqsoff", "preemptoff", "preemptirqsoff"):
            with self.subTest(name):
                self.need(name)
                finished = overdue("worst", name, "--backend", "bpf", "-d", "1s", "--keep", "3")
                self.assertEqual(finished.status, 0, finished)
                self.assertIn("note: lower bounds: ", finished.out)
                for header in re.findall(rf"^# {name} latency trace v1\.1\.5.*?^#  +cmd ", finished.out, re.M | re.S):
                    self.assertIn("#  => at least that: ", header)

    def test_a_short_run_shows_the_longest_that_it_has_seen(self):
        """Sections from before the measurement must not count."""
        for name in ("irqsoff", "preemptirqsoff"):
            self.need(name)
            for _ in range(20):
                report = json.loads(overdue("worst", name, "--backend", "bpf", "-d", "60ms", "-f", "json").out)
                reported = any("nothing found" in note or "is not shown" in note for note in report["notes"])
                self.assertTrue(report["worst"] or reported, report)

    def test_the_longest_of_a_busy_machine(self):
        self.need("preemptirqsoff")
        with Live("sh", "-c", "while :; do /bin/true; done"), Live("sh", "-c", "while :; do /bin/true; done"):
            finished = overdue("worst", "preemptirqsoff", "--backend", "bpf", "-d", "2s", "--keep", "5", "-f", "json")
        report = json.loads(finished.out)
        windows = report["worst"]
        self.assertEqual(len(windows), 5, finished)
        lengths = [window["latency_ns"] for window in windows]
        self.assertEqual(lengths, sorted(lengths, reverse=True))
        for window in windows:
            self.assertFalse(window["exact"])
            self.assertEqual(window["time_ns"] - window["begin_ns"], window["latency_ns"])
            self.assertGreater(len(window["end_stack"]), 0)
            self.assertNotIn("waker", window)
        self.assertGreater(report["receipt"]["events"], 5)
        # With PREEMPT_RT, our programs are preempted themselves, and the kernel skips their runs
        # meanwhile. Without a target, no section needs storage for threads, which may be refused.
        receipt = report["receipt"]
        not_kept = receipt["lost_by"].get("task_storage", 0)
        self.assertEqual(receipt["lost"] - not_kept, left_out(receipt), receipt)

    def test_over_a_threshold_as_they_come(self):
        self.need("irqsoff")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "found")
            finished = overdue("worst", "irqsoff", "--backend", "bpf", "-T", "1us", "-f", "ndjson", "-o", path, "--",
                               "sh", "-c", "dd if=/dev/zero of=/dev/null bs=64M count=100 2>&1")
            with open(path, encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
        found = [line for line in lines if line["type"] == "worst"]
        self.assertGreater(len(found), 0, finished)
        for line in found:
            self.assertGreaterEqual(line["latency_ns"], 1000)
            self.assertIn(line["comm"], ("sh", "dd", "overdue"))
        self.assertEqual(lines[-1]["type"], "receipt")


if __name__ == "__main__":
    main()
