"""Shared by the tests of `overdue stalls`: a run, its findings, and checks for every finding."""
import json
import os
import tempfile
import unittest

from overdue_test import SLOWER, overdue, read_ndjson, require_root, tool

MS = 1_000_000
PARTS = {"oncpu_ns", "runqueue_ns", "preempted_ns", "throttled_ns", "blocked_ns", "irq_ns", "softirq_ns",
         "unknown_ns"}
KEYS = ["type", "number", "span", "name", "time_ns", "pid", "tid", "comm", "thread", "cpu", "latency_ns"]


class Stalls:
    """The findings of a run of `overdue stalls -f ndjson`, and the program's output."""

    def __init__(self, lines, finished):
        self.lines, self.finished = lines, finished
        self.found = [line for line in lines if line["type"] == "stall"]
        self.report, self.receipt = lines[-2], lines[-1]
        self.notes = self.report["notes"]

    def named(self, name):
        return [finding for finding in self.found if finding["name"] == name]

    def events(self, kind):
        """The events of one kind that a demo printed about itself."""
        return [event for event in map(json.loads, self.finished.out.splitlines()) if event["type"] == kind]


def stalls(*arguments, **options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stalls.ndjson")
        finished = overdue("stalls", "-f", "ndjson", "-o", path, *arguments, **options)
        try:
            return Stalls(read_ndjson(path), finished)
        except (OSError, ValueError) as error:
            raise AssertionError(f"no findings ({error}): {finished}") from None


def text_of(*arguments, **options):
    """(The text report, the finished run). The program must print nothing to standard error."""
    finished = overdue("stalls", *arguments, **options)
    return finished.err.encode("latin-1").decode(), finished


def real_time():
    """A command prefix for real-time priority, so that the program's times and ours agree."""
    return [tool("chrt"), "-f", "10"]


def functions(stack):
    return [frame["name"] for frame in stack]


def begin_of(finding):
    return finding["time_ns"] - finding["latency_ns"]


def is_within(finding, event):
    """Whether the finding is a call within the time of a demo's event."""
    return (finding["tid"] == event["tid"] and begin_of(finding) >= event["time_ns"]
            and finding["time_ns"] <= event["time_ns"] + event["took_ns"])


def blocked_ns(wait):
    could_run = wait["state"] in ("preempted", "throttled", "unknown")
    return 0 if could_run else wait["ns"] - wait["runqueue_ns"] - wait["throttled_ns"]


def has_unseen_wait(finding):
    """Whether the kernel did not report a switch: the wait is then known, but not its function."""
    return any(not wait["kernel_stack"] for wait in finding["waits"])


def longest_wait(finding):
    return max(finding["waits"], key=blocked_ns)


def context_of(wait):
    """The context of the waker; empty if the kernel did not report the wake-up."""
    return wait.get("waker", {}).get("context", "")


def ms(nanoseconds):
    return f"{nanoseconds / MS:.3f}"


def described(finding):
    """The parts of a finding in one line, to explain a failure on another machine."""
    parts = " ".join(f"{name[:-3]} {ms(value)}" for name, value in finding["breakdown"].items() if value)
    waits = "; ".join(
        f"{ms(wait['ns'])} {wait['state']}, of it run queue {ms(wait['runqueue_ns'])}, in "
        f"{' < '.join(functions(wait['kernel_stack'])[:6]) or 'a place not seen'}, ended by "
        f"{context_of(wait) or 'nobody seen'} {wait.get('waker', {}).get('comm', '')}"
        for wait in sorted(finding["waits"], key=lambda wait: -wait["ns"])[:3])
    chain = "; ".join(f"{link.get('comm', 'an interrupt')} {link['what']}" for link in finding["chain"])
    return (f"#{finding['number']} {finding['name']} of {finding['comm']}[{finding['tid']}] "
            f"{ms(finding['latency_ns'])} ms: {parts} (uninterruptible "
            f"{ms(finding['blocked']['uninterruptible_ns'])}); {len(finding['waits'])} waits: {waits}; chain: {chain}")


def described_all(findings):
    return "".join("\n  " + described(finding) for finding in findings)


class Case(unittest.TestCase):
    def setUp(self):
        require_root()

    def assert_sound(self, seen, status=0):
        """Checks that hold for every run."""
        self.assertEqual(seen.finished.status, status, seen.finished)
        self.assertEqual(seen.receipt["type"], "receipt")
        self.assertEqual(seen.report["type"], "report")
        self.assertEqual((seen.receipt["lost"], seen.receipt["unmatched"]), (0, 0), seen.receipt)
        begin = seen.report["start_ns"]
        for finding in seen.found:
            self.assert_adds_up(finding)
            self.assertGreaterEqual(begin_of(finding), begin, finding)
            self.assertLessEqual(finding["time_ns"], begin + seen.report["duration_ns"], finding)

    def assert_adds_up(self, finding):
        self.assertEqual(set(finding["breakdown"]), PARTS)
        self.assertEqual(sum(finding["breakdown"].values()), finding["latency_ns"], described(finding))
        self.assertEqual(sum(finding["blocked"].values()), finding["breakdown"]["blocked_ns"], described(finding))
        # A hardened kernel hides two switches in a thousand: the preemption between them is not known. An emulated
        # CPU takes long to come out of idle: the thread is runnable, and no other thread runs.
        waking_up = 0 if SLOWER == 1 else sum(share["ns"] for wait in finding["waits"] if wait["state"] == "preempted"
                                              for share in wait.get("ran", []) if share["tid"] == 0)
        self.assertLessEqual(finding["breakdown"]["unknown_ns"] - waking_up,
                             max(0.02 * finding["latency_ns"], MS / 10), described(finding))
        within = sum(wait["ns"] for wait in finding["waits"])
        self.assertLessEqual(within, finding["latency_ns"], f"waits are within the span: {described(finding)}")

    def with_wakers(self, findings):
        """The findings whose longest wait has a waker: a hardened kernel hides some wake-ups."""
        known = [finding for finding in findings if finding["waits"] and "waker" in longest_wait(finding)]
        self.assertGreater(len(known), len(findings) / 2,
                           f"the kernel reports the wakers: {described_all(findings)}")
        return known

    def assert_complete(self, finding, *names):
        """The user stack leads from the start of the program or thread to the call, past `names`, outermost first."""
        self.assertNotIn("user_stack_end", finding)
        path = functions(reversed(finding["user_stack"]))
        self.assertIn(path[0], ("_start", "clone3", "__clone3", "clone", "__clone", "[thread start]"), path)
        at = 0
        for name in names:
            self.assertIn(name, path[at:], path)
            at = path.index(name, at) + 1
