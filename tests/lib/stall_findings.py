"""What the tests of `overdue stalls` share: a run, what it found, and what must hold of every finding."""
import json
import os
import tempfile
import unittest

from overdue_test import overdue, read_ndjson, require_root, tool

MS = 1_000_000
PARTS = {"oncpu_ns", "runqueue_ns", "preempted_ns", "throttled_ns", "blocked_ns", "irq_ns", "softirq_ns",
         "unknown_ns"}
KEYS = ["type", "number", "span", "name", "time_ns", "pid", "tid", "comm", "thread", "cpu", "latency_ns"]


class Stalls:
    """What a run of `overdue stalls -f ndjson` found, and what the program printed."""

    def __init__(self, lines, finished):
        self.lines, self.finished = lines, finished
        self.found = [line for line in lines if line["type"] == "stall"]
        self.report, self.receipt = lines[-2], lines[-1]
        self.notes = self.report["notes"]

    def named(self, name):
        return [finding for finding in self.found if finding["name"] == name]

    def events(self, kind):
        """The program's own account, of a demo."""
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
    """The report as a person sees it, of a program whose own output goes elsewhere."""
    finished = overdue("stalls", *arguments, **options)
    return finished.err.encode("latin-1").decode(), finished


def real_time():
    """In front of a program: it runs before others, so that its clock and the kernel's agree."""
    return [tool("chrt"), "-f", "10"]


def functions(stack):
    return [frame["name"] for frame in stack]


def begin_of(finding):
    return finding["time_ns"] - finding["latency_ns"]


def is_within(finding, event):
    """Whether the finding is of a call made during what the demo timed."""
    return (finding["tid"] == event["tid"] and begin_of(finding) >= event["time_ns"]
            and finding["time_ns"] <= event["time_ns"] + event["took_ns"])


def blocked_ns(wait):
    could_run = wait["state"] in ("preempted", "throttled", "unknown")
    return 0 if could_run else wait["ns"] - wait["runqueue_ns"] - wait["throttled_ns"]


def has_unseen_wait(finding):
    """Where the kernel did not tell of the switch to a thread, its wait is known, but not in which function."""
    return any(not wait["kernel_stack"] for wait in finding["waits"])


def longest_wait(finding):
    return max(finding["waits"], key=blocked_ns)


def context_of(wait):
    """Who ended it; empty where the kernel kept the wake-up to itself."""
    return wait.get("waker", {}).get("context", "")


def ms(nanoseconds):
    return f"{nanoseconds / MS:.3f}"


def told(finding):
    """What it is made of, in a line: for messages, so that the output of a machine that is not here explains itself."""
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


def all_told(findings):
    return "".join("\n  " + told(finding) for finding in findings)


class Case(unittest.TestCase):
    def setUp(self):
        require_root()

    def assert_sound(self, seen, status=0):
        """What must hold of every run, whatever happened."""
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
        self.assertEqual(sum(finding["breakdown"].values()), finding["latency_ns"], told(finding))
        self.assertEqual(sum(finding["blocked"].values()), finding["breakdown"]["blocked_ns"], told(finding))
        self.assertLessEqual(finding["breakdown"]["unknown_ns"], 0.02 * finding["latency_ns"], told(finding))
        within = sum(wait["ns"] for wait in finding["waits"])
        self.assertLessEqual(within, finding["latency_ns"], f"waits are within the span: {told(finding)}")

    def with_wakers(self, findings):
        """Those of whose longest wait the kernel said who ended it. A hardened one does not always."""
        known = [finding for finding in findings if finding["waits"] and "waker" in longest_wait(finding)]
        self.assertGreater(len(known), len(findings) / 2,
                           f"the kernel tells who ends waits: {all_told(findings)}")
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
