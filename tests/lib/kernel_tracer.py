"""Shared by the tests of the kernel's timerlat and osnoise tracers: settings, and rtla."""
import contextlib
import json
import os
import re
import shutil
import signal
import time
import unittest

from overdue_test import (OVERDUE, TRACEFS, Live, attached, eventually, overdue, read_ndjson, require_root, run,
                          wait_until_measuring)

OSNOISE = f"{TRACEFS}/osnoise"
KEEPER = "/run/overdue/osnoise"


def read(path):
    with contextlib.suppress(OSError), open(path, encoding="latin-1") as file:
        return file.read()
    return None


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def threads_of_tracers():
    """{name: pid} of the tracers' kernel threads."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        name = (read(f"/proc/{pid}/comm") or "").strip()
        if re.fullmatch(r"(timerlat|osnoise)/\d+", name) and read(f"/proc/{pid}/cmdline") == "":
            found[name] = int(pid)
    return found


def children_of(pid):
    found = []
    for other in filter(str.isdigit, os.listdir("/proc")):
        stat = read(f"/proc/{other}/stat")
        if stat and int(stat.rpartition(")")[2].split()[1]) == pid:
            found.append(int(other))
    return found


def has_tracer(name):
    return name in (read(f"{TRACEFS}/available_tracers") or "").split()


def settings():
    """All settings that either tracer may change, and all that a tracer may leave behind."""
    values = {name: read(f"{OSNOISE}/{name}") for name in os.listdir(OSNOISE) if name != "per_cpu"}
    for name in ("current_tracer", "tracing_on", "trace_clock", "trace_options", "tracing_thresh",
                 "events/osnoise/enable"):
        values[name] = read(f"{TRACEFS}/{name}")
    values["instances"] = sorted(os.listdir(f"{TRACEFS}/instances"))
    values["threads"] = sorted(threads_of_tracers())
    values["keeper"] = read(KEEPER) or None  # an empty file: nothing was changed
    return values


@contextlib.contextmanager
def used_by_somebody_else(tracer):
    folder = f"{TRACEFS}/instances/overdue-test"
    os.mkdir(folder)
    try:
        write(f"{folder}/current_tracer", tracer)
        yield
    finally:
        write(f"{folder}/current_tracer", "nop")
        os.rmdir(folder)


def assert_says_that_there_is_none(case, tracer):
    require_root()
    if has_tracer(tracer):
        case.skipTest("this kernel has the tracer")
    finished = overdue(tracer, "--backend", "kernel", "-d", "100ms")
    case.assertEqual(finished.status, 1, finished)
    case.assertIn(f"the kernel has no tracer {tracer}", finished.err)
    case.assertFalse(os.path.exists(KEEPER))


class TracerCase(unittest.TestCase):
    """Tests of one tracer, which our command is named after. The end restores every setting."""
    tracer = None

    def setUp(self):
        require_root()
        if not has_tracer(self.tracer):
            self.skipTest(f"this kernel has no {self.tracer} tracer")
        self.before = settings()
        self.assertIsNone(self.before["keeper"])
        self.addCleanup(lambda: self.assertEqual(settings(), self.before))

    def report(self, *arguments, status=0, backend="kernel"):
        finished = overdue(self.tracer, "--backend", backend, "-f", "json", *arguments)
        self.assertEqual(finished.status, status, finished)
        return json.loads(finished.out)

    def attached(self, *arguments, **how):
        return attached(self.tracer, "--backend", "kernel", *arguments, **how)

    def assert_a_signal_ends_it_well(self, *arguments, settle=0.4):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.attached("-f", "json", *arguments, settle=settle) as live:
                live.signal(number)
                finished = live.finish()
            self.assertEqual(finished.status, 0, finished)
            self.assertGreater(json.loads(finished.out)["receipt"]["events"], 0)
            self.assertEqual(settings(), self.before)

    def assert_only_its_options_are_taken(self):
        """Skips the test if the kernel's tracer has no option to try."""
        former = (read(f"{OSNOISE}/options") or "").split()
        finished = overdue(self.tracer, "--backend", "kernel", "--tracer-option", "NO_SUCH_THING", "-d", "1s")
        self.assertEqual(finished.status, 2 if former else 1, finished)
        self.assertIn("no option NO_SUCH_THING" if former else "osnoise/options", finished.err)
        if "NO_OSNOISE_IRQ_DISABLE" not in former:
            self.skipTest("this kernel's tracer has no option of that name")

    def assert_refused(self, tracer, words, *arguments):
        finished = overdue(tracer, "--backend", "kernel", "-d", "1s", *arguments)
        self.assertEqual(finished.status, 1, finished)
        self.assertIn(words, finished.err)

    def kill_with_guardian(self, *arguments):
        """Kills Overdue and its guardian, so that no process restores the tracer's settings."""
        with Live(OVERDUE, self.tracer, "-v", "--backend", "kernel", *arguments) as live:
            wait_until_measuring(live)
            guardians = children_of(live.pid)
            self.assertEqual(len(guardians), 1)
            os.kill(guardians[0], signal.SIGKILL)
            live.signal(signal.SIGKILL)
            live.process.wait()

    def with_rtla(self, folder, *arguments, rtla=()):
        """(The lines of our run, rtla's output), both from one run of the tracer.

        rtla joins our run without settings of its own, and leaves before the end. The kernel hands
        every event to both instances, so rtla's events are an unbroken part of ours.
        """
        program = shutil.which("rtla")
        if not program:
            self.skipTest("rtla is not installed")
        path = f"{folder}/lines"
        with Live(OVERDUE, self.tracer, "--backend", "kernel", "--cpu", "0", "--trace", "-f", "ndjson", "-o", path,
                  "-d", "40s", *arguments) as live:
            eventually(threads_of_tracers, 20, "the tracer's threads do not show")
            time.sleep(0.5)
            theirs = run([program, self.tracer, "top", "-q", "-d", "5s", *rtla])
            self.assertIsNone(live.process.poll(), "ours ended before rtla")
            live.signal(signal.SIGINT)
            ours = live.finish()
        self.assertEqual((ours.status, theirs.status), (0, 0), (ours, theirs))
        lines = read_ndjson(path)
        self.assertEqual(lines[-1]["lost"], 0)
        return lines, theirs.out
