#!/usr/bin/python3
"""`overdue stalls --on`: an action runs at most once per finding, as the right user, on the right
process, and holds nothing up."""
import json
import os
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (TRACEFS, Live, attached, eventually, is_stopped, main, overdue,
                          require_root, run)

SLEEPS = "for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done"


class Actions(unittest.TestCase):
    def setUp(self):
        require_root()
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.chmod(self.folder.name, 0o777)
        self.file = os.path.join(self.folder.name, "out")

    def stalls(self, *options, program=("sh", "-c", SLEEPS), threshold="80ms", **more):
        return overdue("stalls", "--idle", "-T", threshold, "-f", "ndjson", *options, "--", *program, **more)

    def lines(self):
        if not os.path.exists(self.file):
            return []
        with open(self.file, encoding="utf-8") as file:
            return file.read().splitlines()

    def test_exec_gets_each_finding(self):
        finished = self.stalls("--on-every", "0s", "--on", f"exec:cat >> {self.file}")
        printed = [json.loads(line) for line in finished.err.splitlines()
                   if line.startswith('{"type":"stall"')]
        given = [json.loads(line) for line in self.lines()]
        self.assertGreaterEqual(len(printed), 8, finished)
        self.assertGreaterEqual(len(given), 1, finished)
        for one in given:
            self.assertIn(one, printed)
        self.assertEqual(len({one["number"] for one in given}), len(given))
        self.assertEqual(finished.status, 0)
        # The message counts the runs; findings that came during a command have none.
        self.assertIn(f"--on exec: {len(given)} times", finished.err)

    def test_exec_is_limited(self):
        finished = self.stalls("--on-every", "1m", "--on", f"exec:cat >> {self.file}")
        self.assertEqual(len(self.lines()), 1, finished)
        self.assertRegex(finished.err, r"--on exec: 1 times; findings left out by its limits: \d+")

    def test_exec_runs_as_the_invoking_user(self):
        environment = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
        finished = self.stalls("--on-every", "1m", "--on", f"exec:id -u >> {self.file}", env=environment)
        self.assertEqual(self.lines(), ["65534"], finished)
        environment = {**os.environ, "SUDO_UID": "nobody at all"}
        refused = overdue("stalls", "-T", "80ms", "--on", "exec:true", "-d", "1s", "-a",
                          env=environment)
        self.assertNotEqual(refused.status, 0)

    def test_a_command_that_does_not_end_holds_nothing_up(self):
        finished = self.stalls("--on-every", "0s", "--on",
                               f"exec:echo $$ >> {self.file}; trap '' TERM; sleep 1000",
                               timeout=30)
        printed = [line for line in finished.err.splitlines()
                   if line.startswith('{"type":"stall"')]
        self.assertGreaterEqual(len(printed), 8, finished)
        self.assertEqual(len(self.lines()), 1, finished)
        self.assertLess(finished.seconds, 20)
        self.assertFalse(os.path.exists(f"/proc/{self.lines()[0]}"), "it lives on")

    def test_a_command_dies_with_us(self):
        with Live("sh", "-c", f"while :; do {SLEEPS}; done") as target:
            with attached("stalls", "--idle", "-T", "80ms", "--on",
                          f"exec:echo $$ >> {self.file}; exec sleep 1000", "-p", target.pid) as live:
                eventually(self.lines, 10, "it was never run")
                live.signal(signal.SIGKILL)
                live.process.wait()
                eventually(lambda: not os.path.exists(f"/proc/{self.lines()[0]}"), 10,
                           "it lives on")

    def test_a_command_that_fails_is_said(self):
        finished = self.stalls("--on-every", "1m", "--on", "exec:exit 3")
        self.assertIn("commands of --on exec that failed: 1", finished.err)
        self.assertEqual(finished.status, 0)

    def test_signal(self):
        with Live("sh", "-c", f"sleep 0.5; {SLEEPS}; sleep 60") as bystander:
            with Live("python3", "-c",
                      "import time\nwhile True: time.sleep(0.1)") as target:
                with attached("stalls", "--idle", "-T", "80ms", "-f", "ndjson", "--on", "signal:STOP", "-p",
                              target.pid) as live:
                    eventually(lambda: is_stopped(target.pid), 10, "it was never stopped")
                    self.assertFalse(is_stopped(bystander.pid))
                    live.signal(signal.SIGINT)
                    finished = live.finish()
        self.assertRegex(finished.out, r"--on signal: \d+ times")

    def test_signal_of_a_process_that_has_gone(self):
        # Only for sleeps: on a busy machine, the shell is late itself, and would get the signal.
        finished = self.stalls("--on-every", "0s", "--on", "signal:USR1", threshold="clock_nanosleep=80ms")
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(finished.err, r"not possible for \d+ findings \(the process has ended\)")

    def test_mark(self):
        trace = f"{TRACEFS}/trace"
        finished = self.stalls("--on-every", "0s", "--on", "mark")
        printed = [json.loads(line) for line in finished.err.splitlines()
                   if line.startswith('{"type":"stall"')]
        self.assertIn("clock_nanosleep", {one["name"] for one in printed})  # and whatever else a busy machine made late
        with open(trace, encoding="latin-1") as file:
            text = file.read()
        for one in printed:
            self.assertIn(f"overdue: #{one['number']} stall syscall {one['name']}", text)
            self.assertIn(f"{one['comm']}[{one['tid']}]", text)

    def test_stop(self):
        with Live("sh", "-c", f"while :; do {SLEEPS}; done") as target:
            finished = overdue("stalls", "--idle", "-T", "80ms", "-f", "ndjson", "--on", "stop", "-d", "30s",
                               "-p", target.pid)
        self.assertEqual(finished.status, 3, finished)
        self.assertLess(finished.seconds, 25)
        self.assertIn('"type":"receipt"', finished.out)
        begin = time.monotonic()
        finished = self.stalls("--on", "stop", program=("sh", "-c", f"{SLEEPS}; exit 7"))
        self.assertEqual(finished.status, 7, finished)
        self.assertLess(time.monotonic() - begin, 25)

    def test_what_is_no_action(self):
        for value in ("jump", "exec:", "exec", "signal:", "signal:NONE", "signal:0", "signal:99999",
                      "mark:", "stop:now", ""):
            self.assertEqual(overdue("stalls", "-T", "1s", "--on", value, "-a", "-d", "1s").status,
                             2, value)
        self.assertEqual(overdue("stalls", "-T", "1s", "--on-every", "5", "-a", "-d", "1s").status, 2)


if __name__ == "__main__":
    main()
