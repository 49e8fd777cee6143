#!/usr/bin/python3
"""`overdue worst`: the longest wake-up of the highest-priority thread, and the events meanwhile."""
import collections
import json
import os
import re
import signal
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, SLOWER, Footprint, Live, main, overdue, wait_until_measuring, workload
from worst_runs import CPU, ROUNDS, SPIN_MS, Case, Run, certain_ns, displaced

# A thread with a deadline that sleeps again and again; exits with 77 if the kernel refuses.
DEADLINE = """
import ctypes, struct, sys, time
open("/proc/self/comm", "w").write("in-time")
attr = struct.pack("=IIQiIQQQ", 48, 6, 0, 0, 0, 2_000_000, 10_000_000, 10_000_000)
libc = ctypes.CDLL(None, use_errno=True)
if libc.syscall(314, 0, attr, 0):
    sys.exit(77)
for _ in range(30):
    time.sleep(0.01)
"""


class Wakeup(Case):
    def test_is_the_one_behind_the_spinner(self):
        seen = self.run_behind_the_spinner(whole=True)
        window = seen.windows[0]
        self.assertEqual(window["lost_events"], 0, window)
        truth = self.assert_is_one_of(window, seen.truth)
        self.assertEqual((window["tracer"], window["exact"]), ("wakeup_rt", True))
        self.assertEqual((window["comm"], window["cpu"], window["queued_cpu"]), ("wakee", CPU, CPU))
        self.assertEqual((window["policy"], window["rt_priority"], window["prio"], window["nice"]), (1, 10, 89, 0))
        self.assertEqual(window["waker"]["comm"], "displaced_wakeu")
        self.assertNotEqual(window["waker"]["cpu"], CPU)
        waking = [frame["name"] for frame in window["waker"]["stack"]]
        self.assertEqual(waking[0], "try_to_wake_up")
        self.assertTrue(any("pipe_write" in name for name in waking), waking)
        self.assertEqual(window["end_stack"][0]["name"], "__schedule")
        self.assertTrue(any("pipe_read" in frame["name"] for frame in window["end_stack"]))
        self.assertEqual(seen.receipt["lost"], 0)
        self.assertGreaterEqual(seen.receipt["events"], ROUNDS)
        # The spinner was in the way; at the end, the CPU goes from the spinner to the wakee.
        self.assert_events_are_within(window)
        first, last = window["events"][0], window["events"][-1]
        self.assertEqual((first["event"], first["since_begin_ns"]), ("sched_waking", 0), window)
        self.assertEqual(first["other"]["tid"], truth["wakee"])
        self.assertEqual((last["event"], last["comm"], last["tid"], last["prio"], last["state"]),
                         ("sched_switch", "spinner", truth["spinner"], 49, "S"))
        self.assertEqual((last["other"]["comm"], last["other"]["prio"], last["time_ns"]),
                         ("wakee", 89, window["time_ns"]))
        here = [event for event in window["events"] if event["cpu"] == CPU]
        # Except the CPU's stopper, which has the highest priority: the watchdog may wake it.
        others = {event["comm"] for event in here if event["tid"] != truth["spinner"]}
        self.assertLessEqual(others, {f"migration/{CPU}"}, "nobody else ran there")
        queued = [event for event in window["events"] if event["event"] == "sched_wakeup"
                  and event["other"]["tid"] == truth["wakee"]]
        self.assertEqual([event["since_begin_ns"] for event in queued], [window["queued_ns"]])

    def test_text_is_the_kernels_format(self):
        for _ in range(10):
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "worst.txt")
                finished = overdue("worst", "wakeup_rt", "-o", path, *displaced())
                if finished.status == 77:
                    self.skipTest("no real-time priorities here")
                with open(path, encoding="utf-8") as file:
                    text = file.read()
            header = re.search(r"# latency: (\d+) us, #(\d+)/(\d+), CPU#0 \| \(M:\w+ VP:0, KP:0, SP:0 HP:0 #P:\d+\)\n",
                               text)
            self.assertTrue(header, text)
            truths = [json.loads(line) for line in finished.out.splitlines()]
            wakee, spinner = truths[0]["wakee"], truths[0]["spinner"]
            self.assertGreaterEqual(int(header[1]) * 1000 + 999, min(map(certain_ns, truths)))
            longest_ns = max(one["ran_ns"] - one["woken_ns"] for one in truths)
            # Behind the spinner, and whole, for the same reasons as in run_behind_the_spinner().
            if (min(map(certain_ns, truths)) > 0 and f"| task: wakee-{wakee} " in text and header[2] == header[3]
                    and int(header[1]) * 1000 <= longest_ns and re.search(rf"\+ \[\d+\] *{wakee}: ", text)):
                break
        self.assertLessEqual(int(header[1]) * 1000, longest_ns)
        self.assertEqual(header[2], header[3])
        self.assertIn("# tracer: wakeup_rt\n#\n# wakeup_rt latency trace v1.1.5 on ", text)
        self.assertIn(f"#    | task: wakee-{wakee} (uid:{os.getuid()} nice:0 policy:1 rt_prio:10)\n", text)
        lines = re.findall(r"^.{8}-\d+ +\d+[d.][Nnp.][ZzHhs.][0-9a-f.] +\d+us[$@*#!+ ]: .*$", text, re.MULTILINE)
        self.assertEqual(len(lines), int(header[2]), text)
        self.assertRegex(text, rf":R   \+ \[000\] *{wakee}: 89:R wakee\n")
        self.assertRegex(text, rf"\n spinner-{spinner} +0d\S\S\S +{header[1]}us : +{spinner}: 49:S ==> \[000\] *{wakee}: 89:R wakee\n")
        self.assertRegex(text, r"us : __schedule <-schedule\n")
        self.assertEqual(text.count("<stack trace>\n => "), 2)
        self.assertRegex(text, r"\n\d+ events?, \d+ (lost|LOST)")

    def test_interrupts_with_events_only(self):
        # The ticks in 20 ms of spinning.
        for options, expected in ((), False), (("--events",), True):
            window = self.run_behind_the_spinner(*options, at_least_ns=10_000_000).windows[0]
            self.assert_events_are_within(window)
            ticks = [event for event in window["events"] if event["event"] == "vector_entry" and event["cpu"] == CPU]
            self.assertEqual(bool(ticks), expected, window["events"])
            for event in ticks:
                self.assertEqual(event["comm"], "spinner")

    def test_keeps_as_many_as_are_wanted(self):
        seen = Run(self, "--keep", "2")
        self.assertEqual(len(seen.windows), 2)
        # On a slow machine, a wake-up of the spinner may be among them.
        found = [self.assert_is_one_of(window, seen.truth)["woken_ns"] for window in seen.of_wakee()]
        self.assertEqual(len(set(found)), len(found))
        self.assertGreater(len(found), 0, seen.windows)
        latencies = [window["latency_ns"] for window in seen.windows]
        self.assertEqual(latencies, sorted(latencies, reverse=True))

    def test_threshold_keeps_every_one(self):
        seen = Run(self, "-T", "5ms", rounds=6)
        found = [self.assert_is_one_of(window, seen.truth) for window in seen.of_wakee()]
        certain = [one for one in seen.truth if certain_ns(one) >= 5_000_000]
        self.assertGreater(len(certain), 0)
        if seen.receipt["lost"] == 0 and any("none given up" in note for note in seen.report["notes"]):
            # A hardened kernel may not report a wake-up.
            self.assertLessEqual(len([one for one in certain if one not in found]), 1, seen.report["notes"])
        self.assertEqual(found, [one for one in seen.truth if one in found], "in the order of time, each once")
        for window in seen.of_wakee():
            self.assert_events_are_within(window)
        for window in seen.windows:
            self.assertGreaterEqual(window["latency_ns"], 5_000_000)

    def test_longest_above_a_threshold(self):
        seen = self.run_behind_the_spinner("-T", "5ms", "--keep", "1", at_least_ns=5_000_000)
        self.assert_is_one_of(seen.windows[0], seen.truth)

    def test_nothing_found_is_said(self):
        for options, words in ((("-T", "10s"), "nothing found: none took 10"),
                               (("--cpu", "1"), "nothing found: no wake-up")):
            seen = Run(self, *options)
            windows = [one for one in seen.windows if one["comm"] in ("wakee", "spinner")]
            self.assertEqual(windows, [])
            self.assertTrue(any(words in note for note in seen.report["notes"]), seen.report["notes"])

    def test_another_target_has_none(self):
        with Live(workload("displaced_wakeup"), 6, SPIN_MS, CPU):
            report = overdue("worst", "wakeup_rt", "-n", "nobody-at-all", "-d", "400ms", "-f", "json")
            self.assertEqual(json.loads(report.out)["worst"], [], report)

    def test_target_by_name(self):
        with Live(workload("displaced_wakeup"), 100, SPIN_MS, CPU) as live:
            report = overdue("worst", "wakeup_rt", "-n", "wakee", "-d", "1s", "-f", "json")
            if live.process.poll() == 77:
                self.skipTest("no real-time priorities here")
        self.assertEqual([one["comm"] for one in json.loads(report.out)["worst"]], ["wakee"], report)

    def test_deadline(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "worst.json")
            finished = overdue("worst", "wakeup_dl", "-f", "json", "-o", path, "--", "/usr/bin/python3", "-c", DEADLINE)
            if finished.status == 77:
                self.skipTest("the kernel gives no deadlines")
            self.assertEqual(finished.status, 0, finished)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        window = report["worst"][0]
        self.assertEqual((window["comm"], window["policy"], window["prio"]), ("in-time", 6, -1))
        self.assertGreaterEqual(report["receipt"]["events"], 20)
        # wakeup_dl does not track threads with real-time priorities.
        finished = overdue("worst", "wakeup_dl", "-f", "json", "-o", "/dev/null", *displaced())
        self.assertEqual(finished.status, 0)


class OfATarget(Case):
    """Threads whose timers expire on the CPU of a higher-priority thread, and wake them there."""

    def measure(self, *options, rounds=ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "worst.json")
            finished = overdue("worst", "wakeup_rt", "-f", "json", "-o", path, *options, "--",
                               workload("late_behind"), rounds, SPIN_MS, CPU)
            if finished.status == 77:
                self.skipTest(f"no real-time priorities here: {finished.err}")
            self.assertEqual(finished.status, 0, finished)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        return report, [json.loads(line) for line in finished.out.splitlines()]

    def test_a_thread_that_waits_behind_a_more_urgent_one_is_followed(self):
        report, truth = self.measure()
        window, = report["worst"]
        self.assertEqual(window["comm"], "wakee", report["notes"])
        fitting = [one for one in truth if one["due_ns"] <= window["begin_ns"] <= one["spun_until_ns"]]
        self.assertEqual(len(fitting), 1, (window, truth))
        self.assertGreaterEqual(window["time_ns"], fitting[0]["spun_until_ns"])
        # A hypervisor may hold the timer's interrupt back, but not in each of the rounds.
        self.assertGreater(window["latency_ns"], SPIN_MS * 1_000_000 // 2, report["notes"])
        self.assertEqual(window["waker"]["comm"], "spinner", "the interrupted thread")
        self.assertTrue(any("hrtimer" in frame["name"] for frame in window["waker"]["stack"]), window["waker"])

    def test_each_of_several_that_wait_at_once_is_followed(self):
        rounds = 6
        report, truth = self.measure("--keep", "100", "-T", "2ms", rounds=rounds)
        windows = [one for one in report["worst"] if one["comm"] == "wakee"]
        wakees = {wakee["tid"] for wakee in truth[0]["wakees"]}
        self.assertEqual(len(wakees), 2)
        found = collections.Counter((window["tid"], one["due_ns"]) for window in windows for one in truth
                                    if one["due_ns"] <= window["begin_ns"] <= one["spun_until_ns"])
        late = {(wakee, one["due_ns"]) for wakee in wakees for one in truth}
        # A hardened kernel may not report a wake-up, and a hypervisor may hold back a timer. An emulator runs all CPUs in
        # turn: the reader comes too late for some windows, and the receipt counts these.
        lost = 0 if SLOWER == 1 else report["receipt"]["lost_by"].get("windows", 0)
        self.assertGreaterEqual(len(late & set(found)) + lost, 2 * rounds - 2,
                                (found, report["notes"], report["receipt"]))
        self.assertEqual(set(found.values()), {1}, "each once")
        whole = [window for window in windows if not window["lost_events"]]
        self.assertGreater(len(whole) + lost, rounds, "also the second of two, whose begin lies before the first one's end")
        for window in whole:
            self.assertEqual(window["events"][0]["event"], "sched_waking", window)
            self.assert_events_are_within(window)
            self.assertEqual(window["events"][-1]["other"]["tid"], window["tid"])

    def test_events_are_within(self):
        report, _ = self.measure("--events")
        window, = report["worst"]
        self.assert_events_are_within(window)
        self.assertTrue(any(event["event"] == "vector_entry" for event in window["events"]), window["events"])


class Errors(Case):
    def test_what_the_kernels_tracer_cannot(self):
        for arguments in (["-p", "1"], ["-T", "1ms"], ["--keep", "2"], ["--cpu", "0"]):
            finished = overdue("worst", "wakeup", "--backend", "kernel", *arguments)
            self.assertEqual(finished.status, 2, finished)
            self.assertIn("--backend bpf", finished.err)
        finished = overdue("worst", "irqsoff", "--graph")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("hint: --functions", finished.err)
        finished = overdue("worst", "irqsoff", "--backend", "bpf", "--events")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("--events", finished.err)

    def test_what_is_refused(self):
        for arguments, words in (
                (["wakeupp"], "did you mean wakeup"), (["wakeup", "--keep", "0"], "--keep 0"),
                (["wakeup", "-T", "0s"], "threshold of 0"), (["wakeup", "-T", "5"], "unit"),
                (["wakeup", "-f", "cvs"], "unknown format"), ([], "latency is required")):
            finished = overdue("worst", *arguments)
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(words, finished.err)
            self.assertEqual(finished.out, "")


class Safety(Case):
    def test_killed_leaves_nothing(self):
        for seconds in (0, 0.05, 0.3):
            with Live(OVERDUE, "worst", "wakeup_rt", "--events", "-v") as live:
                wait_until_measuring(live)
                time.sleep(seconds)
                footprint = Footprint(live.pid)
                self.assertFalse(footprint.empty())
                live.signal(signal.SIGKILL)
                live.process.wait()
            footprint.assert_gone()

    def test_interrupted_prints_the_report(self):
        with Live(OVERDUE, "worst", "wakeup_rt", "-v") as live:
            wait_until_measuring(live)
            live.signal(signal.SIGINT)
            finished = live.finish()
        self.assertEqual(finished.status, 0)
        self.assertRegex(finished.out, r"\d+ events?, \d+ (lost|LOST).*, \d+ unmatched, \d+ cut")


if __name__ == "__main__":
    main()
