#!/usr/bin/python3
"""Starting a program: its status becomes ours, its streams stay its own, its first call is execve."""
import array
import contextlib
import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import tempfile
import termios
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (OVERDUE, Live, OnDemand, attached, call_records, counts, eventually, is_stopped,
                          long_or_short, main, overdue, require_root, syscalls_report, tool, workload)


class ExitStatus(unittest.TestCase):
    def setUp(self):
        require_root()

    def status(self, *command):
        return overdue("syscalls", "-q", "--", *command).status

    def test_is_the_programs_own(self):
        for status in (0, 1, 3, 77, 125, 255):
            self.assertEqual(self.status(workload("die"), "exit", status), status)

    def test_is_128_and_the_signal(self):
        for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGUSR1, signal.SIGABRT, signal.SIGHUP):
            self.assertEqual(self.status(workload("die"), int(number)), 128 + number)

    def test_127_when_the_program_is_not_found(self):
        for name in ("no-such-program-anywhere", "/no/such/program", ""):
            with self.subTest(name=name):
                finished = overdue("syscalls", "--", name)
                self.assertEqual(finished.status, 127, finished)
                self.assertNotEqual(finished.err, "")

    def test_126_when_it_cannot_be_executed(self):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("#!/bin/sh\n")
            file.flush()
            os.chmod(file.name, 0o600)
            for name in (file.name, "/etc"):
                with self.subTest(name=name):
                    finished = overdue("syscalls", "--", name)
                    self.assertEqual(finished.status, 126, finished)

    def test_125_when_overdue_fails(self):
        finished = overdue("syscalls", "-o", "/no/such/folder/x", "--", "true")
        self.assertEqual(finished.status, 125, finished)

    def test_125_or_2_but_never_the_programs_for_a_wrong_command_line(self):
        with tempfile.TemporaryDirectory() as folder:
            proof = os.path.join(folder, "ran")
            finished = overdue("syscalls", "--no-such-option", "--", "touch", proof)
            self.assertIn(finished.status, (2, 125), finished)
            self.assertFalse(os.path.exists(proof), "the program ran all the same")

    def test_2_for_a_wrong_command_line(self):
        for arguments in (["syscalls"], ["syscalls", "--no-such-option", "-a"], ["no-such-command"],
                          ["syscalls", "-p", "1", "-a"]):
            with self.subTest(arguments=arguments):
                self.assertEqual(overdue(*arguments).status, 2)

    def test_0_when_nothing_was_spawned(self):
        with Live("/bin/sleep", "30") as sleeper:
            finished = overdue("syscalls", "-p", sleeper.pid, "-d", "100ms")
            self.assertEqual(finished.status, 0, finished)

    def test_of_record_too(self):
        with tempfile.TemporaryDirectory() as folder:
            finished = overdue("record", "-o", f"{folder}/x.odt", "--", workload("die"), "exit", 9)
            self.assertEqual(finished.status, 9, finished)


class Streams(unittest.TestCase):
    def setUp(self):
        require_root()

    def test_stdout_and_stderr_are_the_programs(self):
        finished = overdue("syscalls", "-o", "/dev/null", "-q", "--", "sh", "-c",
                           "cat; echo out; echo err >&2")
        self.assertEqual((finished.out, finished.err), ("out\n", "err\n"))

    def test_report_goes_to_stderr(self):
        finished = overdue("syscalls", "--", "echo", "hello")
        self.assertEqual(finished.out, "hello\n")
        self.assertIn("execve", finished.err)

    def test_report_goes_to_stdout_if_asked(self):
        finished = overdue("syscalls", "--stdout", "--", "true")
        self.assertIn("execve", finished.out)

    def test_report_goes_to_stdout_when_nothing_was_spawned(self):
        # Something has to happen: on an idle machine 200 ms can pass without a system call.
        with Live("sh", "-c", "while sleep 0.01; do :; done"):
            finished = overdue("syscalls", "-a", "-d", "200ms")
        self.assertIn("SYSCALL", finished.out)

    def test_what_nobody_reads_changes_nothing(self):
        """Both streams are a closed pipe, as in `2>&1 | head`."""
        read_end, write_end = os.pipe()
        os.close(read_end)
        with tempfile.TemporaryDirectory() as folder, open(write_end, "w") as unread:
            def status(*arguments):
                return subprocess.run([OVERDUE, *map(str, arguments)], stdout=unread, stderr=unread).returncode
            report = os.path.join(folder, "report")
            self.assertEqual(status("syscalls", "-v", "-o", report, "--", workload("die"), "exit", 7), 7)
            with open(report) as file:
                self.assertIn("execve", file.read())
            self.assertEqual(status("no-such-command"), 2)
            self.assertEqual(status("osnoise", "-d", "50ms"), 128 + signal.SIGPIPE)  # no reader for the report

    def test_stdin_is_the_programs(self):
        with tempfile.TemporaryFile() as file:
            file.write(b"some text\n")
            file.seek(0)
            finished = overdue("syscalls", "-o", "/dev/null", "--", "cat", stdin=file)
            self.assertEqual(finished.out, "some text\n")

    def test_program_inherits_no_descriptor_of_ours(self):
        listing = "ls /proc/self/fd | tr '\\n' ' '"
        alone = Live("sh", "-c", listing)
        with alone:
            expected = alone.finish().out
        finished = overdue("syscalls", "-o", "/dev/null", "--", "sh", "-c", listing)
        self.assertEqual(finished.out, expected)

    def test_signal_dispositions_are_the_invokers(self):
        status = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
        with Live("sh", "-c", status) as alone:
            expected = alone.finish().out
        finished = overdue("syscalls", "-o", "/dev/null", "--", "sh", "-c", status)
        self.assertEqual(finished.out, expected)


class Progress(unittest.TestCase):
    def on_a_terminal(self, *arguments):
        """The output of `overdue ARGUMENTS…` on a terminal, its standard error."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([OVERDUE, *arguments], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        text = b""
        with contextlib.suppress(OSError):  # EIO: no process has the terminal open any more
            while piece := os.read(ours, 4096):
                text += piece
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        return text.decode()

    def setUp(self):
        require_root()

    def test_says_what_takes_long_and_takes_it_back(self):
        text = self.on_a_terminal("syscalls", "-a", "-d", "2500ms")
        self.assertRegex(text, "overdue: measuring, [12] s")  # the moment of drawing varies
        self.assertTrue(text.endswith("\r\x1b[K"), repr(text))

    def test_is_not_for_pipes_and_not_with_q(self):
        self.assertEqual(self.on_a_terminal("syscalls", "-q", "-a", "-d", "1500ms"), "")
        self.assertEqual(overdue("syscalls", "-a", "-d", "1500ms").err, "")


class FirstCall(unittest.TestCase):
    def setUp(self):
        require_root()

    def test_is_execve_at_every_launch(self):
        program = workload("die")
        for launch in range(long_or_short(1000, 50)):
            records, finished = call_records("--", program, "exit", "0")
            calls = [record for record in records if record["type"] == "call"]
            self.assertEqual(finished.status, 0, finished)
            self.assertEqual(calls[0]["name"], "execve", f"launch {launch}: {calls[:3]}")
            # Only one: the search through PATH does not belong to the program.
            self.assertEqual([call["name"] for call in calls].count("execve"), 1, calls[:5])
            self.assertEqual(records[-1]["type"], "receipt")
            self.assertEqual(records[-1]["lost"], 0)

    def test_counts_are_the_same_at_every_launch(self):
        """S1-15: the same program makes the same calls, start to end."""
        seen = [counts(syscalls_report("--", workload("errors"))[0]) for _ in range(8)]
        for one in seen[1:]:
            self.assertEqual(one, seen[0])

    def test_execve_by_path_search(self):
        report, _ = syscalls_report("--", "true")
        self.assertEqual(counts(report)["execve"], 1)

    def test_script_without_shebang_is_run(self):
        with tempfile.NamedTemporaryFile("w", suffix=".sh", delete=False) as file:
            file.write("exit 5\n")
        os.chmod(file.name, 0o755)
        try:
            self.assertEqual(overdue("syscalls", "-q", "--", file.name).status, 5)
        finally:
            os.remove(file.name)


class Signals(unittest.TestCase):
    def setUp(self):
        require_root()

    def child_of(self, live):
        def child():
            with open(f"/proc/{live.pid}/task/{live.pid}/children", encoding="ascii") as file:
                return file.read().split()
        return int(eventually(child, 10, "no child")[0])

    def blocked(self, live):
        eventually(lambda: "blocked" in live.out(), 10, "the program does not come up")

    def test_sigint_to_overdue_ends_both_with_a_report(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with Live(OVERDUE, "syscalls", "--", workload("block_forever"), 7) as live:
                self.blocked(live)
                child = self.child_of(live)
                live.signal(number)
                finished = live.finish(20)
                self.assertEqual(finished.status, 128 + number, finished)
                self.assertRegex(finished.err, r"getppid +7\b")
                self.assertFalse(os.path.exists(f"/proc/{child}"))

    def test_second_sigint_leaves_at_once(self):
        program = "trap '' INT; echo blocked; while :; do sleep 0.05; done"
        with Live(OVERDUE, "syscalls", "--", "sh", "-c", program) as live:
            self.blocked(live)
            child = self.child_of(live)
            live.signal(signal.SIGINT)
            eventually(lambda: live.process.poll() is not None or self.second(live), 10)
            live.finish(5)
            self.assertTrue(os.path.exists(f"/proc/{child}"), "took the program along")
            self.assertFalse(is_stopped(child))
            os.kill(child, signal.SIGKILL)

    def second(self, live):
        live.signal(signal.SIGINT)
        return False

    def test_sigterm_after_the_duration_reaches_the_program(self):
        with Live(OVERDUE, "syscalls", "-d", "200ms", "--", "/bin/sleep", "60") as live:
            eventually(lambda: "no longer measuring" in live.err(), 10)
            live.signal(signal.SIGTERM)
            finished = live.finish(20)
            self.assertEqual(finished.status, 128 + signal.SIGTERM, finished)

    def test_second_sigint_ends_it_while_nobody_reads(self):
        reader, writer = os.pipe()
        with Live(workload("getppid_loop"), "60s", 1) as busy:
            process = subprocess.Popen([OVERDUE, "syscalls", "--calls", "-p", str(busy.pid)],
                                       stdout=writer, stderr=subprocess.DEVNULL)
            os.close(writer)
            def is_full():
                waiting = array.array("i", [0])
                fcntl.ioctl(reader, termios.FIONREAD, waiting)
                return waiting[0] > 60_000
            eventually(is_full, 20, "the pipe does not fill")
            def catches_sigterm():
                with open(f"/proc/{process.pid}/status", encoding="latin-1") as file:
                    caught = re.search(r"^SigCgt:\s*([0-9a-f]+)$", file.read(), re.MULTILINE)
                return int(caught[1], 16) >> (signal.SIGTERM - 1) & 1
            self.assertTrue(catches_sigterm())
            process.send_signal(signal.SIGINT)
            # After the first signal has arrived, the next one has its default effect.
            eventually(lambda: not catches_sigterm(), 10, "the first signal does not arrive")
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(10), -signal.SIGTERM)
        os.close(reader)

    def test_stop_and_continue(self):
        with Live(OVERDUE, "syscalls", "-f", "json", "--", workload("stop_self"), 5) as live:
            eventually(lambda: "stopping" in live.out(), 10)
            child = self.child_of(live)
            eventually(lambda: is_stopped(child), 10, "did not stop")
            os.kill(child, signal.SIGCONT)
            finished = live.finish(20)
            self.assertEqual(finished.status, 0, finished)

    def test_target_already_gone(self):
        with Live("/bin/true") as gone:
            gone.finish()
            finished = overdue("syscalls", "-p", gone.pid, "-d", "100ms")
            self.assertEqual(finished.status, 1, finished)

    def test_target_that_exits_ends_the_run(self):
        with OnDemand() as target:
            with attached("syscalls", "-p", target.pid, "-f", "json") as live:
                target.end()
                finished = live.finish(20)
            self.assertEqual(finished.status, 0, finished)
            self.assertIn("exit_group", finished.out)

    def test_target_that_execs_is_measured_on(self):
        report, finished = syscalls_report("--", workload("exec_in_thread"), workload("getppid_loop"),
                                           300)
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(counts(report)["getppid"], 305)
        self.assertEqual(counts(report)["execve"], 2)

    def test_child_that_outlives_the_program(self):
        """Overdue may measure the child or not, but must end, and must let the child live."""
        with tempfile.TemporaryDirectory() as folder:
            proof = os.path.join(folder, "done")
            report, finished = syscalls_report("--", workload("orphan"), 40, proof)
            self.assertEqual(finished.status, 3, finished)
            self.assertIn(counts(report).get("getppid", 0), (0, 40))
            eventually(lambda: os.path.exists(proof), 10, "the child did not go on")

    def test_runs_as_the_user_who_called_sudo(self):
        environment = dict(os.environ, SUDO_UID="65534", SUDO_GID="65534", SUDO_USER="nobody")
        finished = overdue("syscalls", "-o", "/dev/null", "--", tool("id"), "-u", env=environment)
        self.assertEqual(finished.out, "65534\n", finished)

    def test_runs_as_user(self):
        finished = overdue("syscalls", "-o", "/dev/null", "--user", "nobody", "--", tool("id"), "-u")
        self.assertEqual(finished.out, "65534\n", finished)


if __name__ == "__main__":
    main()
