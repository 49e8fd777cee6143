#!/usr/bin/python3
"""`overdue worst`: the longest wake-up of the highest-priority thread, and the events meanwhile."""
import collections
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, TRACEFS, Footprint, Live, eventually, left_out, main, overdue, require_root, run
from overdue_test import wait_until_measuring, workload

ROUNDS, SPIN_MS, CPU = 3, 20, 0
ROOM = 1024  # events of a CPU in a window, at most

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


def displaced(rounds=ROUNDS):
    return "--", workload("displaced_wakeup"), rounds, SPIN_MS, CPU


def certain_ns(one):
    """The least time that the wakee waited for the spinner; negative if it was woken later."""
    return one["spun_until_ns"] - one["woken_by_ns"]


class Run:
    """A run over the workload: the windows, the receipt, and the truth."""

    def __init__(self, test, *options, rounds=ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "worst.json")
            self.finished = overdue("worst", "wakeup_rt", "-f", "json", "-o", path, *options, *displaced(rounds))
            if self.finished.status == 77:
                test.skipTest(f"no real-time priorities here: {self.finished.err}")
            test.assertEqual(self.finished.status, 0, self.finished)
            lines = None
            with open(path, encoding="utf-8") as file:
                text = file.read()
            if text.startswith('{"type"'):
                lines = [json.loads(line) for line in text.splitlines()]
        if lines is None:
            self.report = json.loads(text)
            self.windows, self.receipt = self.report["worst"], self.report["receipt"]
        else:
            self.windows = [line for line in lines if line["type"] == "worst"]
            self.report = next(line for line in lines if line["type"] == "report")
            self.receipt = lines[-1]
        self.truth = [json.loads(line) for line in self.finished.out.splitlines()]

    def is_behind_the_spinner(self, at_least_ns):
        """Whether the longest window is of a round with such a wait for the spinner."""
        return any(one["woken_ns"] <= self.windows[0]["begin_ns"] <= one["ran_ns"]
                   and certain_ns(one) > at_least_ns for one in self.truth)

    def of_wakee(self):
        """The windows of the rounds: the wakee is also woken at its begin and for its end."""
        return [one for one in self.windows if one["comm"] == "wakee"
                and self.truth[0]["woken_ns"] <= one["begin_ns"] <= self.truth[-1]["ran_ns"]]


class Case(unittest.TestCase):
    def setUp(self):
        require_root()
        if os.cpu_count() < 2:
            self.skipTest("needs a second CPU")

    def run_behind_the_spinner(self, *options, at_least_ns=0, whole=False):
        """A run whose longest wake-up is behind the spinner. On a busy machine, another wake-up may
        be longer, or come after the spinner. `whole`: with all events, and the time of queueing.
        Otherwise there may be no room for all events, or the kernel may not report the queueing."""
        for _ in range(10):
            seen = Run(self, *options)
            certain = max(map(certain_ns, seen.truth))
            if not seen.windows:
                self.assertLess(certain, at_least_ns, seen.report["notes"])
                continue
            window, = seen.windows
            if not seen.is_behind_the_spinner(at_least_ns):
                self.assertIn(window["comm"], ("wakee", "spinner"))
                self.assertGreaterEqual(window["latency_ns"], certain)
            elif whole and window["lost_events"]:
                on_cpus = collections.Counter(event["cpu"] for event in window["events"])
                self.assertGreater(max(on_cpus.values()), 0.9 * ROOM, "lost, with room for more")
            elif not whole or "queued_ns" in window:
                break
        return seen

    def assert_is_one_of(self, window, truth):
        """The window of a wake-up of the workload: it begins after the thread is woken and ends when the CPU is
        free, before the thread runs."""
        fitting = [one for one in truth if one["woken_ns"] <= window["begin_ns"] <= one["ran_ns"]]
        self.assertEqual(len(fitting), 1, (window, truth))
        one = fitting[0]
        self.assertGreaterEqual(window["time_ns"], one["spun_until_ns"])
        self.assertLessEqual(window["time_ns"], one["ran_ns"])
        self.assertEqual(window["latency_ns"], window["time_ns"] - window["begin_ns"])
        self.assertEqual(window["tid"], one["wakee"])
        return one

    def assert_events_are_within(self, window):
        times = [event["time_ns"] for event in window["events"]]
        self.assertEqual(times, sorted(times))
        self.assertGreaterEqual(times[0], window["begin_ns"])
        self.assertLessEqual(times[-1], window["time_ns"])
        for event in window["events"]:
            self.assertEqual(event["since_begin_ns"], event["time_ns"] - window["begin_ns"])


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
        # A hardened kernel may not report a wake-up, and a hypervisor may hold back a timer.
        self.assertGreaterEqual(len(late & set(found)), 2 * rounds - 2, (found, report["notes"], report["receipt"]))
        self.assertEqual(set(found.values()), {1}, "each once")
        whole = [window for window in windows if not window["lost_events"]]
        self.assertGreater(len(whole), rounds, "also the second of two, whose begin lies before the first one's end")
        for window in whole:
            self.assertEqual(window["events"][0]["event"], "sched_waking", window)
            self.assert_events_are_within(window)
            self.assertEqual(window["events"][-1]["other"]["tid"], window["tid"])

    def test_events_are_within(self):
        report, _ = self.measure("--events")
        window, = report["worst"]
        self.assert_events_are_within(window)
        self.assertTrue(any(event["event"] == "vector_entry" for event in window["events"]), window["events"])


def has_tracer(name):
    with open(f"{TRACEFS}/available_tracers", encoding="ascii") as file:
        return name in file.read().split()


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
    disable interrupts or preemption: sections_test has one."""

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
