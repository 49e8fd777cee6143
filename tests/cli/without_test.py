#!/usr/bin/python3
"""Features that a kernel lacks, one at a time: a command works without the feature, or names it."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import has_tracer
from overdue_test import LONG, main, on_terminal, overdue, require_root

# No session is possible without these.
NEEDED = {"privileges", "btf", "btf_tracepoints", "task_storage", "ring_buffer", "task_iterator", "membarrier"}
# A command that needs others: samples come from a timer.
NEEDED_BY = {"profile": NEEDED - {"btf_tracepoints"} | {"cpu_clock"}}


def features():
    return [feature["name"] for feature in json.loads(overdue("doctor", "--no-calibrate", "-f", "json").out)["features"]]


def combinations(commands):
    """Yields (command, feature): each command without each feature. The short form leaves out two of
    three that `stalls` and `why`, which use nearly all features, are tried without as well."""
    names = features()
    for i, command in enumerate(commands):
        for j, feature in enumerate(names):
            if LONG or feature in NEEDED or command[0] == "why" or (i + j) % 3 == 0:
                yield command, feature


class Without(unittest.TestCase):
    def setUp(self):
        require_root()

    def stall(self, feature):
        """Measures a late sleep without the feature. Returns (the finished run, its records)."""
        finished = overdue("stalls", "--stdout", "--idle", "--without", feature, "-T", "20ms", "--span", "syscall,offcpu",
                           "-f", "ndjson", "--", "sleep", "0.05")
        records = [json.loads(line) for line in finished.out.splitlines()]
        return finished, records

    def test_stalls_without_each_feature(self):
        for feature in features():
            with self.subTest(feature=feature):
                finished, records = self.stall(feature)
                if feature in NEEDED:
                    self.assertEqual(finished.status, 125, finished)
                    self.assertIn("cannot find stalls", finished.err)
                    self.assertIn(feature, finished.err)
                    self.assertEqual(records, [])
                    continue
                self.assertEqual(finished.status, 0, finished)
                calls = [one for one in records if one["type"] == "stall" and one["span"] == "syscall"]
                self.assertIn("clock_nanosleep", [one["name"] for one in calls], finished)

    def test_what_is_left_out_is_in_the_report(self):
        for feature, words in (("task_work", "no user stacks"), ("interrupt_vectors", "local_timer_entry")):
            _, records = self.stall(feature)
            notes = next(one["notes"] for one in records if one["type"] == "report")
            self.assertTrue(any(words in note for note in notes), notes)

    def test_commands_of_the_whole_machine_without_each_feature(self):
        commands = ["syscalls", "-a"], ["worst", "wakeup"], ["worst", "hwlat"], ["timerlat"], ["osnoise"]
        for command, feature in combinations(commands):
            with self.subTest(command=command, feature=feature):
                finished = overdue(*command, "--without", feature, "-d", "200ms", "-f", "json")
                if feature in NEEDED and finished.status == 0:  # the kernel's tracer needs no BPF
                    self.assertTrue(has_tracer(command[-1]), finished)
                    self.assertEqual(json.loads(finished.out)["backend"], "kernel", finished)
                    continue
                self.check(command[0], feature, finished)
                if finished.status == 0:
                    self.assertIn("receipt", json.loads(finished.out))

    def check(self, command, feature, finished):
        """Only what the command needs keeps it from starting, and is named."""
        if feature in NEEDED_BY.get(command, NEEDED):
            self.assertNotEqual(finished.status, 0, finished)
            self.assertRegex(finished.err, rf"overdue: cannot .*{feature} is hidden by --without", finished)
        else:
            self.assertEqual(finished.status, 0, finished)

    def test_commands_without_each_feature(self):
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/x.odt"
            for command, feature in combinations((["why"], ["offcpu"], ["profile"], ["spans"], ["record", "-o", file])):
                with self.subTest(command=command, feature=feature):
                    finished = overdue(*command, "--without", feature, "--", "sleep", "0.05")
                    self.check(command[0], feature, finished)
                    if finished.status != 0:
                        continue
                    self.assertIn(" lost", finished.err, finished)  # the receipt
                    if command[0] == "record":
                        self.assertIn("clock_nanosleep", overdue("report", file).out)

    def test_top_without_each_feature(self):
        for _, feature in combinations([["top"]]):
            with self.subTest(feature=feature):
                self.check("top", feature, on_terminal("top", "--without", feature, "-d", "300ms"))

    def test_an_unknown_feature_is_a_usage_error(self):
        finished = overdue("stalls", "--without", "task_wrok", "-T", "1ms", "--", "true")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("did you mean task_work?", finished.err)


if __name__ == "__main__":
    main()
