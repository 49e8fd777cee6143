#!/usr/bin/python3
"""`overdue stalls` with everything on: whatever kills it, or its target, nothing is left behind,
nothing hangs, nothing is paired wrongly."""
import contextlib
import json
import os
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (OVERDUE, TRACEFS, WORKLOADS, Footprint, Live, attached, bpf_objects,
                          eventually, held_by, held_by_anybody, is_stopped, long_or_short, main,
                          overdue, require_root, workload)

MS = 1_000_000
EVERYTHING = ["-T", "1ms", "--timeout", "200ms", "--idle", "--on", "exec:cat >/dev/null",
              "--on-every", "100ms", "-f", "ndjson"]


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def receipt_of(text):
    last = lines_of(text)[-1]
    assert last["type"] == "receipt", last
    return last


def children_of(pid):
    """All descendants of a process."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # commands of --on come and go
        for task in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
                for child in map(int, file.read().split()):
                    found += [child, *children_of(child)]
    return found


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
            return file.read().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def instances():
    return set(os.listdir(f"{TRACEFS}/instances"))


class Killed(unittest.TestCase):
    def setUp(self):
        require_root()

    def objects_nobody_holds(self, names, known):
        held = held_by_anybody()
        return {kind: [entry["id"] for entry in bpf_objects(kind)
                       if entry.get("name") in names[kind]
                       and entry["id"] not in held[kind] | known[kind]] for kind in names}

    def test_kill_9_at_any_moment(self):
        with Live("sh", "-c", "while :; do sleep 0.05; done") as target:
            with attached("stalls", *EVERYTHING, "-p", target.pid) as live:
                ours = held_by(live.pid)
                names = {kind: {entry["name"] for entry in bpf_objects(kind)
                                if entry["id"] in ours[kind] and "name" in entry}
                         for kind in ("prog", "map")}
                eventually(lambda: children_of(live.pid), 10, "there is no sandboxed child to look at")
            self.assertTrue(names["prog"])
            before = instances()
            attached_when_killed = 0
            for attempt in range(long_or_short(40, 8)):
                delay = random.uniform(0, 1.0) if attempt % 2 else random.uniform(1.0, 2.5)
                with self.subTest(attempt=attempt, delay=delay):
                    known = {kind: {entry["id"] for entry in bpf_objects(kind)} for kind in names}
                    with Live(OVERDUE, "stalls", *EVERYTHING, "-p", target.pid) as live:
                        time.sleep(delay)
                        os.kill(live.pid, signal.SIGSTOP)  # keeps the state until the kill
                        footprint = Footprint(live.pid)
                        attached_when_killed += not footprint.empty()
                        children = children_of(live.pid)
                        live.process.kill()
                        live.process.wait()
                    footprint.assert_gone()
                    eventually(lambda: not any(self.objects_nobody_holds(names, known).values()),
                               15, "left in the kernel", 0.1)
                    for child in children:
                        eventually(lambda child=child: not is_running(child), 10,
                                   f"its child {child} lives on")
                    self.assertEqual(instances(), before)
                    self.assertFalse(is_stopped(target.pid))
            self.assertGreater(attached_when_killed, 0)
            left = set(os.listdir("/run/overdue"))
            with attached("stalls", *EVERYTHING, "-p", target.pid) as live:
                now = set(os.listdir("/run/overdue"))
                mine = f"{live.pid}.sock"
                self.assertIn(mine, now)
                for name in left - {mine}:
                    pid = int(name.split(".")[0])
                    self.assertTrue(name not in now or is_running(pid), f"{name} is left")


class Targets(unittest.TestCase):
    def setUp(self):
        require_root()

    def stalls(self, *options, timeout=120):
        finished = overdue("stalls", *EVERYTHING, *options, timeout=timeout)
        return finished, lines_of(finished.err)

    def assert_sane(self, findings):
        """Checks that every latency is possible."""
        for one in findings:
            if one["type"] in ("stall", "hang"):
                self.assertLess(one["latency_ns"], 60_000 * MS, one)
                self.assertGreaterEqual(one["latency_ns"], 1 * MS, one)
                if "breakdown" in one:
                    self.assertAlmostEqual(sum(one["breakdown"].values()), one["latency_ns"],
                                           delta=one["latency_ns"] * 0.01 + 1000)

    def test_killed_by_seccomp(self):
        for how in ([], ["thread"]):
            with self.subTest(how=how):
                finished, findings = self.stalls("--", workload("seccomp_kill"), *how)
                self.assertEqual(finished.status, 0 if how else 128 + signal.SIGSYS, finished)
                sleeps = [one for one in findings if one["type"] == "stall"
                          and one["name"] == "clock_nanosleep"]
                self.assertGreaterEqual(len(sleeps), 1, finished)
                self.assert_sane(findings)
                receipt = receipt_of(finished.err)
                self.assertEqual((receipt["refused"], receipt["unmatched"]), (1, 0), finished)
                self.assertFalse([one for one in findings if one.get("name") == "getppid"])

    def test_ten_thousand_threads(self):
        finished, findings = self.stalls("-q", "--", workload("thread_churn"), 10000, 5, timeout=300)
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(finished.out.split(), ["50000"])
        receipt = receipt_of(finished.err)
        self.assertEqual(receipt["unmatched"], 0, receipt)
        self.assertNotIn("task_storage", receipt["lost_by"])
        self.assert_sane(findings)

    def test_threads_that_end_while_they_hang(self):
        """Each thread is in a call when its process is killed."""
        for _ in range(long_or_short(30, 5)):
            with Live(workload("hang"), "deadlock", 30) as target:
                with attached("stalls", *EVERYTHING, "-p", target.pid, settle=1) as live:
                    target.process.kill()
                    target.process.wait()
                    finished = live.finish(20)
            self.assertEqual(finished.status, 0, finished)
            self.assertEqual(receipt_of(finished.out)["unmatched"], 0, finished)

    def test_io_uring_workers(self):
        if not os.access(os.path.join(WORKLOADS, "io_uring"), os.X_OK):
            self.skipTest("workload io_uring was not built here")
        finished, findings = self.stalls("--", workload("io_uring"), 20)
        if finished.status == 77:
            self.skipTest("this kernel has no io_uring")
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(finished.out.split(), ["20"])
        self.assert_sane(findings)
        # A worker makes no system calls, although it is a thread of the process.
        self.assertFalse([one for one in findings if one["type"] in ("stall", "hang")
                          and one["comm"].startswith("iou-wrk")])
        self.assertEqual(receipt_of(finished.err)["unmatched"], 0, finished)


if __name__ == "__main__":
    main()
