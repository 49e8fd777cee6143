#!/usr/bin/python3
"""`overdue stalls --timeout`: an open call is reported once, with the place of its thread."""
import json
import os
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import Live, attached, eventually, main, overdue, require_root, tool, workload

MS = 1_000_000


def functions(stack):
    return [frame["name"] for frame in stack]


def lines_of(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def is_deadlocked(pid):
    """Whether neither of the workload's two threads runs, and each is in a futex call."""
    calls = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
            calls.append(file.read().split()[0])
    return calls == ["202", "202"]


class Timeout(unittest.TestCase):
    def setUp(self):
        require_root()

    def findings(self, how, seconds, *options, duration="2s", program=None, **more):
        """(hangs, stalls, the finished run) of the workload."""
        finished = overdue("stalls", "-f", "ndjson", "--timeout", "500ms", "-d", duration, *options,
                           "--", program or workload("hang"), how, seconds, **more)
        lines = lines_of(finished.err)
        return ([line for line in lines if line["type"] == "hang"],
                [line for line in lines if line["type"] == "stall"], finished)

    def assert_open_for_a_while(self, hang):
        """Overdue looks at open calls every 125 ms; the machine may be busy."""
        self.assertGreaterEqual(hang["latency_ns"], 500 * MS)
        self.assertLess(hang["latency_ns"], 3000 * MS)
        self.assertEqual(hang["threshold_ns"], 500 * MS)
        self.assertNotIn("ret", hang)
        parts = sum(hang["breakdown"].values())
        self.assertAlmostEqual(parts, hang["latency_ns"], delta=hang["latency_ns"] * 0.01)

    def test_a_sleep_is_told_of_once_and_again_when_it_ends(self):
        hangs, stalls, finished = self.findings("sleep", 2, "--idle", duration="5s")
        self.assertEqual(len(hangs), 1, finished)
        self.assertEqual(len(stalls), 1, finished)
        hang, stall = hangs[0], stalls[0]
        self.assert_open_for_a_while(hang)
        self.assertEqual(hang["name"], "clock_nanosleep")
        self.assertEqual(hang["state"], "sleeping")
        self.assertIn("hrtimer_nanosleep", functions(hang["kernel_stack"]))
        self.assertIn("sleep_long", functions(hang["user_stack"]))
        self.assertIn("main", functions(hang["user_stack"]))
        self.assertEqual(len(hang["args"]), 4)
        self.assertEqual(stall["hang"], hang["number"])
        self.assertGreaterEqual(stall["latency_ns"], 2000 * MS)

    def assert_running_parts(self, *program):
        finished = overdue("stalls", "-f", "ndjson", "--timeout", "100ms", "-T", "100ms", "-e", "read", "-d", "10s",
                           "--", *program)
        reported = [line for line in lines_of(finished.err) if line["type"] in ("hang", "stall")]
        self.assertEqual([(line["type"], line["name"]) for line in reported], [("hang", "read"), ("stall", "read")],
                         finished)
        for line in reported:
            breakdown = line["breakdown"]
            self.assertAlmostEqual(sum(breakdown.values()), line["latency_ns"], delta=line["latency_ns"] * 0.01)
            self.assertGreater(breakdown["oncpu_ns"], 0, line)
            self.assertLessEqual(breakdown["unknown_ns"], line["latency_ns"] * 0.02, line)

    def test_a_sleep_that_is_open_is_not_late(self):
        hangs, stalls, finished = self.findings("sleep", 2, duration="5s")
        self.assertEqual((hangs, stalls), ([], []), finished)
        self.assertRegex(finished.err, r"sleeps no longer than requested are not shown: clock_nanosleep 1 \(longest 2\.")

    def test_a_call_that_runs(self):
        """The thread need not have left the CPU since the call began."""
        self.assert_running_parts(tool("dd"), "if=/dev/urandom", "of=/dev/null", "bs=200M", "count=1", "status=none")

    def test_a_call_that_runs_after_interrupts(self):
        """Timer interrupts, which the thread had on that CPU before the call."""
        self.assert_running_parts(sys.executable, "-c", "import time\n"
                                  "end = time.monotonic() + 0.3\n"
                                  "while time.monotonic() < end: pass\n"
                                  "open('/dev/urandom', 'rb', 0).read(200 << 20)")

    def test_a_read_of_a_pipe_waits_for_work(self):
        hangs, _, finished = self.findings("pipe", 4, "--idle")
        self.assertEqual([hang["name"] for hang in hangs], ["read"], finished)
        self.assert_open_for_a_while(hangs[0])
        self.assertIn("wait_for_an_answer", functions(hangs[0]["user_stack"]))
        self.assertTrue(any("pipe_read" in name for name in functions(hangs[0]["kernel_stack"])))
        hangs, _, finished = self.findings("pipe", 4)
        self.assertEqual(hangs, [], finished)
        self.assertIn("--idle shows them", finished.err)

    def test_calls_that_wait_by_their_nature(self):
        hangs, _, finished = self.findings("poll", 4)
        self.assertEqual(hangs, [], finished)
        hangs, _, finished = self.findings("poll", 4, "--idle")
        self.assertEqual([hang["name"] for hang in hangs], ["poll"], finished)

    def test_an_uninterruptible_wait(self):
        hangs, _, finished = self.findings("vfork", 3)
        parents = [hang for hang in hangs if hang["name"] == "vfork"]
        self.assertEqual(len(parents), 1, finished)
        self.assertEqual(parents[0]["state"], "uninterruptible")
        self.assertGreaterEqual(parents[0]["blocked"]["uninterruptible_ns"], 450 * MS)
        # The child runs on the same stack: vfork() keeps its return address in a register.
        self.assertEqual(functions(parents[0]["user_stack"])[:3], ["vfork", "wait_for_a_child", "main"])
        self.assertNotIn("user_stack_end", parents[0])

    def test_a_deadlock_of_two_threads(self):
        hangs, _, finished = self.findings("deadlock", 4)
        self.assertEqual({hang["comm"] for hang in hangs}, {"dead-1", "dead-2"}, finished)
        for hang in hangs:
            self.assertEqual(hang["name"], "futex")
            self.assertIn("take_both", functions(hang["user_stack"]))

    def test_what_hung_before_we_came(self):
        with Live(workload("hang"), "deadlock", 30) as target:
            eventually(lambda: is_deadlocked(target.pid), 20, "the workload does not hang")
            with attached("stalls", "-f", "ndjson", "--timeout", "300ms", "-p", target.pid,
                          settle=2) as live:
                live.signal(2)
                finished = live.finish()
        hangs = [line for line in lines_of(finished.out) if line["type"] == "hang"]
        self.assertEqual(len(hangs), 2, finished)
        for hang in hangs:
            self.assertTrue(hang["older"])
            self.assertEqual(hang["name"], "futex")
            self.assertGreaterEqual(hang["latency_ns"], 300 * MS)

    def test_a_thread_that_a_tracer_stops(self):
        tracer_text = ("import ctypes, os, sys, time\nptrace = ctypes.CDLL(None).ptrace\npid = int(sys.argv[1])\n"
                       "assert ptrace(0x4206, pid, 0, 0) == ptrace(0x4207, pid, 0, 0) == 0  # SEIZE, INTERRUPT\n"
                       "os.waitpid(pid, 0x40000000)\nprint('stopped', flush=True)\ntime.sleep(600)")
        with Live(workload("hang"), "sleep", 600) as target:
            with Live(tool("python3"), "-c", tracer_text, target.pid) as tracer:
                eventually(lambda: "stopped" in tracer.out(), 20, f"not stopped: {tracer.err()}")
                finished = overdue("stalls", "-f", "ndjson", "--timeout", "500ms", "--idle", "-d", "2s", "-p", target.pid)
                text = overdue("stalls", "--timeout", "500ms", "--idle", "-d", "2s", "-p", target.pid).out
        [hang] = [line for line in lines_of(finished.out) if line["type"] == "hang"]
        self.assertEqual(hang["state"], "traced", hang)
        wait = hang["waits"][-1]
        self.assertEqual((wait["state"], wait["means"]), ("other", "traced"), hang)
        self.assertEqual((wait["traced_by"]["tid"], wait["traced_by"]["comm"]), (tracer.pid, "python3"), hang)
        self.assertIn(f"still traced by python3[{tracer.pid}], for ", text)

    def test_the_descriptor_of_a_poll(self):
        """It is in the memory of the process."""
        text = ("import select, socket; server = socket.create_server(('127.0.0.1', 0)); "
                "client = socket.create_connection(server.getsockname()); client.send(b'question'); "
                "poll = select.poll(); poll.register(client, select.POLLIN); poll.poll(4000)")
        hangs, _, finished = self.findings("-c", text, "--idle", program=tool("python3"))
        self.assertEqual([hang["name"] for hang in hangs], ["poll"], finished)
        self.assertEqual(hangs[0]["object"]["side"], "client", hangs)
        self.assertRegex(hangs[0]["args"][0], r"^fds=\[\d+<tcp 127\.0\.0\.1:\d+->127\.0\.0\.1:\d+>\]$")

    def test_strings(self):
        """Overdue reads the strings of an open call from the process's memory, here from the
        program's file, which must not be another machine's."""
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(f"{folder}/answers")
            program = shutil.copy(workload("hang"), folder)
            hangs, _, finished = self.findings("open", 2, program=program, cwd=folder)
        self.assertEqual([hang["name"] for hang in hangs], ["openat"], finished)
        self.assertEqual(hangs[0]["args"][1], 'pathname="answers"')
        self.assertIn("wait_for_a_writer", functions(hangs[0]["user_stack"]))

    def test_hostile_strings(self):
        """Strings of any length and content, also at the very end of readable memory."""
        program = ("import ctypes,mmap,os,signal,sys; signal.alarm(2); name=os.fsencode(sys.argv[1]); "
                   "os.mkfifo(name); area=mmap.mmap(-1, 8192); "
                   "at=ctypes.addressof(ctypes.c_char.from_buffer(area)); libc=ctypes.CDLL(None); "
                   "libc.mprotect(ctypes.c_void_p(at+4096), 4096, 0); begin=4096-len(name)-1; "
                   "area[begin:begin+len(name)]=name; libc.open(ctypes.c_void_p(at+begin), 0)")
        for name, shown in (("\x1b[31m\n", r'pathname="\S*\[31m\S*"'), ("x" * 200, r'pathname="\S*/x{200}"'),
                            (f"{'./' * 200}y", r'pathname="(\./){127}\."…')):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                path = name if name.startswith(".") else f"{folder}/{name}"
                finished = overdue("stalls", "-f", "ndjson", "--timeout", "300ms", "-e", "openat,open", "-d", "3s",
                                   "--", tool("python3"), "-c", program, path, cwd=folder)
                text = finished.err.encode("latin-1").decode()
                hangs = [line for line in lines_of(text) if line["type"] == "hang"]
                self.assertEqual(len(hangs), 1, finished)
                self.assertRegex(hangs[0]["args"][1], f"^{shown}$")
                self.assertNotIn("\x1b", finished.err)

    def test_strings_that_are_not_in_memory(self):
        """Memory that is held back holds up the thread that reads the string, but not Overdue."""
        hangs, _, finished = self.findings("fault", 3)
        if finished.status == 77:
            self.skipTest("userfaultfd is not allowed here")
        self.assertEqual([hang["name"] for hang in hangs], ["openat"], finished)
        self.assertRegex(hangs[0]["args"][1], "^pathname=0x[0-9a-f]+$")
        self.assertLess(finished.seconds, 20)

    def test_the_text_says_for_how_long_and_where(self):
        finished = overdue("stalls", "--idle", "--timeout", "500ms", "-d", "2s", "--", workload("hang"),
                           "sleep", 4)
        self.assertRegex(finished.err, r"clock_nanosleep\(.*\)  .*open for \d+ms \(timeout 500ms\)")
        self.assertIn("still sleeping", finished.err)
        self.assertIn("hrtimer_nanosleep", finished.err)

    def test_a_timeout_must_be_a_time(self):
        for value in ("0ms", "5", "never"):
            self.assertEqual(overdue("stalls", "--timeout", value, "-a").status, 2)


if __name__ == "__main__":
    main()
