#!/usr/bin/python3
"""Surroundings that a caller or another process controls: closed streams, limits, no sandbox."""
import fcntl
import json
import os
import resource
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, Live, attached, eventually, held_by, main, require_root, run, tool

# The folders in which a resolver can make its empty root.
FOLDERS = ("/tmp", "/dev/shm", "/run", "/var/tmp")


class ClosedStreams(unittest.TestCase):
    def setUp(self):
        require_root()
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.report = f"{made.name}/report.json"

    def run_without(self, streams, *command):
        """Runs a command after its caller has closed these streams."""
        def close():
            for stream in streams:
                os.close(stream)
        return run([OVERDUE, *command], preexec=close, timeout=20)

    def test_a_measurement_is_whole_without_them(self):
        for streams in ((0,), (2,), (0, 2), (1,), (0, 1, 2)):
            with self.subTest(streams=streams):
                finished = self.run_without(streams, "syscalls", "-f", "json", "-o", self.report, "--", tool("sleep"),
                                            "0.3")
                self.assertEqual(finished.status, 0, finished)
                with open(self.report, encoding="utf-8") as file:
                    report = json.load(file)
                self.assertGreater(report["duration_ns"], 250_000_000)
                os.unlink(self.report)

    def test_a_report_without_a_place_is_a_failure(self):
        """The output must not land in Overdue's own pipe, and end the run early with success."""
        for streams in ((1,), (0, 1), (0, 1, 2)):
            for command in (("syscalls", "-a", "-i", "100ms"), ("stalls", "-a", "-T", "1us"),
                            ("timerlat", "-i", "100ms")):
                with self.subTest(streams=streams, command=command):
                    finished = self.run_without(streams, *command, "--stdout", "-d", "600ms")
                    self.assertEqual(finished.status, 1, finished)
                    if 2 not in streams:
                        self.assertIn("cannot write", finished.err)

    def test_the_program_finds_them_closed(self):
        code = "import os,sys; sys.exit(sum(1 << n for n in range(3) if not os.path.exists(f'/proc/self/fd/{n}')))"
        for streams in ((0,), (2,), (0, 2)):
            with self.subTest(streams=streams):
                finished = self.run_without(streams, "syscalls", "-o", self.report, "--", sys.executable, "-S", "-c",
                                            code)
                self.assertEqual(finished.status, sum(1 << stream for stream in streams), finished)


class Limits(unittest.TestCase):
    """Each limit alone, as low as a caller can set it: a message or a whole report, no crash."""

    def setUp(self):
        require_root()
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.report = f"{made.name}/report"

    def run_within(self, what, value, *command):
        def limit():
            resource.setrlimit(what, (value, value))
        return run([OVERDUE, *command], preexec=limit, timeout=30)

    def commands(self):
        program = ("--", tool("sleep"), "0.1")
        return [("syscalls", "-o", self.report, *program), ("stalls", "--idle", "-T", "50ms", "-o", self.report, *program),
                ("record", "-o", self.report, *program), ("timerlat", "-o", self.report, "-d", "200ms"),
                ("flame", os.devnull), ("probes",), ("help",)]

    def test_a_small_stack(self):
        for value in (128 << 10, 64 << 10):
            for command in self.commands():
                with self.subTest(value=value, command=command):
                    finished = self.run_within(resource.RLIMIT_STACK, value, *command)
                    self.assertIn(finished.status, (0, 1), finished)

    def test_the_program_has_the_callers_limits(self):
        code = "import resource, sys; sys.exit(resource.getrlimit(resource.RLIMIT_STACK)[0] >> 10)"
        finished = self.run_within(resource.RLIMIT_STACK, 200 << 10, "syscalls", "-o", self.report, "--",
                                   tool("python3"), "-S", "-c", code)
        self.assertEqual(finished.status, 200, finished)

    def test_each_limit(self):
        """Limits on open files, file size, processes, memory and CPU time."""
        limits = [(resource.RLIMIT_NOFILE, value) for value in (4, 10, 30, 80)]
        limits += [(resource.RLIMIT_FSIZE, value) for value in (0, 100)]
        limits += [(resource.RLIMIT_AS, value << 20) for value in (40, 100, 400)]
        limits += [(resource.RLIMIT_NPROC, 1), (resource.RLIMIT_MEMLOCK, 0), (resource.RLIMIT_CPU, 20)]
        for what, value in limits:
            for command in self.commands():
                with self.subTest(what=what, value=value, command=command):
                    finished = self.run_within(what, value, *command)
                    self.assertGreaterEqual(finished.status, 0, finished)
                    self.assertLess(finished.status, 128, finished)
                    if finished.status not in (0, 127):
                        self.assertRegex(finished.err, r"overdue|error while loading", finished)
                        self.assertNotIn("unexpected failure", finished.err)

    def test_a_file_as_long_as_allowed(self):
        finished = self.run_within(resource.RLIMIT_FSIZE, 100, "syscalls", "-o", self.report, "--", tool("true"))
        self.assertNotEqual(finished.status, 0, finished)
        self.assertIn("File too large", finished.err)
        self.assertRegex(finished.err, r"overdue: [\d,]+ events, 0 lost", "without a report there is still a receipt")

    def test_findings_longer_than_allowed(self):
        """Findings are written during the measurement."""
        finished = self.run_within(resource.RLIMIT_FSIZE, 100, "stalls", "-T", "1ns", "-f", "ndjson", "-o", self.report,
                                   "--", tool("true"))
        self.assertNotEqual(finished.status, 0, finished)
        self.assertIn("File too large", finished.err)
        self.assertRegex(finished.err, r"overdue: [\d,]+ events, ")


class Signals(unittest.TestCase):
    def test_each_that_ends_leaves_a_report(self):
        require_root()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1, signal.SIGUSR2,
                       signal.SIGALRM, signal.SIGXCPU):
            with self.subTest(signal=number), attached("syscalls", "-p", os.getpid(), "--stdout") as live:
                live.signal(number)
                finished = live.finish(10)
                self.assertEqual(finished.status, 0, finished)
                self.assertIn(" lost, ", finished.out)


class NobodyReads(unittest.TestCase):
    """Standard output is a full pipe."""

    def setUp(self):
        require_root()

    def run_into_pipe(self, *arguments):
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        # Full from the start, because the whole report of a quiet machine might fit.
        self.filling = b"\n" * fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ)
        self.assertEqual(os.write(writer, self.filling), len(self.filling))
        with Live(tool("sh"), "-c", f'exec >&{writer}; exec "$0" "$@"', OVERDUE, "stalls", "-T", "100us", "-a", "-f",
                  "ndjson", *arguments, pass_fds=(writer,)) as live:
            os.close(writer)
            yield live, reader

    def holds_programs(self, live):
        return bool(held_by(live.pid)["link"])

    def test_the_duration_ends_the_measurement(self):
        """The results wait for a reader; the kernel's hooks are gone."""
        for live, reader in self.run_into_pipe("-d", "2s"):
            eventually(lambda: self.holds_programs(live), 20, "it never measured")
            eventually(lambda: not self.holds_programs(live), 10, "it measures on")
            self.assertIsNone(live.process.poll())
            text = os.read(reader, len(self.filling))
            self.assertEqual(text, self.filling)
            while piece := os.read(reader, 1 << 16):
                text += piece
            self.assertEqual(live.finish(10).status, 0)
            self.assertIn(b'{"type":"receipt"', text.splitlines()[-1])

    def test_the_first_signal_ends_the_measurement_and_the_second_all(self):
        for live, _ in self.run_into_pipe():
            eventually(lambda: self.holds_programs(live), 20, "it never measured")
            time.sleep(1)
            live.signal(signal.SIGINT)
            eventually(lambda: not self.holds_programs(live), 10, "it measures on")
            self.assertIsNone(live.process.poll())
            live.signal(signal.SIGINT)
            self.assertNotEqual(live.finish(5).status, 0)


class Clocks(unittest.TestCase):
    """A time namespace, whose clocks differ from the kernel's."""

    def setUp(self):
        require_root()

    def test_frames_have_names_and_times_are_the_kernels(self):
        for shift in ("100000", "-100"):
            with self.subTest(shift=shift):
                before = time.monotonic_ns()
                finished = run([tool("unshare"), "--time", "--monotonic", shift, OVERDUE, "stalls", "--idle", "-T", "10ms",
                                "-f", "ndjson", "--stdout", "--", tool("sleep"), "0.05"])
                self.assertEqual(finished.status, 0, finished)
                lines = [json.loads(line) for line in finished.out.splitlines()]
                report = next(line for line in lines if line["type"] == "report")
                self.assertLess(before, report["start_ns"])
                self.assertLess(report["start_ns"], time.monotonic_ns())
                stall = next(line for line in lines if line.get("name") == "clock_nanosleep")
                self.assertTrue([frame for frame in stall["user_stack"] if "nanosleep" in frame.get("name", "")], stall)


class NoSandbox(unittest.TestCase):
    """No process reads ELF files with Overdue's rights, unless the user asks for it."""

    def setUp(self):
        require_root()

    def frames(self, *options):
        """The user frames of a sleep of 50 ms, on a machine where no folder can be made."""
        lock = " && ".join(f"mount -t tmpfs -o ro none {folder}" for folder in FOLDERS if os.path.isdir(folder))
        command = ["stalls", "--idle", "-T", "10ms", "-f", "ndjson", "--stdout", *options, "--", tool("sleep"), "0.05"]
        # The mounts may hide the folder of the program itself.
        script = f'exec 9<"$0" && {lock} && exec /proc/self/fd/9 "$@"'
        finished = run([tool("unshare"), "--mount", "sh", "-c", script, OVERDUE, *command])
        self.assertEqual(finished.status, 0, finished)
        lines = [json.loads(line) for line in finished.out.splitlines()]
        stalls = [line for line in lines if line["type"] == "stall" and line["name"] == "clock_nanosleep"]
        self.assertEqual(len(stalls), 1, finished)
        frames = stalls[0]["user_stack"]
        self.assertTrue(frames, stalls)
        return [frame["name"] for frame in frames if frame.get("name")], lines, finished

    def test_without_one_frames_have_no_names(self):
        names, lines, finished = self.frames()
        self.assertEqual(names, [])
        self.assertIn("user stacks have no names", finished.err)
        self.assertIn("--no-sandbox", finished.err)
        notes = next(line["notes"] for line in lines if line["type"] == "report")
        self.assertTrue([note for note in notes if "no names" in note], notes)

    def test_who_wants_it_has_names(self):
        names, _, finished = self.frames("--no-sandbox")
        self.assertTrue([name for name in names if "nanosleep" in name], names)
        self.assertNotIn("no names", finished.err)


if __name__ == "__main__":
    main()
