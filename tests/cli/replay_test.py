#!/usr/bin/python3
"""`overdue report` shows a saved session as it was shown live, for every command and format."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import has_tracer
from overdue_test import NOBODY, OVERDUE, FolderTest, main, overdue, run, workload

APP_TIMERS = ("timerlat", "--", "sh", "-c", "for i in 1 2 3 4 5; do sleep 0.02; done")
# Options in front of the program, if there is one.
SESSIONS = {
    "timerlat": (("timerlat", "-d", "300ms", "--backend", "bpf"), 0),
    "timerlat that stops": (("timerlat", "-d", "30s", "-T", "1", "--backend", "bpf"), 3),
    "app timers": (APP_TIMERS, 0),
    "own timers that stop": (("timerlat", "-T", "1", *APP_TIMERS[1:]), None),
    "osnoise": (("osnoise", "-d", "500ms", "-p", "200ms", "--backend", "bpf"), 0),
    "osnoise that stops": (("osnoise", "-d", "30s", "-p", "100ms", "-s", "1", "--backend", "bpf"), 3),
    "worst wakeup": (("worst", "wakeup", "--events", "-d", "1s", "--backend", "bpf"), 0),
    "all wake-ups": (("worst", "wakeup", "-T", "1us", "-d", "500ms", "--backend", "bpf"), 0),
    "worst preemptirqsoff": (("worst", "preemptirqsoff", "--keep", "3", "-d", "500ms", "--backend", "bpf"), 0),
    "worst hwlat": (("worst", "hwlat", "-T", "1us", "-d", "1s", "--backend", "bpf"), 0),
    "syscalls": (("syscalls", "--by", "thread", "--", "ls", "/"), 0),
    "stalls": (("stalls", "-T", "5ms", "--", workload("lock-demo")), 0),
    "spans": (("spans", "--by", "thread", "--", workload("lock-demo")), 0),
    "calls that hang": (("stalls", "-T", "5ms", "--timeout", "60ms", "--", workload("lock-demo")), 0),
}
# With a tracer of the kernel's, where there is one.
BY_THE_KERNEL = {
    "timerlat": (("timerlat", "-d", "300ms", "--backend", "kernel"), 0),
    "osnoise": (("osnoise", "-d", "900ms", "-p", "200ms", "-r", "100ms", "--backend", "kernel"), 0),
    "wakeup_rt": (("worst", "wakeup_rt", "-d", "2s", "--backend", "kernel"), 0),
    "hwlat": (("worst", "hwlat", "-d", "3s", "--backend", "kernel"), 0),
}
VIEWS = {"syscalls": ("--by", "thread"), "spans": ("--by", "thread")}


class Replay(FolderTest):
    def session(self, arguments, status, *options):
        """Runs a session and saves it. Returns its live output."""
        shown = f"{self.folder}/live"
        at = arguments.index("--") if "--" in arguments else len(arguments)
        finished = overdue(*arguments[:at], *options, "--save", self.file, "-o", shown, *arguments[at:])
        if status is None:
            self.assertIn(finished.status, (0, 3), finished)
        else:
            self.assertEqual(finished.status, status, finished)
        with open(shown, encoding="utf-8") as file:
            return file.read()

    def report(self, *options, status=0):
        finished = overdue("report", self.file, *options)
        self.assertEqual(finished.status, status, finished)
        return finished.utf8

    def assert_same(self, name, arguments, status):
        for form in ("text", "json", "ndjson"):
            with self.subTest(session=name, form=form):
                live = self.session(arguments, status, "-f", form)
                self.assertTrue(live)
                self.assertEqual(self.report("-f", form, *VIEWS.get(arguments[0], ())), live)

    def test_the_report_is_the_live_one(self):
        for name, (arguments, status) in SESSIONS.items():
            self.assert_same(name, arguments, status)

    def test_also_with_the_kernels_tracers(self):
        there = [tracer for tracer in BY_THE_KERNEL if has_tracer(tracer)]
        if not there:
            self.skipTest("this kernel has none of the tracers")
        for tracer in there:
            self.assert_same(tracer, *BY_THE_KERNEL[tracer])

    def test_lines_and_buckets_of_the_same_recording(self):
        """One recording has the table, the histogram and the trace, whichever was shown live."""
        for command, options in (("timerlat", ("-d", "500ms")), ("osnoise", ("-d", "300ms", "-p", "100ms"))):
            arguments = (command, *options, "--backend", "bpf")
            with self.subTest(command=command, view="trace"):
                live = self.session(arguments, 0, "--trace")
                self.assertEqual(self.report("--view", "trace"), live)
                self.assertIn("CPU", self.report().split("\n\n")[1])
            with self.subTest(command=command, view="hist"):
                live = self.session(arguments, 0, "--hist")
                self.assertEqual(self.report("--view", "hist"), live)
                self.assertEqual(self.report("--hist"), live)
                self.assertNotEqual(self.report(), live)
            with self.subTest(command=command, view="trace as NDJSON"):
                live = self.session(arguments, 0, "--trace", "-f", "ndjson")
                self.assertEqual(self.report("--view", "trace", "-f", "ndjson"), live)

    def test_anybody_may_read_it_on_any_machine(self):
        for duration in ("1s", "5s", "20s"):  # a quiet machine wakes few threads that are more urgent
            live = self.session(("worst", "wakeup", "-d", duration, "--backend", "bpf"), 0, "-f", "json")
            if json.loads(live)["worst"]:
                break
        self.assertIn("try_to_wake_up", live)
        os.chmod(self.file, 0o644)
        shown = run([*NOBODY, OVERDUE, "report", self.file, "-f", "json"], cwd="/")
        self.assertEqual(shown.utf8, live, shown.err)

    def test_what_a_recording_cannot_show_is_refused(self):
        self.session(("timerlat", "-d", "200ms", "--backend", "bpf"), 0)
        for options, said in ((("--by", "thread"), "--by is for recordings of system calls and stalls"),
                              (("--view", "stalls"), "has no view 'stalls'"),
                              (("-f", "cvs"), "unknown format 'cvs'"),
                              (("-f", "json", "--view", "trace"), "do not go together")):
            with self.subTest(options=options):
                finished = overdue("report", self.file, *options)
                self.assertEqual(finished.status, 2, finished)
                self.assertIn(said, finished.err)

    def test_a_session_that_cannot_begin_keeps_the_recording(self):
        with open(self.file, "wb") as file:
            file.write(b"kept")
        finished = overdue("timerlat", "-d", "1s", "-p", "5s", "--save", self.file)
        self.assertEqual(finished.status, 2, finished)
        with open(self.file, "rb") as file:
            self.assertEqual(file.read(), b"kept")

    def test_a_recording_that_is_cut_off_says_so(self):
        self.session(("timerlat", "-d", "500ms", "--backend", "bpf"), 0)
        with open(self.file, "rb") as file:
            whole = file.read()
        with open(self.file, "wb") as file:
            file.write(whole[:len(whole) * 2 // 3])
        shown = json.loads(self.report("-f", "json"))
        self.assertIn("file_cut", shown["receipt"]["lost_by"], shown["receipt"])
        self.assertEqual([cpu["cpu"] for cpu in shown["cpus"]], list(range(os.cpu_count())))


if __name__ == "__main__":
    main()
