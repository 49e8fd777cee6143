"""Runs of `overdue worst wakeup_rt` over a workload whose longest wake-up is known."""
import collections
import json
import os
import tempfile
import unittest

from overdue_test import TRACEFS, overdue, require_root, workload

ROUNDS, SPIN_MS, CPU = 3, 20, 0
ROOM = 1024  # events of a CPU in a window, at most


def displaced(rounds=ROUNDS):
    return "--", workload("displaced_wakeup"), rounds, SPIN_MS, CPU


def certain_ns(one):
    """The least time that the wakee waited for the spinner; negative if it was woken later."""
    return one["spun_until_ns"] - one["woken_by_ns"]


def has_tracer(name):
    with open(f"{TRACEFS}/available_tracers", encoding="ascii") as file:
        return name in file.read().split()


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
