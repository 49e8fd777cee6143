#!/usr/bin/python3
"""The demos under `overdue syscalls`, which finds the calls that the demos report."""
import collections
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (NOBODY, OVERDUE, Live, call_records, counts, main, overdue, require_root,
                          run, syscalls_report, tool, workload)


def measured(name, calls, *arguments):
    """Runs the demo under `overdue syscalls --calls`; returns (its events, the records of calls)."""
    records, finished = call_records("-e", calls, "--", workload(f"{name}-demo"), "-d", "60s", *arguments)
    assert finished.status == 0, finished
    assert records[-1]["lost"] == 0, records[-1]
    return ([json.loads(line) for line in finished.out.splitlines()],
            [record for record in records if record["type"] == "call"])


def argument(call, index):
    """The value in `name=value`, as a number if it is one."""
    value = call["args"][index].partition("=")[2]
    return int(value) if value.isdigit() else value


def begin_of(call):
    return call["time_ns"] - call["latency_ns"]  # the record's time is the call's end


class Demo(unittest.TestCase):
    def setUp(self):
        require_root()

    def assert_same(self, events, calls):
        """One call within each event, thread by thread, in order."""
        self.assertEqual(len(events), len(calls))
        by_thread = collections.defaultdict(list)
        for call in sorted(calls, key=lambda call: call["time_ns"]):
            by_thread[call["tid"]].append(call)
        for event in sorted(events, key=lambda event: event["time_ns"]):
            call = by_thread[event["tid"]].pop(0)
            self.assertGreaterEqual(begin_of(call), event["time_ns"], (event, call))
            self.assertLessEqual(call["time_ns"], event["time_ns"] + event["took_ns"], (event, call))
            self.assertGreaterEqual(call["latency_ns"], event.get("asked_ns", 0), (event, call))

    def test_sleep(self):
        for threads in ("0", "3"):
            with self.subTest(threads=threads):
                events, calls = measured("sleep", "clock_nanosleep", "--count", "20", "--max", "5ms",
                                         "--threads", threads)
                sleeps = [event for event in events if event["type"] == "sleep"]
                self.assert_same(sleeps, calls)

    def test_sleep_counted(self):
        report, finished = syscalls_report("--", workload("sleep-demo"), "--count", "25", "--max", "1ms")
        self.assertEqual(counts(report)["clock_nanosleep"], 25, finished)

    def test_mmap(self):
        events, calls = measured("mmap", "mmap,munmap,madvise", "--count", "10", "--threads", "3", "--size",
                                 "4M", "--slow", "0s")
        for kind, name in (("mmap", "mmap"), ("munmap", "munmap"), ("populate", "madvise")):
            lines = [event for event in events if event["type"] == kind]
            tids = {event["tid"] for event in lines}
            # Without the calls that libc makes for itself in these threads.
            ours = [call for call in calls if call["name"] == name and call["tid"] in tids and
                    (argument(call, 2) == "MADV_POPULATE_WRITE" if kind == "populate" else
                     argument(call, 1) in {event["bytes"] for event in lines})]
            self.assert_same(lines, ours)

    def test_io(self):
        with tempfile.TemporaryDirectory() as folder:
            events, calls = measured("io", "openat,write,fsync,unlinkat", "--dir", folder, "--count", "5",
                                     "--size", "300K")
        for kind, name in (("open", "openat"), ("write", "write"), ("fsync", "fsync"), ("unlink", "unlinkat")):
            lines = [event for event in events if event["type"] == kind]
            ours = [call for call in calls if call["name"] == name]
            if kind == "open":
                ours = [call for call in ours if str(argument(call, 1)).startswith('"file-')]
            if kind == "write":  # without the demo's own lines, and its note on folders in memory
                ours = [call for call in ours if argument(call, 0) not in (1, 2)]
            self.assert_same(lines, ours)

    def test_lock(self):
        """Each wait has one futex call that is at least as long as the lock was held."""
        events, calls = measured("lock", "futex", "--rounds", "8", "--min", "3ms", "--max", "20ms",
                                 "--waiters", "3")
        for wait in (event for event in events if event["type"] == "wait"):
            end = wait["time_ns"] + wait["took_ns"]
            within = [call for call in calls if call["tid"] == wait["tid"] and
                      begin_of(call) >= wait["time_ns"] and call["time_ns"] <= end]
            self.assertTrue(any(call["latency_ns"] >= wait["hold_ns"] for call in within), (wait, within))

    def test_cpu(self):
        events, calls = measured("cpu", "clock_nanosleep", "-d", "700ms", "--burst", "4ms")
        self.assert_same([event for event in events if event["type"] == "sleep"], calls)
        self.assertEqual({call["comm"] for call in calls}, {"victim"})

    def test_irq(self):
        report, finished = syscalls_report("-e", "sendto,recvfrom", "--", workload("irq-demo"), "-d", "300ms")
        traffic = [json.loads(line) for line in finished.out.splitlines() if '"traffic"' in line]
        self.assertEqual(counts(report)["sendto"], sum(one["sends"] for one in traffic))
        # One more: the end of TCP's stream.
        self.assertEqual(counts(report)["recvfrom"], sum(one["receives"] for one in traffic) + 1)


class Command(unittest.TestCase):
    def setUp(self):
        require_root()

    def test_every_command_of_the_list_works(self):
        folder = os.path.dirname(OVERDUE)
        listed = overdue("demo").out
        lines = [line.strip() for line in listed.splitlines() if line.startswith(" ")]
        self.assertEqual(len(lines), 6)
        for line in lines:
            with self.subTest(line):
                command = line.removeprefix("sudo ") + " -d 100ms"
                with Live(tool("sh"), "-c", command, env=dict(os.environ, PATH=f"{folder}:{os.environ['PATH']}")) as live:
                    finished = live.finish(60)
                self.assertEqual(finished.status, 0, finished)
                self.assertIn(" 0 lost", finished.err)

    def test_runs_as_the_user_who_called_sudo(self):
        environment = dict(os.environ, SUDO_UID="65534", SUDO_GID="65534", SUDO_USER="nobody")
        if run([*NOBODY, tool("test"), "-x", workload("io-demo")]).status != 0:
            self.skipTest("the build tree is not open to nobody")
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            finished = overdue("demo", "io", "--dir", folder, env=environment)
            self.assertEqual(finished.status, 1, finished)
            self.assertIn("Permission denied", finished.err)
            os.chown(folder, 65534, 65534)
            finished = overdue("demo", "io", "--dir", folder, "--count", "2", env=environment)
            self.assertEqual(finished.status, 0, finished)


if __name__ == "__main__":
    main()
