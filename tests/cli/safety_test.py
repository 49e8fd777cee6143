#!/usr/bin/python3
"""A killed Overdue leaves nothing and harms no process; hostile text is never printed raw."""
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (NOBODY, OVERDUE, TRACEFS, Footprint, Live, OnDemand, attached,
                          bpf_objects, eventually, held_by, held_by_anybody, is_stopped,
                          long_or_short, main, overdue, require_root, run, syscalls_report,
                          workload)


class SafetyTest(unittest.TestCase):
    def setUp(self):
        require_root()


class Killed(SafetyTest):
    """kill -9 at random moments, also during start-up, when programs are half attached."""

    def orphans(self, known):
        """Objects named like ours that no process holds, and that were not there before."""
        held = held_by_anybody()
        return {kind: [entry["id"] for entry in bpf_objects(kind)
                       if entry.get("name") in self.names[kind]
                       and entry["id"] not in held[kind] | known[kind]] for kind in self.names}

    def learn_names(self):
        """Takes the names of our programs and maps from a live run."""
        with Live("/bin/sleep", "60") as target:
            with attached("syscalls", "-p", target.pid) as live:
                ours = held_by(live.pid)
                self.names = {kind: {entry["name"] for entry in bpf_objects(kind)
                                     if entry["id"] in ours[kind] and "name" in entry}
                              for kind in ("prog", "map")}
        self.assertTrue(self.names["prog"])

    def kill_at(self, delay, options, spawned):
        known = {kind: {entry["id"] for entry in bpf_objects(kind)} for kind in self.names}
        with OnDemand() as target, tempfile.TemporaryDirectory() as folder:
            proof = os.path.join(folder, "proof")
            command = [OVERDUE, *options]
            if "record" in options:
                command += ["-o", f"{folder}/x.odt"]
            if spawned:
                command += ["--", "sh", "-c", f"sleep 0.4; echo done > {proof}"]
            else:
                command += ["-p", target.pid]
            with Live(*command) as live:
                time.sleep(delay)
                os.kill(live.pid, signal.SIGSTOP)  # keeps the state until the kill
                footprint = Footprint(live.pid)
                with open(f"/proc/{live.pid}/task/{live.pid}/children", encoding="ascii") as file:
                    children = [int(child) for child in file.read().split()]
                began = [child for child in children if self.runs_the_program(child)]
                live.process.kill()
                live.process.wait()
            footprint.assert_gone()
            end = time.monotonic() + 15
            while any((left := self.orphans(known)).values()):
                self.assertLess(time.monotonic(), end, f"left in the kernel: {left}")
                time.sleep(0.1)
            target.tell("main 1000")
            self.assertFalse(is_stopped(target.pid))
            for child in children:
                self.ends(child)
            if began:
                self.assertTrue(os.path.exists(proof), "the program did not finish its work")
            return "nothing" if footprint.empty() else "attached"

    @staticmethod
    def runs_the_program(child):
        with contextlib.suppress(OSError):
            with open(f"/proc/{child}/cmdline", "rb") as file:
                return file.read().startswith(b"sh\0")
        return False

    def ends(self, child):
        """The child ends, having run or not got past the gate; it is never left stopped."""
        def gone():
            try:
                return is_stopped(child) and self.fail("left stopped")
            except (FileNotFoundError, ProcessLookupError):
                return True
        eventually(gone, 10, "the spawned program hangs")

    def test_kill_9_at_any_moment(self):
        self.learn_names()
        forms = (["syscalls"], ["syscalls", "--by", "thread"], ["syscalls", "--calls"],
                 ["syscalls", "--two-phase"], ["syscalls", "-i", "50ms"], ["record"])
        seen = set()
        for attempt in range(long_or_short(100, 20)):
            delay = random.uniform(0, 0.35) if attempt % 2 else random.uniform(0.3, 1.2)
            form = forms[attempt % len(forms)]
            with self.subTest(attempt=attempt, delay=delay, form=form):
                seen.add(self.kill_at(delay, form, spawned=attempt % 4 > 1))
        self.assertIn("attached", seen)

    def test_ordinary_end_leaves_nothing(self):
        with Live("/bin/sleep", "60") as target:
            with attached("syscalls", "-p", target.pid) as live:
                footprint = Footprint(live.pid)
                self.assertFalse(footprint.empty())
                live.signal(signal.SIGINT)
                live.finish(10)
                footprint.assert_gone()

    def test_second_sigint_leaves_at_once(self):
        with Live(workload("getppid_loop"), "60s") as target:
            with attached("syscalls", "-p", target.pid) as live:
                footprint = Footprint(live.pid)
                os.kill(live.pid, signal.SIGSTOP)  # both signals are there when it continues
                live.signal(signal.SIGINT)
                live.signal(signal.SIGTERM)
                os.kill(live.pid, signal.SIGCONT)
                live.finish(5)
                footprint.assert_gone()
            self.assertIsNone(target.process.poll())


class HostileText(SafetyTest):
    def assert_clean(self, text):
        for byte in "\x1b\x07\x9b":
            self.assertNotIn(byte, text)

    def test_comm(self):
        for options in (["--by", "thread"], ["--by", "process"], ["--calls"],
                        ["--calls", "-f", "csv"], ["--by", "thread", "-f", "csv"]):
            finished = overdue("syscalls", "--stdout", *options, "--", workload("hostile_comm"), 5)
            self.assertEqual(finished.status, 0, finished)
            self.assert_clean(finished.out + finished.err)
            self.assertIn("vil", finished.out)
            if "csv" not in options:
                self.assertNotRegex(finished.out, r"(?m)^vil")  # the line feed did not break a line

    def test_json_keeps_it_escaped(self):
        report, _ = syscalls_report("--by", "thread", "--", workload("hostile_comm"), 5)
        names = {row["thread"]["comm"] for row in report["syscalls"] if row["name"] == "getppid"}
        self.assertEqual(len(names), 1)
        self.assertTrue(names.pop().startswith("e\nvil\x1b[31m\x07"))

    def test_unfinished_and_attached(self):
        with Live(workload("hostile_comm"), "3", "wait", stdin=-1) as target:
            eventually(lambda: "ready" in target.out())
            for arguments in (["-p", target.pid], ["-n", "e*"], ["-a"]):
                finished = overdue("syscalls", *arguments, "--by", "thread", "-d", "300ms")
                self.assertEqual(finished.status, 0, finished)
                self.assert_clean(finished.out + finished.err)

    def test_arguments_and_program_names(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a\x1b[31m\nb")
            with open(path, "w", encoding="ascii") as file:
                file.write("#!/bin/sh\ncat \"$0\" >/dev/null\n")
            os.chmod(path, 0o755)
            for options in ([], ["--calls"], ["--by", "process"], ["--calls", "-f", "csv"]):
                finished = overdue("syscalls", *options, "--", path, "\x1b]0;title\x07", "x" * 4096)
                self.assertEqual(finished.status, 0, finished)
                self.assert_clean(finished.out + finished.err)
        finished = overdue("syscalls", "--", "/no/such/\x1b[31mprogram")
        self.assertEqual(finished.status, 127)
        self.assert_clean(finished.err)
        hostile = "x\x1b[31m"
        every, short = ["-a"], ["-d", "100ms"]
        for arguments in ([*every, *short, "-e", hostile], [*every, *short, "--by", hostile],
                          [*short, "-p", hostile], [*short, "-c", hostile], [*every, "-d", hostile],
                          [*every, "-d", f"1{hostile}"], [*every, *short, "-i", hostile],
                          [*every, *short, "-f", hostile], [*every, *short, "--sort", hostile],
                          [*every, *short, f"--{hostile}"], [*short, "--container", hostile],
                          [*short, "-t", hostile], [*every, *short, "--buffer", hostile],
                          [*every, *short, "--cpu", hostile], [*every, *short, "--top", hostile],
                          [*every, *short, "--color", hostile], [*every, *short, hostile],
                          [*every, *short, "--two-phase", "--discover-time", hostile],
                          [*every, *short, "-o", f"/no/such/{hostile}"],
                          ["--user", hostile, "--", "true"]):
            self.refused_cleanly("syscalls", *arguments)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, hostile)
            with open(path, "w", encoding="ascii") as file:
                file.write("no recording")
            for arguments in ((hostile,), ("help", hostile), ("probes", hostile),
                              ("report", f"/no/such/{hostile}"), ("report", path),
                              ("report", folder + "/", "-o", hostile), ("doctor", hostile),
                              ("doctor", "--without", hostile), ("doctor", "-f", hostile),
                              ("record", "--events", hostile, "--", "true"),
                              ("record", "-o", f"/no/such/{hostile}", "--", "true")):
                self.refused_cleanly(*arguments)

    def refused_cleanly(self, *arguments):
        """The hostile word itself is refused, and is in the message, escaped."""
        with self.subTest(arguments=arguments):
            finished = overdue(*arguments)
            self.assertNotEqual(finished.status, 0, finished)
            self.assert_clean(finished.out + finished.err)
            self.assertRegex(finished.err, r"x1b\[31m|directory", finished)


class WithoutRoot(SafetyTest):
    def unprivileged(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:  # the build folder may be private
            os.chmod(folder, 0o755)
            ours = os.path.join(folder, "overdue")
            with open(OVERDUE, "rb") as original, open(ours, "wb") as copy:
                copy.write(original.read())
            os.chmod(ours, 0o755)
            return run([*NOBODY, ours, *arguments], cwd="/")

    def test_says_which_capabilities_are_missing(self):
        for arguments, status in ((["syscalls", "--", "true"], 125), (["syscalls", "-a"], 1),
                                  (["record", "-o", "/dev/null", "--", "true"], 125)):
            finished = self.unprivileged(*arguments)
            self.assertEqual(finished.status, status, finished)
            self.assertIn("CAP_BPF", finished.err.upper().replace("CAPABILITY BPF", "CAP_BPF"))
            self.assertIn("CAP_PERFMON", finished.err.upper())
            self.assertLess(len(finished.err), 600, finished.err)
            self.assertNotIn("libbpf", finished.err)

    def test_what_needs_no_root_works(self):
        for arguments in (["--help"], ["--version"], ["help", "syscalls"], ["probes"], ["schema"]):
            finished = self.unprivileged(*arguments)
            self.assertEqual(finished.status, 0, finished)
            self.assertGreater(len(finished.out), 5)
        finished = self.unprivileged("doctor", "--no-calibrate")
        self.assertEqual(finished.status, 1, finished)  # the answer is no
        self.assertIn("CAP_BPF", finished.out)

    def test_doctor_as_json(self):
        for finished, status in ((self.unprivileged("doctor", "--no-calibrate", "-f", "json"), 1),
                                 (overdue("doctor", "-f", "json"), 0)):
            self.assertEqual(finished.status, status, finished)
            json.loads(finished.out)


class Doctor(SafetyTest):
    """doctor looks, and changes nothing."""

    def test_a_left_instance_is_told_and_left_alone(self):
        with Live("/bin/true") as dead:
            dead.finish()
        names = {pid: f"overdue-{pid}" for pid in (dead.pid, os.getpid())}
        try:
            for name in names.values():
                os.mkdir(f"{TRACEFS}/instances/{name}")
            report = json.loads(overdue("doctor", "-f", "json", "--no-calibrate").out)
            reported = [trap["what"] + trap["remedy"] for trap in report["traps"]
                    if trap["name"] == "stale instance"]
            self.assertEqual([names[dead.pid] in text for text in reported], [True], reported)
            self.assertTrue(os.path.exists(f"{TRACEFS}/instances/{names[dead.pid]}"))
        finally:
            for name in names.values():
                with contextlib.suppress(FileNotFoundError):
                    os.rmdir(f"{TRACEFS}/instances/{name}")


if __name__ == "__main__":
    main()
