#!/usr/bin/python3
"""`overdue ctl`: sessions are listed, changed, paused and stopped, by permitted users only; and no
client can hold up measuring."""
import contextlib
import json
import os
import signal
import socket
import stat
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (NOBODY, OVERDUE, Live, OnDemand, attached, eventually, main, overdue,
                          require_root, run, workload)

FOLDER = "/run/overdue"
MS = 1_000_000


def path_of(pid):
    return f"{FOLDER}/{pid}.sock"


def ctl(pid, *words, **options):
    return overdue("ctl", "--session", pid, "-f", "json", *words, **options)


def ask(pid, line):
    """Sends the bytes `line` to the session's socket. Returns the answer."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(10)
        client.connect(path_of(pid))
        client.sendall(line)
        text = b""
        with contextlib.suppress(ConnectionResetError):  # the session has not read everything
            while chunk := client.recv(65536):
                text += chunk
    return json.loads(text)


class CtlTest(unittest.TestCase):
    def setUp(self):
        require_root()


@contextlib.contextmanager
def sleeper(*options, nap="0.1"):
    """A session on a program that sleeps for NAP seconds, again and again."""
    with Live("sh", "-c", f"while sleep {nap}; do :; done") as target:
        with attached("stalls", "--idle", "-f", "ndjson", *options, "-p", target.pid) as live:
            eventually(lambda: os.path.exists(path_of(live.pid)), 10, "no socket")
            yield live


def stalls(text):
    """The stalls in whole lines: the last line may be incomplete."""
    return [json.loads(line) for line in text.splitlines(True)
            if line.startswith('{"type":"stall"') and line.endswith("\n")]


class Requests(CtlTest):
    def test_list_and_get(self):
        with sleeper("-T", "50ms,futex=1s") as live:
            listed = [json.loads(line) for line in overdue("ctl", "-f", "json", "list").out.splitlines()]
            mine = [one for one in listed if one["session"] == live.pid]
            self.assertEqual(len(mine), 1, listed)
            self.assertEqual(mine[0]["command"], "stalls")
            self.assertEqual(mine[0]["state"], "measuring")
            self.assertEqual(mine[0]["settings"], {"threshold": "50.0ms,futex=1.00s"})
            self.assertIn(str(live.pid), overdue("ctl", "list").out)
            one = json.loads(ctl(live.pid, "get").out)
            self.assertEqual(one["session"], live.pid)
            self.assertGreater(one["age_ns"], 0)

    @staticmethod
    def wait_for_stalls(live, threshold_ns):
        """Waits for a few naps that are late by this threshold."""
        def found():
            return [one for one in stalls(live.out())
                    if (one["name"], one["threshold_ns"]) == ("clock_nanosleep", threshold_ns)]
        eventually(lambda: len(found()) > 2, 20, f"nothing is late by {threshold_ns} ns")

    def test_what_has_no_report_of_changes_keeps_its_threshold(self):
        with tempfile.TemporaryDirectory() as folder:
            for command in (["spans", "--save"], ["record", "--events", "sched", "-T", "1ms", "-o"]):
                with attached(*command, f"{folder}/x.odt", "-p", os.getpid()) as live:
                    eventually(lambda pid=live.pid: os.path.exists(path_of(pid)), 10, "no socket")
                    self.assertEqual(json.loads(ctl(live.pid, "get").out)["settings"], {})
                    refused = ctl(live.pid, "set", "threshold", "50ms")
                    self.assertEqual(refused.status, 1, refused)
                    self.assertIn("nothing of this session can be changed", refused.out + refused.err)

    def test_a_threshold_changes_while_it_runs(self):
        with sleeper("-T", "10s") as live:
            time.sleep(1)
            begin = time.monotonic_ns()
            changed = ctl(live.pid, "set", "threshold", "50ms")
            end = time.monotonic_ns()
            self.assertEqual(changed.status, 0, changed)
            self.assertEqual(json.loads(changed.out)["settings"]["threshold"], "50.0ms")
            self.wait_for_stalls(live, 50 * MS)
            ctl(live.pid, "set", "clock_nanosleep=60ms")
            self.wait_for_stalls(live, 60 * MS)
            quiet_from = time.monotonic_ns()
            self.assertEqual(ctl(live.pid, "set", "threshold", "20s").status, 0)
            self.assertEqual(ctl(live.pid, "set", "clock_nanosleep=20s").status, 0)
            quiet = time.monotonic_ns()
            time.sleep(1)
            live.signal(signal.SIGINT)
            finished = live.finish()
        found = [one for one in stalls(finished.out) if one["name"] == "clock_nanosleep"]
        self.assertGreater(len(found), 4, finished)
        for one in found:
            self.assertGreater(one["time_ns"], begin)
            self.assertLess(one["time_ns"], quiet)
            self.assertIn(one["threshold_ns"], (50 * MS, 60 * MS))
        self.assertEqual({one["threshold_ns"] for one in found}, {50 * MS, 60 * MS})
        self.assertLess(end - begin, 10_000 * MS)
        self.assertLess(quiet_from, quiet)
        self.assertEqual(finished.status, 0)

    def test_a_threshold_by_name_changes_while_it_runs(self):
        with OnDemand() as target:
            with attached("stalls", "-T", "1h,thread:nobody=1ns", "-e", "getppid", "-f", "ndjson", "-p",
                          target.pid) as live:
                target.tell("main 100")
                self.assertEqual(ctl(live.pid, "set", "threshold", "thread:on_dem*=1ns").status, 0)
                target.tell("main 7")
                self.assertEqual(ctl(live.pid, "set", "threshold", "thread:on_dem*=1h").status, 0)
                target.tell("main 100")
                self.assertEqual(ctl(live.pid, "set", "threshold", "getppid=1ns").status, 0)
                target.tell("main 5")
                live.signal(signal.SIGINT)
                finished = live.finish()
        self.assertEqual(len(stalls(finished.out)), 12, finished)
        self.assertEqual({one["threshold_ns"] for one in stalls(finished.out)}, {1})

    def test_what_is_no_setting_changes_nothing(self):
        with sleeper("-T", "5s") as live:
            for words in (("threshold", "0ms"), ("threshold", "7"), ("nothing=5ms",), ("colour", "red"),
                          ("timeout", "1s"), ("threshold",), ("softirq=5ms",), ("futex=1s", "x=1")):
                refused = ctl(live.pid, "set", *words)
                self.assertEqual(refused.status, 1, (words, refused))
                self.assertIn("overdue:", refused.err)
            self.assertEqual(json.loads(ctl(live.pid, "get").out)["settings"], {"threshold": "5.00s"})

    def test_pause_and_resume(self):
        """Calls that end in the pause are not reported; calls that begin in it get no wrong end."""
        with OnDemand() as target:
            with attached("stalls", "-T", "1ns", "-e", "getppid", "-f", "ndjson", "-p",
                          target.pid) as live:
                target.tell("main 5")
                self.assertEqual(json.loads(ctl(live.pid, "pause").out)["state"], "paused")
                target.tell("main 100")
                self.assertEqual(json.loads(ctl(live.pid, "resume").out)["state"], "measuring")
                target.tell("main 7")
                live.signal(signal.SIGINT)
                finished = live.finish()
        self.assertEqual(len([one for one in stalls(finished.out) if one["name"] == "getppid"]), 12,
                         finished)
        receipt = json.loads(finished.out.splitlines()[-1])
        self.assertEqual(receipt["unmatched"], 0)
        self.assertIn("measuring was paused 1 time", finished.out)

    def test_a_call_that_began_while_paused_is_cut(self):
        with sleeper("-T", "1ns", nap="1") as live:
            self.assertEqual(json.loads(ctl(live.pid, "pause").out)["state"], "paused")
            time.sleep(1.5)
            before = time.monotonic_ns()
            self.assertEqual(json.loads(ctl(live.pid, "resume").out)["state"], "measuring")
            time.sleep(2.5)
            live.signal(signal.SIGINT)
            finished = live.finish()
        for one in stalls(finished.out):
            if one["name"] == "clock_nanosleep" and one["time_ns"] > before:
                self.assertGreaterEqual(one["time_ns"] - one["latency_ns"], before, finished)
        receipt = json.loads(finished.out.splitlines()[-1])
        self.assertEqual(receipt["unmatched"], 0)
        self.assertGreaterEqual(receipt["cut"], 1)

    def test_stop_ends_with_a_report(self):
        with sleeper("-T", "5s") as live:
            self.assertEqual(json.loads(ctl(live.pid, "stop").out)["state"], "stopping")
            finished = live.finish()
            self.assertEqual(finished.status, 0)
            self.assertEqual(json.loads(finished.out.splitlines()[-1])["type"], "receipt")
            self.assertFalse(os.path.exists(path_of(live.pid)))

    def test_other_commands_have_one_too(self):
        with Live("/bin/sleep", "60") as target:
            with attached("syscalls", "-p", target.pid) as live:
                eventually(lambda: os.path.exists(path_of(live.pid)), 10, "no socket")
                self.assertEqual(json.loads(ctl(live.pid, "get").out)["command"], "syscalls")
                self.assertEqual(ctl(live.pid, "set", "threshold", "5ms").status, 1)

    def test_words(self):
        for words, status in ((("list",), 0), (("snapshot",), 2), (("lits",), 2), ((), 2),
                              (("set",), 2), (("get", "more"), 2), (("-f", "csv", "list"), 2)):
            self.assertEqual(overdue("ctl", *words).status, status, words)
        self.assertEqual(overdue("ctl", "--session", 1, "get").status, 1)


class Socket(CtlTest):
    def test_who_may(self):
        with sleeper("-T", "5s") as live:
            self.assertEqual(stat.S_IMODE(os.stat(FOLDER).st_mode), 0o711)
            mode = os.stat(path_of(live.pid))
            self.assertEqual((stat.S_IMODE(mode.st_mode), mode.st_uid), (0o600, 0))
            refused = run([*NOBODY, OVERDUE, "ctl", "--session", str(live.pid), "get"])
            self.assertEqual(refused.status, 1, refused)
            # Even if the socket's mode lets every user connect.
            os.chmod(path_of(live.pid), 0o666)
            refused = run([*NOBODY, OVERDUE, "ctl", "--session", str(live.pid), "stop"])
            self.assertEqual(refused.status, 1, refused)
            self.assertEqual(json.loads(ctl(live.pid, "get").out)["state"], "measuring")

    def test_the_invoking_user_may(self):
        with Live("/bin/sleep", "60") as target:
            environment = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
            with attached("stalls", "-T", "5s", "-p", target.pid, env=environment) as live:
                eventually(lambda: os.path.exists(path_of(live.pid)), 10, "no socket")
                allowed = run([*NOBODY, OVERDUE, "ctl", "--session", str(live.pid), "pause"])
                self.assertEqual(allowed.status, 0, allowed)
                self.assertEqual(json.loads(ctl(live.pid, "get").out)["state"], "paused")

    def test_hostile_input(self):
        with sleeper("-T", "50ms") as live:
            for line in (b"\n", b"x" * 1024 + b"\n", b"x" * 5000 + b"\n", b"get\0\n", b"\xff\xfe\n", b"set\n", b"list\n",
                         b"set threshold " + b"9" * 900 + b"s\n", b"get get\n", b"snapshot\n",
                         b"set " + b"a=" * 400 + b"\n", b"set threshold \xff\n"):
                answer = ask(live.pid, line)
                self.assertFalse(answer["ok"], (line, answer))
                self.assertTrue(answer["error"])
            self.assertFalse(ask(live.pid, b"y" * 1025)["ok"])
            self.assertTrue(ask(live.pid, b"  get  \n")["ok"])

    def test_nobody_can_hold_it_up(self):
        """Silent clients, and more of them than the session serves."""
        with sleeper("-T", "50ms") as live:
            clients = [socket.socket(socket.AF_UNIX) for _ in range(30)]
            try:
                for client in clients:
                    client.setblocking(False)
                    with contextlib.suppress(BlockingIOError):
                        client.connect(path_of(live.pid))
                time.sleep(1)
                before = len(stalls(live.out()))
                eventually(lambda: len(stalls(live.out())) > before, 10, "it stands still")
                # After a while, the session closes silent clients and serves others.
                eventually(lambda: ctl(live.pid, "get").status == 0, 20, "nobody is heard", 0.5)
            finally:
                for client in clients:
                    client.close()

    def test_what_a_killed_session_left_is_removed(self):
        """`sleeper` waits for the socket; after the kill, also a session of another test may remove it."""
        with sleeper("-T", "5s") as live:
            left = path_of(live.pid)
            os.kill(live.pid, signal.SIGKILL)
            live.process.wait()
            self.assertEqual(ctl(live.pid, "get").status, 1)
            self.assertNotIn(str(live.pid), overdue("ctl", "list").out)
            with sleeper("-T", "5s"):
                self.assertFalse(os.path.exists(left))


if __name__ == "__main__":
    main()
