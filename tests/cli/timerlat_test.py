#!/usr/bin/python3
"""`overdue timerlat`: figures against each other and against the clock, and known causes."""
import json
import os
import re
import signal
import statistics
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (NOBODY, OVERDUE, SLOWER, Live, attached, left_out, long_or_short, main, overdue,
                          read_ndjson, require_root, run, tool, wait_until_measuring, workload)

MS = 1_000_000
LINE = re.compile(r" *(?P<comm>.+)-(?P<tid>\d+) +\[(?P<cpu>\d{3})\] (?P<flags>\S{4}) +(?P<time>\d+\.\d{6}): "
                  r"(?:#(?P<id>\d+) +context +(?P<context>irq|thread|user-ret) timer_latency +(?P<ns>\d+) ns"
                  r"|(?P<noise>\w+)_noise: +(?:(?P<name>.+):(?P<number>\d+) )?start (?P<start>\d+\.\d{9})"
                  r" duration (?P<duration>\d+) ns)")


class Case(unittest.TestCase):
    def setUp(self):
        require_root()

    def report(self, *arguments, status=0):
        finished = overdue("timerlat", "-f", "json", *arguments)
        self.assertEqual(finished.status, status, finished)
        return json.loads(finished.out)

    def trace(self, *arguments):
        finished = overdue("timerlat", "--trace", *arguments)
        self.assertEqual(finished.status, 0, finished)
        lines = [line for line in finished.out.splitlines() if re.search(r"timer_latency|_noise:", line)]
        matches = [LINE.fullmatch(line) for line in lines]
        self.assertNotIn(None, matches, lines[matches.index(None)] if None in matches else "")
        self.assertTrue(matches, finished)
        return finished.out, [match.groupdict() for match in matches]


class Figures(Case):
    def test_json(self):
        """As many activations as periods, in order: the interrupt, the thread, its program."""
        report = self.report("-d", "2s")
        self.assertEqual([cpu["cpu"] for cpu in report["cpus"]], list(range(os.cpu_count())))
        self.assertEqual((report["backend"], report["period_ns"], report["cause"]), ("bpf", MS, None))
        periods = report["duration_ns"] // MS
        for cpu in report["cpus"]:
            # A period at either end, and some before the threads are released.
            self.assertLessEqual(cpu["count"] + cpu["missed"], periods + 1)
            self.assertGreaterEqual(cpu["count"] + cpu["missed"], periods - 100)
            for low, high in (("irq", "thread"), ("thread", "user")):
                for figure in ("min_ns", "avg_ns", "max_ns"):
                    self.assertLessEqual(cpu[low][figure], cpu[high][figure], cpu)
            for context in ("irq", "thread", "user"):
                each = cpu[context]
                self.assertLessEqual(each["min_ns"], each["avg_ns"])
                self.assertLessEqual(each["p50_ns"], each["p99_ns"])
                self.assertLessEqual(each["p99_ns"], each["max_ns"])
            self.assertEqual(cpu["irq"]["count"], cpu["count"])
            self.assertEqual(cpu["thread"]["count"] + 0, cpu["count"] - self.unseen(report, cpu))
        receipt = report["receipt"]
        self.assertEqual(receipt["events"], sum(cpu["count"] for cpu in report["cpus"]))
        self.assertEqual(receipt["lost"], left_out(receipt), receipt)
        self.assertGreater(receipt["probe_ns"], 0)
        self.assertGreater(receipt["probe_runs"], 3 * receipt["events"])

    def test_ends_with_its_threads(self):
        """Measures for the reported time, whatever the watchdog does. The machine may stop."""
        missing = []
        for ms in (400, 420, 440, 460, 480):
            report = self.report("-d", f"{ms}ms")
            missing.append(report["duration_ns"] // MS - min(cpu["count"] + cpu["missed"] for cpu in report["cpus"]))
        self.assertLess(statistics.median(missing), 20 * SLOWER, missing)

    def unseen(self, report, cpu):
        """Some kernels hide switches; the receipt counts them for all CPUs."""
        unseen = cpu["count"] - cpu["thread"]["count"]
        self.assertLessEqual(unseen, report["receipt"]["unmatched"])
        self.assertLessEqual(unseen, cpu["count"] // 20)
        return unseen

    def test_options(self):
        report = self.report("--cpu", "0", "-p", "5ms", "-P", "50", "-d", "1s", "--hist", "-b", "10", "-E", "20")
        self.assertEqual([cpu["cpu"] for cpu in report["cpus"]], [0])
        self.assertEqual((report["period_ns"], report["priority"], report["target"]["cpus"]), (5 * MS, 50, "0"))
        count = report["cpus"][0]["count"]
        self.assertGreaterEqual(count + report["cpus"][0]["missed"], 180)
        self.assertLessEqual(count, 202)
        for context in ("irq", "user"):
            buckets = report["cpus"][0][context]["histogram"]
            self.assertEqual(sum(bucket[2] for bucket in buckets), count)
            for low, high, _ in buckets:
                self.assertEqual((low % 10_000, high), (0, low + 10_000 if low < 200_000 else None))

    def test_texts(self):
        table = overdue("timerlat", "-d", "300ms")
        self.assertEqual(table.status, 0)
        rows = re.findall(r"^(\d+) +(\d+) \|((?: +[\d.]+){4}) \|((?: +[\d.]+){4}) \|((?: +[\d.]+){4}) \|$", table.out,
                          re.MULTILINE)
        self.assertEqual(len(rows), os.cpu_count(), table)
        self.assertRegex(table.out, r"events, 0 lost")
        histogram = overdue("timerlat", "--hist", "--cpu", "0", "-d", "300ms").out
        counted = [int(row) for row in re.findall(r"^\d+ +(\d+) +\d+ +\d+$", histogram, re.MULTILINE)]
        over = int(re.search(r"^over: +(\d+)", histogram, re.MULTILINE)[1])
        self.assertEqual(sum(counted) + over, int(re.search(r"^count: +(\d+)", histogram, re.MULTILINE)[1]))
        tables = overdue("timerlat", "-i", "100ms", "-d", "1s").out  # a busy machine leaves some out
        self.assertGreaterEqual(tables.count("IRQ latency"), 3)

    def test_lines(self):
        """-f ndjson: intervals or activations, then the report, then the receipt."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/x"
            self.assertEqual(overdue("timerlat", "-f", "ndjson", "-i", "100ms", "-d", "1s", "-o", path).status, 0)
            lines = read_ndjson(path)
            self.assertEqual([line["type"] for line in lines[-2:]], ["report", "receipt"])
            self.assertGreaterEqual(len([line for line in lines if line["type"] == "interval"]), 3)
            self.assertEqual(overdue("timerlat", "-f", "ndjson", "--trace", "-d", "300ms", "-o", path).status, 0)
            lines = read_ndjson(path)
            activations = [line for line in lines if line["type"] == "activation"]
            self.assertEqual(len(activations), sum(cpu["count"] for cpu in lines[-2]["cpus"]))
            for line in activations:
                self.assertLessEqual(line["expires_ns"], line["irq_ns"])
                self.assertLessEqual(line["irq_ns"], line["user_ns"])


class Trace(Case):
    def test_two_lines_for_each_activation(self):
        """Two lines with one id, in the kernel's format and in order: interrupt, then thread."""
        text, lines = self.trace("-d", "500ms")
        self.assertTrue(text.startswith("# tracer: timerlat\n#\n"), text[:200])
        self.assertEqual([float(line["time"]) for line in lines], sorted(float(line["time"]) for line in lines))
        by_id = {}
        for line in lines:
            by_id.setdefault((line["cpu"], line["id"]), []).append(line)
        pairs = [each for each in by_id.values() if len(each) == 2]
        self.assertGreater(len(pairs), 0.9 * len(by_id))  # some kernels hide switches
        for irq, thread in pairs:
            self.assertEqual((irq["context"], thread["context"]), ("irq", "thread"))
            self.assertRegex(irq["flags"], r"^d[N.][hH][.\da-f]$")
            self.assertEqual(thread["comm"], f"timerlat/{int(irq['cpu'])}")
            self.assertGreaterEqual(int(thread["ns"]), int(irq["ns"]))
            # Both count from the same moment.
            apart = (float(thread["time"]) - float(irq["time"])) * 1e9
            self.assertAlmostEqual(apart, int(thread["ns"]) - int(irq["ns"]), delta=2500)

    def test_user(self):
        _, lines = self.trace("--user", "--cpu", "0", "-d", "1s")  # long, because of hypervisors
        late = {context: {line["id"]: int(line["ns"]) for line in lines if line["context"] == context}
                for context in ("thread", "user-ret")}
        self.assertGreater(len(late["user-ret"]), 90)
        for number, ns in late["thread"].items():
            self.assertGreater(late["user-ret"][number], ns)

    def test_packets_are_softirq_noise(self):
        """NET_RX of packets on the loopback interface, and the timer's own interrupt, both net. With PREEMPT_RT, the
        thread takes the CPU from a softirq, which then makes no timer late."""
        with Live(workload("udp_flood"), 0, 10_000, 500):
            _, lines = self.trace("--noise", "--cpu", "0", "-d", "1s")
        noises = [line for line in lines if line["noise"]]
        if not os.path.exists("/sys/kernel/realtime"):
            self.assertTrue([line for line in noises if (line["noise"], line["name"]) == ("softirq", "NET_RX")])
        self.assertTrue([line for line in noises if line["noise"] == "irq" and line["name"] == "local_timer"])
        for line in noises:
            self.assertLessEqual(int(line["duration"]), (float(line["time"]) - float(line["start"])) * 1e9 + 2000)

    def test_stacks(self):
        # A program that is mostly in the kernel: a program in user space has no kernel stack.
        in_kernel = (tool("taskset"), "-c", 0, tool("dd"), "if=/dev/urandom", "of=/dev/null", "bs=1M")
        with Live(*in_kernel):
            finished = overdue("timerlat", "--trace", "--stack", "1ns", "--cpu", "0", "-d", "1s")
        stacks = re.findall(r"<stack trace>\n((?:=> .*\n)+)", finished.out)
        self.assertGreater(len(stacks), 0, finished)
        for stack in stacks:
            self.assertIn("hrtimer", stack)
            # Our BPF program would be innermost; further out, a BPF program is the interrupted
            # code. The kernel has functions with such names, too.
            self.assertNotRegex(stack[:stack.index("hrtimer")], "bpf_prog_[0-9a-f]{16}")


class Stops(Case):
    def stopped_by(self, start, lasts):
        """The cause in a run that `start` delays, by `lasts` ns from each time that it returns.
        Runs with a latency that is mostly due to something else do not count."""
        for _ in range(20):
            with Live(OVERDUE, "timerlat", "-v", "-T", "1000", "--cpu", "0", "-d", "20s", "-f", "json") as live:
                wait_until_measuring(live)
                begins = start()
                finished = live.finish()
            cause = json.loads(finished.out)["cause"]
            if cause and any(self.share(cause, begin, begin + lasts) > 0.6 for begin in begins):
                self.assertEqual(finished.status, 3, finished)
                return cause
        self.skipTest("this machine stops by itself for a millisecond all the time")

    @staticmethod
    def share(cause, begin, end):
        """The share of the cause's latency from `begin` to `end`."""
        late = min(end, cause["time_ns"]) - max(begin, cause["time_ns"] - cause["latency_ns"])
        return late / cause["latency_ns"]

    def test_a_more_urgent_thread(self):
        """2 ms of a higher-priority thread: it is named, and the parts add up."""
        for _ in range(long_or_short(100, 5)):
            tids = []

            def hog():
                ran = run([workload("fifo_hog"), "0", "97", "2", "3"]).out.split()
                tids.append(int(ran[0]))
                return [int(begin) for begin in ran[1::2]]
            cause = self.stopped_by(hog, 2 * MS)
            self.assertEqual(cause["residual_ns"] + sum(part["ns"] for part in cause["parts"]), cause["latency_ns"])
            self.assertGreaterEqual(cause["latency_ns"], MS)
            self.assertLessEqual(cause["irq_delay_ns"], cause["latency_ns"])
            self.assertEqual((cause["verdict"], cause["who"]), ("interference", "fifo_hog"), cause)
            self.assertIn(tids[-1], [part.get("tid") for part in cause["parts"]])
            self.assertEqual(cause["parts"][0]["name"], "fifo_hog")

    def test_text(self):
        """The first activation is over this limit: whatever the cause, all parts are shown."""
        finished = overdue("timerlat", "-T", "1ns", "-d", "10s")
        self.assertEqual(finished.status, 3, finished)
        total = int(re.search(r"^  total .* ns +([\d,]+) ns +100.0%$", finished.out, re.MULTILINE)[1].replace(",", ""))
        parts = re.findall(r"^  (?:irq|softirq|thread|nmi|residual) .* ([\d,]+) ns +[\d.-]+%$", finished.out,
                           re.MULTILINE)
        self.assertEqual(sum(int(part.replace(",", "")) for part in parts), total, finished)
        self.assertRegex(finished.out, r"CPU \d+ stopped the run: activation #\d+, thread latency ")
        self.assertRegex(finished.out, r"(?m)^  \|[-+][-+]*\|$")
        self.assertRegex(finished.out, r"each - is \d+ us")

    def test_irq(self):
        cause = self.report("-s", "1ns", "-d", "10s", status=3)["cause"]
        self.assertEqual(cause["context"], "irq")
        self.assertGreaterEqual(cause["irq_delay_ns"], 1)
        self.assertEqual(cause["residual_ns"] + sum(part["ns"] for part in cause["parts"]), cause["latency_ns"])

    def test_user(self):
        report = self.report("-T", "1ns", "--user", "-d", "10s", status=3)
        self.assertIn(report["cause"]["context"], ("thread", "user"))


class Refusals(Case):
    def test_words(self):
        for arguments, words in ((["-p", "50"], "not between 100us and 1s"), (["-P", "100"], "not between 1 and 99"),
                                 (["--cpu", "4095"], "no CPU"), (["-f", "cvs"], "unknown format"),
                                 (["-f", "json", "--trace"], "do not go together"), (["--noise"], "--trace"),
                                 (["--backend", "x"], "unknown backend"), (["-T", "x"], "--stop-total")):
            finished = overdue("timerlat", *arguments, "-d", "1s")
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(words, finished.err)

    def test_without_rights(self):
        finished = run([*NOBODY, OVERDUE, "timerlat", "-d", "1s"])
        self.assertEqual(finished.status, 1)
        self.assertIn("is missing CAP_BPF", finished.err)
        rights = "-all,+bpf,+perfmon"
        finished = run([tool("setpriv"), "--reuid=65534", "--clear-groups", f"--inh-caps={rights}",
                        f"--ambient-caps={rights}", OVERDUE, "timerlat", "-d", "1s"])
        self.assertEqual(finished.status, 1, finished)
        self.assertIn("cannot make a real-time thread on CPU 0", finished.err)
        self.assertIn("CAP_SYS_NICE", finished.err)


class Threads(Case):
    def test_its_threads_are_real_time_and_pinned(self):
        with attached("timerlat", "-P", "60") as live:
            found = 0
            for task in map(int, os.listdir(f"/proc/{live.pid}/task")):
                with open(f"/proc/{live.pid}/task/{task}/comm", encoding="latin-1") as file:
                    name = re.fullmatch(r"timerlat/(\d+)", file.read().strip())
                if not name:
                    continue
                found += 1
                self.assertEqual(os.sched_getscheduler(task), os.SCHED_FIFO)
                self.assertEqual(os.sched_getparam(task).sched_priority, 60)
                self.assertEqual(os.sched_getaffinity(task), {int(name[1])})
            self.assertEqual(found, os.cpu_count())
            live.signal(signal.SIGINT)
            finished = live.finish()
        self.assertEqual(finished.status, 0, finished)


if __name__ == "__main__":
    main()
