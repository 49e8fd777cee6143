#!/usr/bin/python3
"""`overdue osnoise --backend kernel`: the kernel's own tracer, against itself, rtla and the BPF
backend.

Thresholds are 50 us, because an emulated machine is slow to print the tracer's lines: with a lower
threshold, each line would be a noise.
"""
import json
import os
import re
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import (TracerCase, assert_says_that_there_is_none, read, settings, threads_of_tracers,
                           used_by_somebody_else)
from overdue_test import Live, main, overdue, read_ndjson, run, workload

MS = 1_000_000
SHORT = ("-p", "100ms", "-r", "50ms", "-t", "50")
HEAD = r" *(?P<comm>.+)-(?P<tid>\d+) +\[(?P<cpu>\d{3})\] \.{4} +(?P<time>\d+\.\d{6}): "
LINE = re.compile(HEAD + r"(?:(?P<kind>irq|softirq|nmi|thread)_noise: +(?:(?P<name>.+):(?P<number>\d+) )?start "
                  r"(?P<start>\d+\.\d{9}) duration (?P<duration>\d+) ns"
                  r"|sample_threshold: start (?P<begin>\d+\.\d{9}) duration (?P<pause>\d+) ns interference (?P<count>\d+)"
                  r"|(?P<runtime>\d+) +(?P<noise>\d+) +\d+\.\d{5} +\d+(?: +\d+){5})")


def ns(seconds):
    whole, part = seconds.split(".")
    return int(whole) * 1_000_000_000 + int(part)


class Without(unittest.TestCase):
    def test_it_says_so(self):
        assert_says_that_there_is_none(self, "osnoise")

    def test_what_does_not_go_together(self):
        for arguments, words in ((["-p", "1000001ns"], "whole microseconds"), (["-t", "1500ns"], "whole microseconds"),
                                 (["--tracer-option", "x/y"], "bad option"), (["-r", "2s"], "bad runtime")):
            finished = overdue("osnoise", "--backend", "kernel", *arguments, "-d", "1s")
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(words, finished.err)
        finished = overdue("osnoise", "--tracer-option", "NO_X", "-d", "1s")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("is for the kernel's tracer", finished.err)


class Case(TracerCase):
    tracer = "osnoise"

    def assert_adds_up(self, one):
        self.assertEqual(sum(part["ns"] for part in one["parts"]) + one["residual_ns"], one["noise_ns"], one)


class Figures(Case):
    def test_json(self):
        report = self.report(*SHORT, "-d", "2s")
        self.assertEqual(report["backend"], "kernel")
        self.assertEqual(report["osnoise"], {"period_ns": 100 * MS, "runtime_ns": 50 * MS, "threshold_ns": 50_000,
                                             "priority": 0})
        self.assertEqual([cpu["cpu"] for cpu in report["cpus"]], list(range(os.cpu_count())))
        self.assertIsNone(report["cause"])
        receipt = report["receipt"]
        self.assertEqual((receipt["lost"], receipt["lost_by"]), (0, {}))
        # The kernel's own count has no softirqs if they run in threads.
        realtime = (read("/sys/kernel/realtime") or "").strip() == "1"
        self.assertEqual(any("PREEMPT_RT" in note for note in report["notes"]), realtime, report["notes"])
        pauses = 0
        for cpu in report["cpus"]:
            self.assert_adds_up(cpu)
            self.assertLessEqual(cpu["samples"], report["duration_ns"] // (100 * MS) + 1)
            self.assertGreaterEqual(cpu["samples"], 5)
            self.assertGreaterEqual(cpu["runtime_ns"], cpu["samples"] * 50 * MS)
            self.assertLessEqual(cpu["runtime_ns"], cpu["samples"] * 51 * MS + cpu["noise_ns"])
            self.assertLessEqual(cpu["max_single_ns"], cpu["max_noise_ns"])
            self.assertGreaterEqual(cpu["max_single_ns"], 50_000)
            self.assertEqual(cpu["softirq"] is None, realtime)
            self.assertGreater(cpu["irq"], 0)
            self.assertIn(("irq", "local_timer"), {(part["kind"], part["name"]) for part in cpu["parts"]})
            counts = {kind: sum(part["count"] for part in cpu["parts"] if part["kind"] == kind)
                      for kind in ("irq", "thread", "nmi", "hardware")}
            for kind in ("irq", "thread", "nmi"):
                self.assertLessEqual(counts[kind], cpu[kind])
            # The kernel's count, and Overdue's count of the kernel's lines.
            self.assertEqual(counts["hardware"], cpu["hw"])
            pauses += counts["hardware"]
        self.assertGreater(receipt["events"], pauses)

    def test_options(self):
        """The options reach the kernel and its threads."""
        with self.attached("-d", "3s", "--cpu", "1", "-p", "200ms", "-r", "20ms", "-t", "70", "-s", "5s", "-S",
                           "6000001", "-P", "10", "-f", "json", "--hist", "-b", "100") as live:
            values = settings()
            self.assertEqual([values[name].strip() for name in
                              ("cpus", "period_us", "runtime_us", "stop_tracing_us", "stop_tracing_total_us",
                               "tracing_thresh")], ["1", "200000", "20000", "5000000", "6000001", "70"])
            self.assertEqual(values["threads"], ["osnoise/1"])
            pid = threads_of_tracers()["osnoise/1"]
            self.assertEqual((os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority), (os.SCHED_FIFO, 10))
            self.assertEqual(values["current_tracer"], self.before["current_tracer"])
            finished = live.finish()
        self.assertEqual(finished.status, 0, finished)
        report = json.loads(finished.out)
        cpu, = report["cpus"]
        self.assertEqual(cpu["cpu"], 1)
        self.assertEqual(report["osnoise"]["priority"], 10)
        self.assertGreaterEqual(cpu["samples"], 3)
        self.assertLess(cpu["max_noise_ns"], 5_000 * MS)
        self.assertLessEqual(sum(bucket[2] for bucket in cpu["histogram"]), report["receipt"]["events"])
        self.assertTrue(cpu["histogram"])

    def test_longer_than_the_kernels_own(self):
        """A longer and a shorter period: the kernel takes each only in one order of writes."""
        for arguments in (("-p", "3s", "-r", "2900ms"), ("-p", "2ms", "-r", "1ms")):
            with self.attached(*arguments, "-t", "50", "--cpu", "0") as live:
                self.assertNotEqual(settings()["period_us"], self.before["period_us"])
                live.signal(signal.SIGINT)
                self.assertEqual(live.finish().status, 0)
            self.assertEqual(settings(), self.before)

    def test_texts(self):
        table = overdue("osnoise", "--backend", "kernel", *SHORT, "-d", "1s")
        self.assertEqual(table.status, 0, table)
        rows = re.findall(r"^(\d+) +(\d+) +(\d+) +[\d.]+ +(\d+\.\d{5}) +[\d.]+ +[\d.]+(?: +\d+){3} +[\d-]+ +\d+$",
                          table.out, re.MULTILINE)
        self.assertEqual(len(rows), os.cpu_count(), table)
        self.assertRegex(table.out, r"(?m)^  irq +local_timer:\d+ +[\d,]+ +[\d.]+ +[\d.]+ +[\d.]+%$")
        self.assertRegex(table.out, r"events?, 0 lost")
        tables = overdue("osnoise", "--backend", "kernel", *SHORT, "-i", "300ms", "-d", "2s").out
        self.assertGreaterEqual(tables.count("%CPU AVAIL"), 3)

    def test_trace(self):
        finished = overdue("osnoise", "--backend", "kernel", "--trace", *SHORT, "--cpu", "0", "-d", "1s")
        self.assertEqual(finished.status, 0, finished)
        self.assertTrue(finished.out.startswith("# tracer: osnoise\n#\n"), finished.out[:200])
        lines = [line for line in finished.out.split("\n\n")[0].splitlines() if not line.startswith("#")]
        matches = [LINE.fullmatch(line) for line in lines]
        self.assertNotIn(None, matches, lines[matches.index(None)] if None in matches else "")
        times = [float(match["time"]) for match in matches]
        self.assertEqual(times, sorted(times))
        pauses = [match for match in matches if match["pause"]]
        noises = [match for match in matches if match["kind"]]
        self.assertTrue(pauses and noises and [match for match in matches if match["runtime"]], finished)
        missing = 0
        for pause in pauses:
            begin = ns(pause["begin"])
            end = begin + int(pause["pause"])
            within = [noise for noise in noises if begin <= ns(noise["start"]) < end]
            self.assertLessEqual(len(within), int(pause["count"]), (pause[0], [noise[0] for noise in within]))
            self.assertLessEqual(sum(int(noise["duration"]) for noise in within), int(pause["pause"]))
            missing += int(pause["count"]) - len(within)
        self.assertEqual(missing, 0, finished)
        self.assertIn(" 0 unmatched", finished.out)

    def test_lines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/x"
            self.assertEqual(overdue("osnoise", "--backend", "kernel", *SHORT, "-f", "ndjson", "--trace", "-d", "1s",
                                     "-o", path).status, 0)
            lines = read_ndjson(path)
        self.assertEqual([line["type"] for line in lines[-2:]], ["report", "receipt"])
        pauses = [line for line in lines if line["type"] == "noise"]
        periods = [line for line in lines if line["type"] == "noise_sample"]
        cpus = lines[-2]["cpus"]
        self.assertEqual(len(pauses), lines[-1]["events"])
        self.assertEqual(len(periods), sum(cpu["samples"] for cpu in cpus))
        for line in periods:
            self.assertNotIn("inner_ns", line)  # the kernel does not report it
            # To the nanosecond: all noises of the period, as printed by the kernel.
            end = line["time_ns"] + 1000
            begin = max([other["time_ns"] for other in periods
                         if other["cpu"] == line["cpu"] and other["time_ns"] < line["time_ns"]], default=0)
            own = [pause["noise_ns"] for pause in pauses
                   if pause["cpu"] == line["cpu"] and begin < pause["begin_ns"] < end]
            self.assertEqual((sum(own), max(own, default=0)), (line["noise_ns"], line["max_ns"]), line)
        for line in pauses:
            self.assertEqual(line["time_ns"], line["begin_ns"] + line["noise_ns"])
            self.assertEqual((line["noises"], line["flags"]), (line["interferences"], 0), line)
        self.assertEqual(lines[-1]["unmatched"], 0)

    def test_interrupted(self):
        self.assert_a_signal_ends_it_well(*SHORT, settle=1)


class SideBySide(Case):
    def test_both_name_the_same(self):
        """A higher-priority thread, the timer and other interrupts, by both backends."""
        named = {}
        for backend in ("kernel", "bpf"):
            with Live(workload("fifo_hog"), 0, 50, 2, 1000):
                cpu, = self.report(*SHORT, "--cpu", "0", "-d", "3s", backend=backend)["cpus"]
            self.assert_adds_up(cpu)
            named[backend] = {(part["kind"], part["name"]): part for part in cpu["parts"]}
            self.assertLessEqual({("irq", "local_timer"), ("thread", "fifo_hog")}, set(named[backend]))
            hog = named[backend]["thread", "fifo_hog"]
            # 2 ms each time; on an emulated machine, a part may lie before or after a period.
            self.assertGreaterEqual(hog["max_ns"], 2 * MS * 9 // 10, (backend, hog))
            self.assertNotIn(("thread", "osnoise/0"), named[backend])
        print({backend: sorted(parts) for backend, parts in named.items()})
        # An interrupt with 2 % of the noise in one backend also appears in the other. Its longest
        # time does not count, because a stop of the machine may lie in it by chance.
        for backend, other in (("kernel", "bpf"), ("bpf", "kernel")):
            total = sum(part["ns"] for part in named[backend].values())
            large = {key for key, part in named[backend].items()
                     if (part["ns"] - part["max_ns"]) * 50 > total and key[0] == "irq"}
            self.assertLessEqual(large, set(named[other]), (backend, named))

    def test_rtla_and_ours_print_the_same(self):
        """One run: rtla's figures are those of as many consecutive periods of ours, in rtla's whole
        microseconds; our table is that of all periods."""
        with tempfile.TemporaryDirectory() as folder:
            lines, text = self.with_rtla(folder, *SHORT)
        periods = [line for line in lines if line["type"] == "noise_sample"]
        cpu = lines[-2]["cpus"][0]
        counts = ("hw", "nmi", "irq", "thread")
        self.assertEqual([cpu[key] for key in ("samples", "runtime_ns", "noise_ns", "max_noise_ns", "max_single_ns",
                                               *counts)],
                         [len(periods), sum(each["runtime_ns"] for each in periods),
                          sum(each["noise_ns"] for each in periods), max(each["noise_ns"] for each in periods),
                          max(each["max_ns"] for each in periods),
                          *(sum(each[key] for each in periods) for key in counts)])
        row = re.search(r"^ *0 +#(\d+) +(\d+) +(\d+) +(\d+\.\d{5}) +(\d+) +(\d+)((?: +\d+){5})", text, re.MULTILINE)
        self.assertTrue(row, text)
        theirs = [int(row[i]) for i in (1, 2, 3, 5, 6)] + [int(word) for word in row[7].split()]
        self.assertGreater(theirs[0], 10)
        self.assertLess(theirs[0], len(periods))

        def figures(seen):
            noises = [each["noise_ns"] // 1000 for each in seen]
            return [len(seen), sum(each["runtime_ns"] // 1000 for each in seen), sum(noises), max(noises),
                    max(each["max_ns"] // 1000 for each in seen),
                    *(sum(each[key] for each in seen) for key in ("hw", "nmi", "irq", "softirq", "thread"))]

        equal = [first for first in range(len(periods) - theirs[0] + 1)
                 if figures(periods[first:first + theirs[0]]) == theirs]
        self.assertEqual(len(equal), 1, (theirs, periods))
        available = (theirs[1] - theirs[2]) * 10_000_000 // theirs[1]
        self.assertEqual(row[4], f"{available // 100_000}.{available % 100_000:05}")
        print(f"equal: periods {equal[0]} to {equal[0] + theirs[0]} of {len(periods)}: {theirs}")


class Stops(Case):
    def test_a_more_urgent_thread(self):
        """A noise that is longer than the machine's own, in most tries."""
        for _ in range(10):
            with self.attached("-p", "1s", "-r", "990ms", "-t", "50", "-s", "100ms", "--cpu", "0", "-d", "20s", "-f",
                               "json") as live:
                ran = run([workload("fifo_hog"), "0", "50", "120", "4"]).out.split()
                finished = live.finish()
            self.assertEqual(finished.status, 3, finished)
            cause = json.loads(finished.out)["cause"]
            if any(int(begin) <= cause["time_ns"] <= int(begin) + 300 * MS for begin in ran[1::2]):
                break
        else:
            self.skipTest("this machine stops by itself for 100 ms all the time")
        self.assert_adds_up(cause)
        self.assertEqual((cause["of"], cause["limit_ns"], cause["complete"]), ("single", 100 * MS, True))
        self.assertGreater(cause["noise_ns"], 100 * MS)
        self.assertEqual((cause["parts"][0]["kind"], cause["parts"][0]["name"], cause["parts"][0]["tid"]),
                         ("thread", "fifo_hog", int(ran[0])), cause)

    def test_total(self):
        report = self.report(*SHORT, "-S", "1us", "-d", "20s", status=3)
        cause = report["cause"]
        self.assertEqual((cause["of"], cause["limit_ns"]), ("total", 1000))
        self.assert_adds_up(cause)
        self.assertGreaterEqual(report["cpus"][cause["cpu"]]["noise_ns"], cause["noise_ns"])

    def test_text(self):
        finished = overdue("osnoise", "--backend", "kernel", *SHORT, "-s", "1us", "-d", "20s")
        self.assertEqual(finished.status, 3, finished)
        self.assertRegex(finished.out, r"CPU \d+ stopped the run: a single noise of ")
        self.assertIn("none of its periods has ended", finished.out)


class Refusals(Case):
    def test_options_of_the_tracer(self):
        self.assert_only_its_options_are_taken()
        report = self.report(*SHORT, "--tracer-option", "OSNOISE_IRQ_DISABLE", "--cpu", "1", "-d", "1s")
        cpu, = report["cpus"]
        # Nothing can interrupt the thread: all noise is the hardware's, or its emulator's.
        self.assertEqual((cpu["irq"], cpu["thread"]), (0, 0))
        self.assertLessEqual({part["kind"] for part in cpu["parts"]}, {"hardware"})

    def test_somebody_else_has_it(self):
        """Refused if either tracer is in use, or if a tracer with the same threshold is and the
        threshold would change."""
        for tracer, words, arguments in (("timerlat", "the kernel's timerlat tracer is in use", ()),
                                         ("osnoise", "the kernel's osnoise tracer is in use", ()),
                                         ("wakeup_rt", "and has the same threshold", ("-t", "50"))):
            with used_by_somebody_else(tracer):
                self.assert_refused("osnoise", words, *arguments)

    def test_rows_that_need_more_than_names(self):
        for by in ("parent", "cgroup"):
            finished = overdue("osnoise", "--backend", "kernel", "-d", "1s", "--by", by)
            self.assertEqual(finished.status, 2, finished)
            self.assertIn("does not say which process", finished.err)

    def test_one_at_a_time(self):
        """osnoise and timerlat have the same settings."""
        with self.attached(*SHORT) as live:
            for command in ("osnoise", "timerlat"):
                self.assert_refused(command, "another overdue")
            live.signal(signal.SIGINT)
            self.assertEqual(live.finish().status, 0)


class Killed(Case):
    def test_with_its_guardian(self):
        """No process restores the settings: the next run of either tracer does, and measures."""
        for command in ("osnoise", "timerlat"):
            self.kill_with_guardian("-p", "2s", "-r", "1900ms", "-t", "50", "--cpu", "1")
            left = settings()
            self.assertEqual([left[name].strip() for name in ("cpus", "period_us", "runtime_us", "tracing_thresh")],
                             ["1", "2000000", "1900000", "50"])
            finished = overdue(command, "--backend", "kernel", "-d", "300ms", "-f", "json")
            self.assertEqual(finished.status, 0, finished)
            notes = json.loads(finished.out)["notes"]
            self.assertTrue(any("a killed run had left" in note for note in notes), notes)
            self.assertEqual(settings(), self.before)


if __name__ == "__main__":
    main()
