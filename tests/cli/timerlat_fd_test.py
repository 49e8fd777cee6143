#!/usr/bin/python3
"""`osnoise/per_cpu/cpuN/timerlat_fd` (Linux 6.5): user threads that the kernel's timerlat tracer
measures, Overdue's with `--user` and other programs' with NO_OSNOISE_WORKLOAD."""
import contextlib
import json
import os
import re
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import KEEPER, OSNOISE, TracerCase, children_of, has_tracer, read, settings, threads_of_tracers, write
from overdue_test import OVERDUE, TRACEFS, Live, attached, eventually, main, overdue, read_ndjson, require_root, run, workload

MS = 1_000_000
FILE = f"{OSNOISE}/per_cpu/cpu{{}}/timerlat_fd"
PROGRAM = workload("timerlat_fd")
OF_PROGRAMS = ["--backend", "kernel", "--tracer-option", "NO_OSNOISE_WORKLOAD"]


def has_file():
    return read(f"{OSNOISE}/options") is not None and os.path.exists(FILE.format(0))


class Without(unittest.TestCase):
    def test_it_says_so(self):
        require_root()
        if not has_tracer("timerlat") or has_file():
            self.skipTest("this kernel has no tracer timerlat, or the file too")
        for arguments in (["--user"], ["--tracer-option", "NO_OSNOISE_WORKLOAD"]):
            finished = overdue("timerlat", "--backend", "kernel", *arguments, "-d", "1s")
            self.assertEqual(finished.status, 1, finished)
            self.assertIn("timerlat_fd (Linux 6.5)", finished.err)
        self.assertFalse(os.path.exists(KEEPER))

    def test_both_do_not_go_together(self):
        finished = overdue("timerlat", *OF_PROGRAMS, "--user", "-d", "1s")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("--user conflicts with", finished.err)


class Case(TracerCase):
    tracer = "timerlat"

    def setUp(self):
        super().setUp()
        if not has_file():
            self.skipTest("this kernel has no timerlat_fd")

    @contextlib.contextmanager
    def program(self, *arguments):
        """Runs the workload. Yields (the workload, its thread id) once it has opened its file."""
        with Live(PROGRAM, *arguments) as live:
            with open(live.out_path, encoding="ascii") as file:
                self.assertTrue(eventually(lambda: live.process.poll() is not None or os.path.getsize(live.out_path)))
                word = file.readline()
            self.assertTrue(word.strip().isdigit(), word)
            yield live, int(word)


class Conditions(Case):
    def refused(self, words, *arguments):
        finished = run([PROGRAM, *arguments])
        self.assertEqual(finished.status, 1, finished)
        self.assertIn("error opening ", finished.out)
        self.assertIn(words, finished.out)

    def test_of_open(self):
        self.refused("Invalid argument", "0", "1")  # no tracer
        with attached("timerlat", "--backend", "kernel") as live:
            self.refused("Invalid argument", "0", "1")  # the tracer has its own threads
            live.signal(signal.SIGINT)
            live.finish()
        with attached("timerlat", *OF_PROGRAMS) as live:
            self.refused("Operation not permitted", "0", "1", "0", "-1")  # not pinned
            self.refused("Operation not permitted", "0", "1", "0", "1")  # pinned to another CPU
            with self.program("0", "0"):
                self.refused("Device or resource busy", "0", "1")  # another thread has the file
                self.assertEqual(run([PROGRAM, "1", "1"]).status, 0)
            self.assertEqual(eventually(lambda: run([PROGRAM, "0", "1"])).status, 0)
            live.signal(signal.SIGINT)
            self.assertEqual(live.finish().status, 0)

    def test_the_tracer_goes_off(self):
        for number in (signal.SIGINT, signal.SIGKILL):
            with attached("timerlat", *OF_PROGRAMS) as live, self.program("1", "0") as (program, _):
                live.signal(number)
                self.assertEqual(live.finish().status, 0 if number == signal.SIGINT else -signal.SIGKILL)
                self.assertEqual(program.process.wait(20), -signal.SIGKILL)
            eventually(lambda: settings() == self.before, 20, "something is left in tracefs")

    def test_migration(self):
        with attached("timerlat", *OF_PROGRAMS, "-f", "json") as live:
            with self.program("0", "0", "100000") as (program, tid):
                time.sleep(0.3)
                os.sched_setaffinity(tid, {1})
                # The documentation says SIGKILL; the code, so far, makes the read fail.
                self.assertIn(program.process.wait(20), (-signal.SIGKILL, 3))
                with open(program.out_path, encoding="ascii") as file:
                    self.assertRegex(file.read(), r"^\d+\n(error reading .*: Invalid argument\n)?$")
            time.sleep(0.5)
            self.assertEqual(run([PROGRAM, "1", "20"]).status, 0)
            live.signal(signal.SIGINT)
            report = json.loads(live.finish().out)
        # Overdue still reports the other threads.
        self.assertGreaterEqual(report["cpus"][1]["user"]["count"], 18)
        self.assertTrue(any("moved to another CPU" in note for note in report["notes"]), report["notes"])


class Programs(Case):
    def test_three_lines_a_read(self):
        """Two lines come with the read that waits. The third, with the next read, has the work."""
        reads, work_ns = 30, 3 * MS
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/lines"
            with attached("timerlat", *OF_PROGRAMS, "--cpu", "0", "-p", "20ms", "--trace", "-f", "ndjson", "-o",
                          path) as live:
                finished = run([PROGRAM, "0", str(reads), str(work_ns // 1000)])
                time.sleep(1)
                live.signal(signal.SIGINT)
                self.assertEqual(live.finish().status, 0)
            lines = read_ndjson(path)
        self.assertEqual(finished.status, 0, finished)
        tid, *times = finished.out.splitlines()
        times = [tuple(map(int, line.split())) for line in times]
        activations = [line for line in lines if line["type"] == "activation"]
        self.assertEqual(len(times), reads)
        self.assertEqual([line["id"] for line in activations], list(range(1, reads + 2)))
        self.assertEqual({(line["comm"], line["tid"]) for line in activations}, {("timerlat_fd", int(tid))})
        for line, (begin, end) in zip(activations, times):
            thread_ns, user_ns = line["time_ns"] - line["expires_ns"], line["user_ns"] - line["expires_ns"]
            self.assertGreaterEqual(end - begin, work_ns)
            # The place of these times on the clock is known to some microseconds.
            self.assertGreaterEqual(user_ns, thread_ns + end - begin, line)
            self.assertGreaterEqual(begin, line["time_ns"] - MS, line)
            self.assertGreaterEqual(line["user_ns"], end - MS, line)
        for (_, end), line in zip(times, activations[1:]):
            self.assertGreater(line["expires_ns"], end - MS)
        cpu = lines[-2]["cpus"][0]
        self.assertEqual([cpu[context]["count"] for context in ("irq", "thread", "user")],
                         [reads + 1, reads + 1, reads])
        self.assertGreaterEqual(cpu["user"]["min_ns"], work_ns)
        self.assertIsNone(lines[-2]["priority"])

    def test_as_the_kernel_prints_them(self):
        with attached("timerlat", *OF_PROGRAMS, "--cpu", "1", "--trace", "--noise", "-p", "20ms") as live:
            self.assertEqual(run([PROGRAM, "1", "10", "1000"]).status, 0)
            time.sleep(1)
            live.signal(signal.SIGINT)
            text = live.finish().out
        contexts = re.findall(r"^ +(\S+)-\d+ +\[001\] \S{4} +\d+\.\d{6}: #(\d+) +context +(\S+) timer_latency +\d+ ns$",
                              text, re.MULTILINE)
        for number in range(1, 11):
            of_this = [(comm, context) for comm, each, context in contexts if int(each) == number]
            self.assertEqual([context for _, context in of_this], ["irq", "thread", "user-ret"], text)
            self.assertEqual([comm for comm, _ in of_this[1:]], ["timerlat_fd"] * 2)

    def test_stopped_by_its_own_work(self):
        with attached("timerlat", *OF_PROGRAMS, "-p", "200ms", "-T", "150ms", "-f", "json") as live:
            for _ in range(5):
                run([PROGRAM, "0", "2", "160000"])
                if live.process.poll() is not None:
                    break
            finished = live.finish(120)  # reading the kernel's symbols is slow if emulated
        self.assertEqual(finished.status, 3, finished)
        cause = json.loads(finished.out)["cause"]
        if cause["context"] == "thread":
            self.skipTest("this machine stops by itself for 150 ms")
        self.assertEqual((cause["context"], cause["verdict"], cause["who"]), ("user", "own_work", "timerlat_fd"))
        self.assertEqual(cause["residual_ns"] + sum(part["ns"] for part in cause["parts"]), cause["latency_ns"])

    def test_nobody(self):
        report = json.loads(overdue("timerlat", *OF_PROGRAMS, "-d", "500ms", "-f", "json").out)
        self.assertEqual([cpu["count"] for cpu in report["cpus"]], [0] * os.cpu_count())
        self.assertIn("no thread has read osnoise/per_cpu/cpu0/timerlat_fd", " ".join(report["notes"]))


class User(Case):
    @staticmethod
    def workers(live):
        """{CPU: pid} of the workload threads, each a process of its own."""
        found = {}
        for pid in children_of(live.pid):
            name = re.fullmatch(r"timerlat/(\d+)\n", read(f"/proc/{pid}/comm") or "")
            if name:
                found[int(name[1])] = pid
        return found

    def test_figures(self):
        report = self.report("--user", "-p", "5ms", "-d", "3s")
        for cpu in report["cpus"]:
            self.assertGreater(cpu["count"], 50)
            self.assertLessEqual(cpu["count"] + cpu["missed"], report["duration_ns"] // (5 * MS) + 1)
            self.assertEqual(cpu["thread"]["count"], cpu["count"])
            self.assertIn(cpu["count"] - cpu["user"]["count"], (0, 1))
            for figure in ("min_ns", "avg_ns", "max_ns"):
                self.assertLess(cpu["irq"][figure], cpu["thread"][figure], cpu)
                self.assertLessEqual(cpu["thread"][figure], cpu["user"][figure] + (figure == "avg_ns") * MS, cpu)
        self.assertEqual(report["receipt"]["lost"], 0)
        self.assertEqual(report["receipt"]["unmatched"], 0)
        table = overdue("timerlat", "--backend", "kernel", "--user", "-d", "500ms").out
        self.assertRegex(table, r"(?m)^0 +\d+ \|((?: +[\d.]+){4} \|){3}$")

    def test_trace(self):
        with attached("timerlat", "--backend", "kernel", "--user", "--trace", "-p", "20ms", "-P", "60") as live:
            workers = self.workers(live)
            self.assertEqual(sorted(workers), list(range(os.cpu_count())))
            for cpu, pid in workers.items():
                self.assertEqual(os.sched_getaffinity(pid), {cpu})
                self.assertEqual((os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority),
                                 (os.SCHED_FIFO, 60))
            self.assertEqual(threads_of_tracers(), {})
            self.assertIn("NO_OSNOISE_WORKLOAD", read(f"{OSNOISE}/options").split())
            time.sleep(1)
            live.signal(signal.SIGINT)
            finished = live.finish()
        self.assertEqual(finished.status, 0, finished)
        by_id = {}
        for tid, cpu, number, context, ns in re.findall(
                r"-(\d+) +\[(\d+)\] \S{4} +\d+\.\d{6}: #(\d+) +context +(\S+) timer_latency +(\d+) ns", finished.out):
            by_id.setdefault((cpu, number), []).append((context, int(ns), int(tid), workers[int(cpu)]))
        self.assertGreater(len(by_id), 20)
        for (cpu, number), steps in by_id.items():
            last = number == max((each for on, each in by_id if on == cpu), key=int)
            self.assertEqual([step[0] for step in steps], ["irq", "thread", "user-ret"][:len(steps) if last else 3])
            self.assertEqual([step[1] for step in steps], sorted(step[1] for step in steps))
            self.assertEqual({step[2] for step in steps[1:]}, {steps[0][3]})

    def test_stops(self):
        report = self.report("--user", "-T", "1", "-d", "20s", status=3)
        cause = report["cause"]
        self.assertIn(cause["context"], ("thread", "user"))
        self.assertEqual(cause["residual_ns"] + sum(part["ns"] for part in cause["parts"]), cause["latency_ns"])

    def test_kill_9_leaves_nothing(self):
        seen = set()
        for seconds in (0.2, 0.5, 1, 1.5, 2, 3):
            with Live(OVERDUE, "timerlat", "--backend", "kernel", "--user", "-p", "2ms") as live:
                time.sleep(seconds)
                workers = set(self.workers(live).values())
                live.signal(signal.SIGKILL)
                live.process.wait()
            seen.add(bool(workers))
            eventually(lambda of=workers: not any(os.path.exists(f"/proc/{pid}") for pid in of), 20, "threads are left")
            eventually(lambda: settings() == self.before, 20, "something is left in tracefs")
        self.assertIn(True, seen)

    def ended_early(self, act, words):
        with attached("timerlat", "--backend", "kernel", "--user") as live:
            act(self.workers(live))
            finished = live.finish()
        self.assertEqual(finished.status, 1, finished)
        self.assertRegex(finished.err, words)
        self.assertEqual(settings(), self.before)

    def test_one_is_killed(self):
        self.ended_early(lambda workers: os.kill(workers[1], signal.SIGKILL),
                         r"overdue: the thread of CPU 1 that waits in .*timerlat_fd was killed by SIGKILL\nhint: ")

    def test_one_is_moved(self):
        self.ended_early(lambda workers: os.sched_setaffinity(workers[0], {1}),
                         r"overdue: the kernel measures the thread of CPU 0 no longer: .*Invalid argument\nhint: ")

    def test_somebody_changes_the_settings(self):
        # timerlat_fd_release() drops one task reference too many, which crashed Linux 6.12 with
        # PREEMPT_RT in 2 of 3 runs.
        if (read("/sys/kernel/realtime") or "").strip() == "1":
            self.skipTest("this kernel may crash then, whichever process reads timerlat_fd")
        self.ended_early(lambda _: write(f"{OSNOISE}/options", "OSNOISE_WORKLOAD\n"),
                         r"overdue: the thread of CPU \d that waits in .* was killed by SIGKILL\nhint: .*options")

    def test_somebody_has_the_file(self):
        """A program that already reads the file keeps it: Overdue's threads are refused."""
        folder = f"{TRACEFS}/instances/overdue-test"
        os.mkdir(folder)
        try:
            write(f"{OSNOISE}/options", "NO_OSNOISE_WORKLOAD\n")
            write(f"{folder}/current_tracer", "timerlat")
            with self.program("0", "0") as (program, _):
                finished = overdue("timerlat", "--backend", "kernel", "--user", "-d", "1s")
                self.assertEqual(finished.status, 1, finished)
                self.assertIn("the kernel's timerlat tracer is in use", finished.err)
                self.assertIsNone(program.process.poll())
        finally:
            write(f"{folder}/current_tracer", "nop")
            os.rmdir(folder)
            write(f"{OSNOISE}/options", "OSNOISE_WORKLOAD\n")


if __name__ == "__main__":
    main()
