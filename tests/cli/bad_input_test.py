#!/usr/bin/python3
"""Bad input: each kind has its own message and exit status; never a crash, a hang or a run."""
import os
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (OVERDUE, Live, attached, eventually, main, overdue, require_root, run, tool,
                          workload)


class BadInput(unittest.TestCase):
    def setUp(self):
        require_root()

    def refused(self, *arguments, status, says="", **options):
        finished = overdue("syscalls", *arguments, timeout=20, **options)
        self.assertEqual(finished.status, status, finished)
        self.assertNotEqual(finished.err.strip(), "")
        if says:
            self.assertRegex(finished.err, says)
        for crash in ("terminate called", "Assertion", "AddressSanitizer", "runtime error"):
            self.assertNotIn(crash, finished.err)
        return finished


class Targets(BadInput):
    def test_pids(self):
        for pid in ("0", "-1", "abc", "1x", "", ",", " "):
            with self.subTest(pid=pid):
                self.refused("-p", pid, "-d", "100ms", status=2)
        for pid in ("4194303", "99999999999999999999"):
            self.refused("-p", pid, "-d", "100ms", status=1, says=f"no.*process.*{pid}")

    def test_pid_1_is_a_process_like_others(self):
        finished = overdue("syscalls", "-p", "1", "-d", "200ms")
        self.assertEqual(finished.status, 0, finished)

    def test_our_own_pid(self):
        # `exec` keeps the shell's process id, so $$ is Overdue's own.
        finished = run(["sh", "-c", f"exec {OVERDUE} syscalls -p $$ -d 100ms"], timeout=20)
        self.assertIn(finished.status, (1, 2), finished)
        self.assertRegex(finished.err, "itself|own|ourselves|Overdue")

    def test_zombie(self):
        zombie = subprocess.Popen(["/bin/true"])
        try:
            def is_zombie():
                with open(f"/proc/{zombie.pid}/stat", encoding="ascii") as file:
                    return file.read().rpartition(")")[2].split()[0] == "Z"
            eventually(is_zombie)
            self.refused("-p", zombie.pid, "-d", "100ms", status=1, says="exited|ended|zombie")
        finally:
            zombie.wait()

    def test_thread_id_given_as_pid(self):
        with Live(workload("on_demand"), stdin=subprocess.PIPE) as target:
            eventually(lambda: "ready" in target.out())
            # Not simply the highest id, because ids wrap around.
            tid, = set(map(int, os.listdir(f"/proc/{target.pid}/task"))) - {target.pid}
            finished = self.refused("-p", tid, "-d", "100ms", status=2, says="thread")
            self.assertRegex(finished.err, rf"{target.pid}|-t")

    def test_kernel_thread(self):
        finished = overdue("syscalls", "-p", "2", "-d", "100ms")
        self.assertIn(finished.status, (0, 1), finished)

    def test_cgroup_with_dots(self):
        self.refused("-c", "/sys/fs/cgroup/unified/../unified", "-d", "100ms", status=2)
        self.refused("-c", "a/../../b", "-d", "100ms", status=2)

    def test_no_target_or_two(self):
        self.refused(status=2)
        self.refused("-a", "-p", "1", status=2)
        self.refused("-p", "1", "--", "true", status=2)

    def test_nothing_behind_the_dashes(self):
        self.refused("--", status=2)

    def test_containers(self):
        self.refused("--container", "no-such-container", "-d", "100ms", status=1,
                     says="no-such-container")
        self.refused("--container", "a", "-d", "100ms", status=2)

    def test_cpus(self):
        for cpus in ("99999", "-1", "0-", "a", "", "1-0", "0,,1"):
            with self.subTest(cpus=cpus):
                self.refused("-a", "--cpu", cpus, "-d", "100ms", status=2)

    def test_user(self):
        self.refused("--user", "no-such-user", "--", "true", status=125, says="no-such-user")
        self.refused("--user", "nobody", "-p", "1", "-d", "100ms", status=2)


class Values(BadInput):
    def test_times(self):
        for time in ("0s", "0", "10", "1", "-1s", "10parsecs", "s", "", "nan",
                     "99999999999999999999h"):
            with self.subTest(time=time):
                self.refused("-a", "-d", time, status=2, says="time|duration")
        for time in ("0s", "5", "1ns"):
            with self.subTest(interval=time):
                self.refused("-a", "-d", "200ms", "-i", time, status=2)

    def test_a_century(self):
        """The duration does not overflow to a short one, and a signal ends the run."""
        with Live("/bin/sleep", "60") as target:
            with attached("syscalls", "-p", target.pid, "-d", "1000000h") as live:
                live.signal(signal.SIGINT)
                self.assertEqual(live.finish(10).status, 0)

    def test_events(self):
        for events in ("opneat", "%fiel", "", ",", "!", "no*such", "%"):
            with self.subTest(events=events):
                self.refused("-e", events, "-a", "-d", "100ms", status=2)
        self.refused("-e", "opneat", "-a", "-d", "100ms", status=2, says="did you mean.*openat")
        self.refused("-e", "%fiel", "-a", "-d", "100ms", status=2, says="%file")

    def test_columns_formats_and_sizes(self):
        self.refused("-a", "-d", "100ms", "--sort", "totl", status=2, says="total")
        self.refused("-a", "-d", "100ms", "-f", "yaml", status=2, says="json")
        self.refused("-a", "-d", "100ms", "--top", "-3", status=2)
        self.refused("-a", "-d", "100ms", "--color", "sometimes", status=2)
        for size in ("0", "1", "12parsecs", "99999999999G", "-1", ""):
            with self.subTest(size=size):
                self.refused("--calls", "-a", "-d", "100ms", "--buffer", size, status=2)

    def test_commands(self):
        for arguments, says in ((["syscals", "-a"], "syscalls"), (["stalls"], ""), (["offcpu"], ""),
                                (["help", "no-such"], "no-such"), ([], "")):
            finished = overdue(*arguments)
            self.assertIn(finished.status, (1, 2), finished)
            self.assertIn(says, finished.err)

    def test_programs_behind_commands_that_run_none(self):
        for arguments in (["report", "x.odt"], ["doctor"], ["probes"], ["schema"], ["help"]):
            finished = overdue(*arguments, "--", "true")
            self.assertEqual(finished.status, 2, finished)
            self.assertIn("runs no program", finished.err)
            self.assertEqual(finished.out, "")


class Programs(BadInput):
    def test_empty_name(self):
        self.refused("--", "", status=127)

    def test_long_arguments(self):
        finished = overdue("syscalls", "-q", "-o", "/dev/null", "--", tool("echo"), "x" * 4096)
        self.assertEqual(finished.out, "x" * 4096 + "\n")
        finished = overdue("syscalls", "--", tool("true"), *["y" * 4096] * 100)
        self.assertEqual(finished.status, 0, finished)
        self.refused("--", "z" * 4096, status=127)

    def test_options_behind_the_dashes_are_the_programs(self):
        finished = overdue("syscalls", "-q", "-o", "/dev/null", "--", tool("echo"), "-p", "--help",
                           "--")
        self.assertEqual(finished.out, "-p --help --\n", finished)


class Output(BadInput):
    def test_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            proof = os.path.join(folder, "ran")
            self.refused("-o", folder, "--", "touch", proof, status=125, says="directory")
            self.assertFalse(os.path.exists(proof), "the program ran although nothing could be said")
            self.refused("-a", "-d", "100ms", "-o", folder, status=1, says="directory")

    def test_full_disk(self):
        for form in ("text", "json", "csv", "ndjson"):
            with self.subTest(form=form):
                finished = overdue("syscalls", "-f", form, "-o", "/dev/full", "--", "true")
                self.assertIn(finished.status, (1, 125), finished)
                self.assertIn("No space left", finished.err)
        finished = overdue("syscalls", "--calls", "-f", "ndjson", "-o", "/dev/full", "--",
                           workload("open_read_close"), 3000)
        self.assertIn(finished.status, (1, 125), finished)
        self.assertIn("No space left", finished.err)

    def test_full_stdout(self):
        with open("/dev/full", "w", encoding="ascii") as full:
            process = subprocess.run([OVERDUE, "syscalls", "-a", "-d", "200ms"], stdout=full,
                                     stderr=subprocess.PIPE, timeout=20, check=False)
            self.assertEqual(process.returncode, 1)
            self.assertIn(b"No space left", process.stderr)
            process = subprocess.run([OVERDUE, "schema"], stdout=full, stderr=subprocess.PIPE,
                                     timeout=20, check=False)
            self.assertEqual(process.returncode, 1)

    def test_closed_pipe(self):
        for arguments in (["syscalls", "-a", "-d", "500ms"],
                          ["syscalls", "-a", "-d", "500ms", "-i", "50ms"],
                          ["syscalls", "--calls", "--stdout", "--", workload("open_read_close"),
                           "20000"], ["schema"], ["--help"], ["doctor", "--no-calibrate"]):
            with self.subTest(arguments=arguments):
                reader, writer = os.pipe()
                os.close(reader)  # before the start: a short text would fit into the pipe
                process = subprocess.Popen([OVERDUE, *arguments], stdout=writer, stderr=subprocess.PIPE)
                os.close(writer)
                try:
                    error = process.communicate(timeout=20)[1]
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    self.fail("hangs on a closed pipe")
                self.assertEqual((process.returncode, error), (128 + signal.SIGPIPE, b""))

    def test_closed_streams(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            with self.subTest(closed=closed):
                with tempfile.TemporaryDirectory() as folder:
                    finished = run(["sh", "-c", f"exec {OVERDUE} syscalls -o {folder}/x -f json -- "
                                    f"true {closed}"], timeout=20)
                    self.assertEqual(finished.status, 0, finished)
                    with open(f"{folder}/x", encoding="ascii") as file:
                        self.assertTrue(file.read().startswith("{"))

    def test_file_that_exists_is_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/report"
            with open(path, "w", encoding="ascii") as file:
                file.write("old " * 100000)
            overdue("syscalls", "-o", path, "--", "true")
            with open(path, encoding="ascii") as file:
                self.assertNotIn("old old", file.read())


class Kernel(BadInput):
    """A machine that lacks something: one message, the next step, no run."""

    def without_tracefs(self, *arguments):
        """Runs Overdue in a mount namespace where tracefs is hidden under empty file systems. It mounts its own."""
        hide = "mount -t tmpfs none /sys/kernel/tracing && mount -t tmpfs none /sys/kernel/debug && exec \"$@\""
        finished = run([tool("unshare"), "-m", "sh", "-c", hide, "sh", OVERDUE, *arguments], timeout=20)
        self.assertEqual(finished.status, 0, finished)
        return finished

    def test_two_phase_without_tracefs(self):
        finished = self.without_tracefs("syscalls", "--two-phase", "--discover-time", "100ms", "--", "sleep", "0.5")
        self.assertNotIn("two-phase: stayed", finished.err)
        self.assertIn("nanosleep", finished.err)

    def test_single_pass_without_tracefs(self):
        self.assertIn("execve", self.without_tracefs("syscalls", "--", "true").err)

    def test_user_spans_without_tracefs(self):
        nap = "nap=begin:syscalls:sys_enter_clock_nanosleep,end:syscalls:sys_exit_clock_nanosleep,key:tid"
        self.assertRegex(self.without_tracefs("spans", "--span", nap, "--", "sleep", "0.1").err, r"(?m)^pair +nap +1 ")

    def test_without_btf_file(self):
        hide = "mount -t tmpfs none /sys/kernel/btf; "
        finished = run([tool("unshare"), "-m", "sh", "-c", hide +
                        f"exec {OVERDUE} syscalls -- true"], timeout=20)
        self.assertEqual(finished.status, 125, finished)
        self.assertIn("BTF", finished.err)

    def test_inside_a_pid_namespace(self):
        finished = run([tool("unshare"), "-p", "-f", OVERDUE, "syscalls", "--", "true"], timeout=20)
        self.assertEqual(finished.status, 125, finished)
        self.assertIn("PID namespace", finished.err)


if __name__ == "__main__":
    main()
