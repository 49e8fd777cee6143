#!/usr/bin/python3
"""`overdue timerlat --backend kernel`: the kernel's tracer, against the clock and backend bpf."""
import json
import os
import re
import signal
import statistics
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import (OSNOISE, TracerCase, assert_says_that_there_is_none, read, settings, threads_of_tracers,
                           used_by_somebody_else)
from overdue_test import Live, left_out, main, overdue, read_ndjson, run, workload

MS = 1_000_000
LINE = re.compile(r" *(?P<comm>.+)-(?P<tid>\d+) +\[(?P<cpu>\d{3})\] (?P<flags>\S{4}) +(?P<time>\d+\.\d{6}): "
                  r"(?:#(?P<id>\d+) +context +(?P<context>irq|thread) timer_latency +(?P<ns>\d+) ns"
                  r"|(?P<noise>\w+)_noise: +(?:(?P<name>.+):(?P<number>\d+) )?start (?P<start>\d+\.\d{9})"
                  r" duration (?P<duration>\d+) ns)")


class Without(unittest.TestCase):
    def test_it_says_so(self):
        assert_says_that_there_is_none(self, "timerlat")

    def test_what_does_not_go_together(self):
        for arguments, words in ((["--pid", "1"], "knows no target"), (["-p", "100001ns"], "whole microseconds"),
                                 (["--tracer-option", "x/y"], "bad option"), (["--", "true"], "knows no target")):
            finished = overdue("timerlat", "--backend", "kernel", *arguments)
            self.assertEqual(finished.status, 2 if "--" not in arguments else finished.status, finished)
            self.assertIn(words, finished.err)
        finished = overdue("timerlat", "--tracer-option", "NO_X", "-d", "1s")
        self.assertEqual(finished.status, 2, finished)


class Case(TracerCase):
    tracer = "timerlat"

    def trace(self, *arguments, backend="kernel"):
        finished = overdue("timerlat", "--backend", backend, "--trace", *arguments)
        self.assertEqual(finished.status, 0, finished)
        lines = [line for line in finished.out.splitlines() if re.search(r"timer_latency|_noise:", line)]
        matches = [LINE.fullmatch(line) for line in lines]
        self.assertNotIn(None, matches, lines[matches.index(None)] if None in matches else "")
        self.assertTrue(matches, finished)
        return finished.out, [match.groupdict() for match in matches]


class Figures(Case):
    def test_json(self):
        """As many activations as periods; the thread after the interrupt; no user-space latency."""
        report = self.report("-d", "2s")
        self.assertEqual([cpu["cpu"] for cpu in report["cpus"]], list(range(os.cpu_count())))
        self.assertEqual((report["backend"], report["period_ns"], report["cause"]), ("kernel", MS, None))
        periods = report["duration_ns"] // MS
        for cpu in report["cpus"]:
            self.assertLessEqual(cpu["count"] + cpu["missed"], periods + 1)
            # The kernel makes and ends its threads one by one.
            self.assertGreaterEqual(cpu["count"] + cpu["missed"], periods - 400, report)
            self.assertEqual([cpu[context]["count"] for context in ("irq", "thread", "user")],
                             [cpu["count"], cpu["count"], 0])
            for figure in ("min_ns", "avg_ns", "max_ns"):
                self.assertLess(cpu["irq"][figure], cpu["thread"][figure], cpu)
        self.assertEqual(report["receipt"]["events"], sum(cpu["count"] for cpu in report["cpus"]))
        self.assertEqual(report["receipt"]["lost"], 0)

    def test_options(self):
        with self.attached("-d", "5s", "--cpu", "1", "-p", "5ms", "-s", "5s", "-T", "6000001", "-f", "json", "--hist",
                           "-b", "10", "-P", "60") as live:
            values = settings()
            self.assertEqual([values[name].strip() for name in
                              ("cpus", "timerlat_period_us", "stop_tracing_us", "stop_tracing_total_us", "print_stack")],
                             ["1", "5000", "5000000", "6000001", "6000001"])
            self.assertEqual(values["threads"], ["timerlat/1"])
            pid = threads_of_tracers()["timerlat/1"]
            self.assertEqual((os.sched_getscheduler(pid), os.sched_getparam(pid).sched_priority), (os.SCHED_FIFO, 60))
            self.assertEqual(values["current_tracer"], self.before["current_tracer"])
            finished = live.finish()
        self.assertEqual(finished.status, 0, finished)
        report = json.loads(finished.out)
        self.assertEqual([cpu["cpu"] for cpu in report["cpus"]], [1])
        count = report["cpus"][0]["count"]
        self.assertGreaterEqual(count + report["cpus"][0]["missed"], 300)
        self.assertLessEqual(count, 1002)
        self.assertEqual(sum(bucket[2] for bucket in report["cpus"][0]["thread"]["histogram"]), count)

    def test_texts(self):
        table = overdue("timerlat", "--backend", "kernel", "-d", "500ms")
        self.assertEqual(table.status, 0, table)
        rows = re.findall(r"^(\d+) +(\d+) \|((?: +[\d.]+){4}) \|((?: +[\d.]+){4}) \|((?: +-){4}) \|$", table.out,
                          re.MULTILINE)
        self.assertEqual(len(rows), os.cpu_count(), table)
        self.assertRegex(table.out, r"events, 0 lost")
        tables = overdue("timerlat", "--backend", "kernel", "-i", "200ms", "-d", "900ms").out
        self.assertGreaterEqual(tables.count("IRQ latency"), 3)

    def test_trace(self):
        text, lines = self.trace("-d", "1s", "--noise")
        self.assertTrue(text.startswith("# tracer: timerlat\n#\n"), text[:200])
        self.assertEqual([float(line["time"]) for line in lines], sorted(float(line["time"]) for line in lines))
        by_id = {}
        for line in lines:
            if line["id"]:
                by_id.setdefault((line["cpu"], line["id"]), []).append(line)
        self.assertGreater(len(by_id), 100)
        for irq, thread in by_id.values():
            self.assertEqual((irq["context"], thread["context"]), ("irq", "thread"))
            self.assertRegex(irq["flags"], r"^d[N.][hH][.\da-f]$")
            self.assertEqual(thread["comm"], f"timerlat/{int(irq['cpu'])}")
            apart = (float(thread["time"]) - float(irq["time"])) * 1e9
            self.assertAlmostEqual(apart, int(thread["ns"]) - int(irq["ns"]), delta=2500)
        self.assertIn(("irq", "local_timer"), {(line["noise"], line["name"]) for line in lines})
        # The tracer's clock is CLOCK_MONOTONIC.
        now = time.clock_gettime(time.CLOCK_MONOTONIC)
        self.assertLess(now - float(lines[-1]["time"]), 30)
        self.assertGreater(now - float(lines[-1]["time"]), -0.1)

    def test_stacks(self):
        finished = overdue("timerlat", "--backend", "kernel", "--trace", "--stack", "1", "--cpu", "0", "-d", "500ms")
        stacks = re.findall(r"<stack trace>\n((?:=> .*\n)+)", finished.out)
        self.assertGreater(len(stacks), 10, finished)
        for stack in stacks:
            # In kernels compiled for size, the function that takes the stack is not inlined.
            self.assertRegex(stack, r"^(=> timerlat_save_stack[.\w]*\n)?=> timerlat_irq")
            self.assertIn("hrtimer_interrupt", stack)

    def test_interrupted(self):
        self.assert_a_signal_ends_it_well()


class SideBySide(Case):
    """The backends run in turn: threads of the same priority would delay each other."""

    def activations(self, *arguments, backend):
        """(The CPU's figures, expiry times, number of activations that may be missing)."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/lines"
            finished = overdue("timerlat", "--backend", backend, "--trace", "-f", "ndjson", "-o", path, *arguments)
            self.assertEqual(finished.status, 0, finished)
            lines = read_ndjson(path)
        self.assertEqual(lines[-1]["lost"], left_out(lines[-1]), lines[-1])
        self.cost_ns[backend] = (lines[-1]["probe_ns"] or 0) // lines[-1]["events"]
        expired = [line["expires_ns"] for line in lines if line["type"] == "activation"]
        return lines[-2]["cpus"][0], expired, left_out(lines[-1])

    def test_figures(self):
        self.cost_ns = {}
        medians = {backend: {context: [] for context in ("irq", "thread")} for backend in ("kernel", "bpf")}
        for _ in range(3):
            for backend in medians:
                with Live(workload("udp_flood"), 0, 10_000, 200):
                    cpu, expired, unseen = self.activations("-d", "2s", "--cpu", "0", backend=backend)
                # From the first to the last, each period has an activation or was missed. Periods
                # before and after may be missed, too.
                periods = round((expired[-1] - expired[0]) / MS) + 1
                self.assertEqual(cpu["count"], len(expired))
                self.assertLessEqual(cpu["count"], periods)
                self.assertGreaterEqual(cpu["count"] + cpu["missed"], periods - 1 - unseen)
                self.assertGreater(cpu["count"], 200)
                for context in ("irq", "thread"):
                    medians[backend][context].append(cpu[context]["p50_ns"])
        print(f"medians in ns: {medians}; programs, of each activation: {self.cost_ns}")
        # A tenth, or 5 us; plus the cost of our programs, which are slow on an emulated machine;
        # plus the variation from run to run.
        for context in ("irq", "thread"):
            kernel, ours = (statistics.median(medians[backend][context]) for backend in ("kernel", "bpf"))
            rough = max(max(each) - min(each) for each in (medians["kernel"][context], medians["bpf"][context]))
            self.assertLessEqual(abs(kernel - ours), max(0.1 * max(kernel, ours), 5_000) + rough + self.cost_ns["bpf"],
                                 medians)

    def test_rtla_and_ours_print_the_same(self):
        """One run: rtla's count, minima, averages and maxima are those of as many consecutive
        activations of ours, to the nanosecond; our table is that of all activations."""
        with tempfile.TemporaryDirectory() as folder:
            lines, text = self.with_rtla(folder, "-p", "5ms", rtla=("-n",))
        activations = [line for line in lines if line["type"] == "activation"]
        irq = [line["irq_ns"] - line["expires_ns"] for line in activations]
        thread = [line["time_ns"] - line["expires_ns"] for line in activations]
        cpu = lines[-2]["cpus"][0]
        for context, each in (("irq", irq), ("thread", thread)):
            self.assertEqual([cpu[context][key] for key in ("count", "min_ns", "avg_ns", "max_ns")],
                             [len(each), min(each), sum(each) // len(each), max(each)], context)
        row = re.search(r"^ *0 +#(\d+) +\|((?: +\d+){4}) +\|((?: +\d+){4})", text, re.MULTILINE)
        self.assertTrue(row, text)
        count = int(row[1])
        self.assertGreater(count, 100)
        self.assertLess(count, len(irq))

        def figures(seen):  # in rtla's order: current, minimum, average, maximum
            return [seen[-1], min(seen), sum(seen) // len(seen), max(seen)]

        its_irq, its_thread = ([int(word) for word in columns.split()] for columns in (row[2], row[3]))
        equal = [first for first in range(len(irq) - count + 1) if figures(irq[first:first + count]) == its_irq]
        self.assertEqual(len(equal), 1, (text, irq))
        # rtla may start, or end, between an interrupt and its thread.
        first, end = equal[0], equal[0] + count
        self.assertIn(its_thread, [figures(thread[a:b]) for a in (first, max(first - 1, 0)) for b in (end, end - 1)])
        print(f"equal: activations {first} to {end} of {len(irq)}: {its_irq} {its_thread}")

    def test_noise(self):
        """Both backends name the timer and a higher-priority thread."""
        named = {}
        for backend in ("kernel", "bpf"):
            with Live(workload("fifo_hog"), 0, 97, 2, 1000):
                _, lines = self.trace("--noise", "--cpu", "0", "-d", "2s", backend=backend)
            named[backend] = {(line["noise"], line["name"]) for line in lines if line["noise"]}
        for backend, names in named.items():
            self.assertLessEqual({("irq", "local_timer"), ("thread", "fifo_hog")}, names, backend)
            self.assertNotIn("timerlat/0", {name for _, name in names})


class Stops(Case):
    def test_a_more_urgent_thread(self):
        """40 ms of a higher-priority thread: it is named, and the parts add up."""
        for _ in range(10):
            with self.attached("-T", "30ms", "--cpu", "0", "-d", "20s", "-f", "json") as live:
                ran = run([workload("fifo_hog"), "0", "97", "40", "5"]).out.split()
                finished = live.finish(120)  # reading the kernel's symbols is slow if emulated
            self.assertEqual(finished.status, 3, finished)
            cause = json.loads(finished.out)["cause"]
            if any(int(begin) <= cause["time_ns"] <= int(begin) + 80 * MS for begin in ran[1::2]):
                break
        else:
            self.skipTest("this machine stops by itself for 30 ms all the time")
        self.assertEqual(cause["residual_ns"] + sum(part["ns"] for part in cause["parts"]), cause["latency_ns"])
        self.assertGreaterEqual(cause["latency_ns"], 30 * MS)
        self.assertEqual((cause["verdict"], cause["who"], cause["context"]), ("interference", "fifo_hog", "thread"))
        self.assertIn(int(ran[0]), [part.get("tid") for part in cause["parts"]])
        self.assertIn("timerlat_irq", [frame["name"] for frame in cause["stack"]])

    def test_text(self):
        finished = overdue("timerlat", "--backend", "kernel", "-T", "1", "-d", "10s")
        self.assertEqual(finished.status, 3, finished)
        total = int(re.search(r"^  total .* ns +([\d,]+) ns +100.0%$", finished.out, re.MULTILINE)[1].replace(",", ""))
        parts = re.findall(r"^  (?:irq|softirq|thread|nmi|residual) .* ([\d,]+) ns +[\d.-]+%$", finished.out,
                           re.MULTILINE)
        self.assertEqual(sum(int(part.replace(",", "")) for part in parts), total, finished)
        self.assertRegex(finished.out, r"CPU \d+ stopped the run: activation #\d+, thread latency ")

    def test_irq(self):
        cause = self.report("-s", "1", "-d", "10s", status=3)["cause"]
        self.assertEqual(cause["context"], "irq")
        self.assertEqual(cause["latency_ns"], cause["irq_delay_ns"])
        self.assertEqual(cause["residual_ns"] + sum(part["ns"] for part in cause["parts"]), cause["latency_ns"])


class Refusals(Case):
    def test_user(self):
        if os.path.exists(f"{OSNOISE}/per_cpu/cpu0/timerlat_fd"):
            self.skipTest("this kernel sees the way back: see timerlat_fd_test.py")
        finished = overdue("timerlat", "--backend", "kernel", "--user", "-d", "1s")
        self.assertEqual(finished.status, 1, finished)
        self.assertIn("timerlat_fd", finished.err)

    def test_options_of_the_tracer(self):
        self.assert_only_its_options_are_taken()
        with self.attached("--tracer-option", "OSNOISE_IRQ_DISABLE") as live:
            self.assertIn("OSNOISE_IRQ_DISABLE", read(f"{OSNOISE}/options").split())
            live.signal(signal.SIGINT)
            self.assertEqual(live.finish().status, 0)

    def test_somebody_else_has_it(self):
        with used_by_somebody_else("osnoise"):
            self.assert_refused("timerlat", "the kernel's osnoise tracer is in use")

    def test_one_at_a_time(self):
        with self.attached() as live:
            self.assert_refused("timerlat", "another overdue")
            live.signal(signal.SIGINT)
            self.assertEqual(live.finish().status, 0)


class Killed(Case):
    def test_with_its_guardian(self):
        """No process restores the settings: the next run does, and then measures."""
        self.kill_with_guardian("-p", "2ms", "--cpu", "1")
        left = settings()
        self.assertEqual((left["cpus"].strip(), left["timerlat_period_us"].strip()), ("1", "2000"))
        report = self.report("-d", "300ms")
        self.assertTrue(any("a killed run had left" in note for note in report["notes"]), report["notes"])
        self.assertEqual(report["period_ns"], MS)


if __name__ == "__main__":
    main()
