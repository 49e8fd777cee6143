#!/usr/bin/python3
"""`overdue stalls`: the text of each finding blames only what the JSON of the same finding gives half of the part to,
or says the share."""
import json
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from culprits import compare
from overdue_test import main, overdue, require_root, tool, workload

PROGRAMS = (
    ("accounts", "holder", "naps", 4), ("accounts", "holder", "mixed", 4), ("accounts", "turns", 4),
    ("waits_for", "answer", 3), ("short_waits",), ("stall_cases", "killed"),
    ("lock-demo", "--rounds", 5, "--min", "20ms", "--max", "40ms"),
    ("io-demo",), ("cpu-demo", "--duration", "1s", "--cpu", 0), ("hang", "vfork", 1),
)


class Culprits(unittest.TestCase):
    def setUp(self):
        require_root()

    def both(self, *arguments):
        """(The text, the findings) of one recording."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.odt")
            overdue("stalls", "-q", "--save", path, *arguments)
            shown = ("report", path, "--view", "stalls", "--idle", "--first", 0)
            text = overdue(*shown).utf8
            lines = [json.loads(line) for line in overdue(*shown, "-f", "ndjson").out.splitlines()]
        return text, [line for line in lines if line["type"] in ("stall", "hang")]

    def test_have_half_of_a_part_or_their_share(self):
        checked, shares = 0, 0
        for program, *arguments in PROGRAMS:
            with self.subTest(program=program, arguments=arguments):
                text, findings = self.both("--idle", "-T", "5ms", "--span", "syscall,offcpu", "--timeout", "300ms",
                                           "--", workload(program), *arguments)
                wrong, *compared = compare(text, findings)
                self.assertEqual(wrong, [], text)
                checked += compared[0]
                shares += compared[1]
        self.assertGreaterEqual(checked, 30, "the texts blame threads")
        self.assertGreaterEqual(shares, 5, "two threads and more had the CPU")

    def test_who_preempts_has_a_share(self):
        """Three threads that compute on one CPU take it from each other."""
        text, findings = self.both("-T", "5ms", "--span", "offcpu", "--", workload("cpu-demo"), "--duration", "2s",
                                   "--cpu", 0)
        text = re.sub(r"(?m)^  (run queue|blocked|throttled) .*\n", "", text)
        wrong, checked, shares = compare(text, findings)
        self.assertEqual(wrong, [], text)
        self.assertGreaterEqual(checked + shares, 5, text)

    def test_of_a_disk(self):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            text, findings = self.both("-T", "1ms", "--", tool("dd"), "if=/dev/zero", f"of={folder}/x", "bs=1M",
                                       "count=20", "oflag=dsync", "status=none")
        self.assertEqual(compare(text, findings)[0], [], text)


class TheCheckItself(unittest.TestCase):
    """Finds what is wrong."""

    WAIT = {"ns": 100_000_000, "runqueue_ns": 0, "throttled_ns": 0, "state": "sleeping", "kernel_stack": [],
            "waker": {"tid": 9}, "ran": []}
    STEP = {"tid": 9, "what": "waited", "ns": 60_000_000, "runqueue_ns": 20_000_000, "ran": [{"tid": 8, "ns": 5_000_000}],
            "places": [{"state": "sleeping", "ns": 60_000_000, "kernel_stack": [{"name": "nap"}]},
                       {"state": "preempted", "ns": 20_000_000, "kernel_stack": [],
                        "ran": [{"tid": 7, "ns": 19_000_000}]}]}

    def wrong(self, *lines, waits=(), chain=()):
        finding = {"number": 1, "waits": list(waits) or [self.WAIT], "chain": list(chain)}
        return len(compare("\n".join(("#1 read()", *lines, "")), [finding])[0])

    def test_wakers(self):
        self.assertEqual(self.wrong("  blocked       100ms  nap, woken by x[9]"), 0)
        self.assertEqual(self.wrong("  blocked       100ms  nap, woken by x[8]"), 1)
        self.assertEqual(self.wrong("  blocked       300ms  nap, woken by x[9]"), 1)
        self.assertEqual(self.wrong("  blocked       300ms  3 times, 100ms at most: nap, the longest was woken by x[9]"), 0)

    def test_shares(self):
        ready = {**self.WAIT, "runqueue_ns": 50_000_000, "ran": [{"tid": 5, "ns": 20_000_000}]}
        self.assertEqual(self.wrong("  run queue    50.0ms  behind x[5]", waits=[ready]), 1)
        self.assertEqual(self.wrong("  run queue    50.0ms  behind x[5] 20.0ms, unknown 30.0ms", waits=[ready]), 0)
        self.assertEqual(self.wrong("  run queue    50.0ms  behind x[5] 30.0ms, unknown 20.0ms", waits=[ready]), 1)
        self.assertEqual(self.wrong("  run queue    30.0ms  behind x[5]", waits=[ready]), 0)
        preempted = {**ready, "state": "preempted"}
        self.assertEqual(self.wrong("  preempted    30.0ms  by x[5]", waits=[preempted]), 0)
        self.assertEqual(self.wrong("  preempted    50.0ms  by x[5]", waits=[preempted]), 1)

    def test_limits(self):
        held = {**self.WAIT, "throttled_ns": 30_000_000, "throttled_by": {"cgroup": "/a"}}
        self.assertEqual(self.wrong("  throttled    30.0ms  by cgroup /a (20.0ms of each 100ms)", waits=[held]), 0)
        self.assertEqual(self.wrong("  throttled    90.0ms  by cgroup /a (20.0ms of each 100ms)", waits=[held]), 1)
        self.assertEqual(self.wrong("  throttled    90.0ms  by cgroup /a (20.0ms of each 100ms) 30.0ms", waits=[held]), 0)

    def test_steps(self):
        begin = "    └ x[9] held it up: "
        for said, wrong in (("waited 60.0ms in nap", 0), ("waited 60.0ms in read", 1),
                            ("waited 60.0ms in nap, 20.0ms of that in the run queue behind y[8]", 1),
                            ("waited 60.0ms in nap, 20.0ms of that in the run queue behind y[8] 5.00ms", 0),
                            ("ran 1.00ms; was preempted for 20.0ms, by z[7]", 0),
                            ("ran 1.00ms; was preempted for 20.0ms, by z[8]", 1)):
            with self.subTest(said):
                self.assertEqual(self.wrong(begin + said, chain=[self.STEP]), wrong)


if __name__ == "__main__":
    main()
