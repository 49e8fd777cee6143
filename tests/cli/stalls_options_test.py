#!/usr/bin/python3
"""`overdue stalls`: its options, and what must not disturb the command."""
import fnmatch
import json
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import Live, attached, long_or_short, main, overdue, tool, workload
from stall_findings import MS, Case, Stalls, described_all, blocked_ns, functions, is_within, longest_wait, stalls
from stall_findings import described


class Options(Case):
    def test_thresholds_by_call(self):
        def python(child):
            program = f"import time, subprocess; time.sleep(0.03); subprocess.run(['sleep', '{child}'])"
            return "--", tool("python3"), "-c", program
        # So long that the sleep is late for certain, and is waited for, on any machine.
        both = stalls("-T", "clock_nanosleep=20ms,wait4=5ms", *python(0.5))
        self.assert_sound(both)
        self.assertEqual({(f["comm"], f["name"]) for f in both.found},
                         {("python3", "clock_nanosleep"), ("python3", "wait4"), ("sleep", "clock_nanosleep")})
        self.assertEqual({f["name"]: f["threshold_ns"] for f in both.found},
                         {"clock_nanosleep": 20 * MS, "wait4": 5 * MS})
        other = stalls("-T", "5ms,clock_nanosleep=20ms", *python(0.01))
        self.assert_sound(other)
        naps = other.named("clock_nanosleep")
        self.assertIn("python3", {finding["comm"] for finding in naps})
        for finding in naps:  # the nap of `sleep` is late only if the machine is
            self.assertEqual(finding["threshold_ns"], 20 * MS)
            self.assertGreaterEqual(finding["latency_ns"], 20 * MS)

    def test_idle(self):
        shell = "sleep 1 | cat"  # cat waits for input, the shell for its children, both of them for long
        seen = stalls("-T", "20ms", "--", "sh", "-c", shell)
        # Other calls may be late if the machine is, but no wait for work is most of their time.
        for finding in seen.found:
            idle_ns = sum(blocked_ns(wait) for wait in finding["waits"]
                          if {"pipe_read", "anon_pipe_read", "do_wait"} & set(functions(wait["kernel_stack"])))
            self.assertLess(idle_ns, finding["latency_ns"] / 2, described(finding))
        # A second, less the time that cat took to start.
        about_a_second = r"longest (1\.\d\ds|[5-9]\d\dms)\)"
        self.assertTrue(any(re.match(rf"waits that may be for work are not shown: .*\bread [1-9]\d* \({about_a_second}.*--idle", note)
                            and re.search(r"wait4 [1-9]", note) for note in seen.notes), seen.notes)
        self.assertTrue(any(re.match(r"sleeps no longer than .* clock_nanosleep 1 \(longest 1\.", note) for note in seen.notes),
                        seen.notes)
        idle = stalls("-T", "20ms", "--idle", "--", "sh", "-c", shell)
        self.assertLessEqual({"clock_nanosleep", "read", "wait4"}, {f["name"] for f in idle.found})
        chosen = stalls("-T", "20ms", "-e", "wait4", "--", "sh", "-c", shell)
        self.assertEqual({f["name"] for f in chosen.found}, {"wait4"})

    def test_keep_under(self):
        lock = ("--", workload("lock-demo"), "--rounds", 3, "--min", "30ms", "--max", "40ms")
        for pattern in ("hold_the_lock", "hold_*"):
            seen = stalls("--idle", "-T", "20ms", "--keep-under", pattern, *lock)
            self.assert_sound(seen)
            for finding in seen.found:
                self.assertTrue(fnmatch.filter(functions(finding["user_stack"]), pattern), described(finding))
            # The holder also waits there until all wait for it: late only on a slow machine.
            held = [f for f in seen.found if any(is_within(f, hold) for hold in seen.events("hold"))]
            self.assertEqual([f["name"] for f in held], ["clock_nanosleep"] * 3, described_all(seen.found))
            self.assertTrue(any(re.match(r"stalls not under hold_.*: \d+$", note) for note in seen.notes), seen.notes)

    def test_no_user_stacks(self):
        seen = stalls("--idle", "-T", "5ms", "--user-stack-bytes", 0, "--", workload("sleep-demo"), "--count", 1, "--min", "10ms")
        self.assert_sound(seen)
        self.assertNotIn("user_stack", seen.named("clock_nanosleep")[0])

    def test_errors(self):
        for arguments, words in ((("-T", "10", "--", "true"), "unit"),
                                 (("-T", "0ms", "--", "true"), "threshold of 0"),
                                 (("-T", "futx=10ms", "--", "true"), "'futx' is neither"),
                                 (("-T", "10ms", "--user-stack-bytes", "99999", "--", "true"), "too much"),
                                 (("-T", "10ms", "-e", "nosuchcall", "--", "true"), "nosuchcall"),
                                 (("-T", "10ms", "--first", "-1", "--", "true"), "--first"),
                                 (("-T", "10ms", "--"), "no program"),
                                 (("-T", "10ms"), "target")):
            with self.subTest(arguments):
                finished = overdue("stalls", *arguments)
                self.assertIn(finished.status, (2, 125) if "--" in arguments else (2,), finished)
                self.assertIn(words, finished.err)
                self.assertIn("hint:", finished.err)

    def test_running_process(self):
        with Live(workload("sleep-demo"), "--min", "30ms", "--max", "40ms", "-d", "20s", "--count", 10000) as target, \
                attached("stalls", "-T", "20ms", "-e", "clock_nanosleep", "-f", "ndjson", "-p", target.pid, "-d",
                         "700ms") as live:
            finished = live.finish()
        lines = [json.loads(line) for line in finished.out.splitlines()]
        seen = Stalls(lines, finished)
        self.assertEqual(seen.receipt["lost"], 0)
        self.assertGreaterEqual(len(seen.found), 5)
        for finding in seen.found:
            self.assertEqual((finding["pid"], finding["name"]), (target.pid, "clock_nanosleep"))
            self.assert_adds_up(finding)
            self.assert_complete(finding, "main", "sleep_for_a_while")


class Robustness(Case):
    def test_threads(self):
        """Each of 2 000 short-lived threads naps once, and no call is taken for another's."""
        count = long_or_short(10000, 2000)
        seen = stalls("-T", "2900us", "-e", "clock_nanosleep", "--buffer", "32M", "--", workload("stall_cases"),
                      "threads", count, timeout=300)
        self.assert_sound(seen)
        self.assertEqual(len(seen.found), count)
        self.assertEqual(len({finding["tid"] for finding in seen.found}), count)
        for finding in seen.found:
            self.assertGreaterEqual(finding["latency_ns"], 3 * MS, described(finding))
            self.assertGreater(finding["latency_ns"] - finding["breakdown"]["runqueue_ns"], 2.9 * MS, described(finding))
        # All time is sleep, unless the thread lost the CPU between setting its timer and sleeping.
        late = [finding for finding in seen.found if finding["breakdown"]["blocked_ns"] <= 2.9 * MS]
        self.assertLess(len(late), count / 10, described_all(late[:10]))

    def test_everything_is_late(self):
        """A threshold that every call passes: nothing breaks, and what was lost is counted."""
        seen = stalls("-T", "1ns", "--idle", "--user-stack-bytes", 4096, "--", workload("thread_churn"), 200, 5,
                      timeout=300)
        self.assertEqual(seen.finished.status, 0, seen.finished)
        self.assertEqual(seen.receipt["unmatched"], 0)
        if seen.receipt["lost"] == 0:
            self.assertEqual(len(seen.named("getppid")), 1000)
        self.assertGreater(len(seen.found), 1000)
        for finding in seen.found:
            self.assertEqual(sum(finding["breakdown"].values()), finding["latency_ns"], finding)

    def test_signals(self):
        """Each piece of an interrupted sleep is a call of its own, none as long as the whole."""
        seen = stalls("-T", "100us", "-e", "clock_nanosleep", "--", workload("stall_cases"), "signals", 3)
        self.assert_sound(seen)
        # A late way back through a handler is a finding of its own, with the program's result.
        interrupted = [one for one in seen.found if one.get("ret", 0) < 0 and "way_back" not in one]
        self.assertGreater(len(interrupted), 10)
        self.assertEqual({finding["error"] for finding in interrupted}, {"ERESTART_RESTARTBLOCK"})
        for kind in ("handler", "restart", "stop"):
            with self.subTest(kind):
                self.assert_sound(stalls("-T", "1ms", "--idle", "--", workload("interrupted_sleep"), kind, 3))

    def test_traced(self):
        """strace stops the target twice a call: its waits are for the tracer."""
        with tempfile.TemporaryDirectory() as folder:
            seen = stalls("--idle", "-T", "20ms", "--", tool("strace"), "-f", "-o", os.path.join(folder, "trace"),
                          workload("sleep-demo"), "--count", 5, "--min", "30ms", "--max", "40ms", timeout=120)
        self.assert_sound(seen)
        naps = [finding for finding in seen.named("clock_nanosleep") if finding["comm"] == "sleep-demo"]
        self.assertEqual(len(naps), 5)
        for finding in naps:
            self.assert_complete(finding, "main", "sleep_for_a_while")

    def test_vfork(self):
        """The parent waits in vfork for its child, which naps on the same stack."""
        seen = stalls("--idle", "-T", "20ms", "--", workload("stall_cases"), "vfork", 5)
        self.assert_sound(seen)
        naps, waits = seen.named("clock_nanosleep"), seen.named("vfork")
        self.assertEqual((len(naps), len(waits)), (5, 5))
        self.assertEqual(len({finding["pid"] for finding in naps}), 5)
        self.assertEqual(len({finding["pid"] for finding in waits}), 1)
        for nap in naps:
            self.assert_complete(nap, "main", "take_a_nap")
        for wait in self.with_wakers(waits):
            self.assertIn(longest_wait(wait)["waker"]["tid"], {nap["tid"] for nap in naps}, described(wait))
        self.assert_sound(stalls("-T", "1ms", "--", workload("vfork_exec"), 20, "/bin/true"))

    def test_exec_in_a_thread(self):
        seen = stalls("--idle", "-T", "20ms", "--", workload("exec_in_thread"), workload("stall_cases"), "exit")
        self.assert_sound(seen)
        nap = [finding for finding in seen.named("clock_nanosleep") if finding["latency_ns"] > 29 * MS]
        self.assertEqual(len(nap), 1)
        self.assertEqual(nap[0]["tid"], nap[0]["pid"], "it has the leader's id now")
        self.assert_complete(nap[0], "main", "take_a_nap")

    def test_killed(self):
        """Killed by its seccomp filter, and in the middle of a call."""
        seen = stalls("--idle", "-T", "20ms", "--", workload("stall_cases"), "seccomp")
        self.assert_sound(seen, status=137)
        nap, = seen.named("clock_nanosleep")
        self.assertGreater(nap["latency_ns"], 29 * MS)
        self.assertEqual(seen.named("getppid"), [], "it never returned")
        self.assert_sound(stalls("--idle", "-T", "5ms", "--", workload("stall_cases"), "killed"), status=137)


if __name__ == "__main__":
    main()
