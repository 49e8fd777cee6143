#!/usr/bin/python3
"""`overdue spans`: how long spans of each kind take, by name, against what programs did."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import FolderTest, kernel_version, main, overdue, read_ndjson, require_root, workload

MS = 1_000_000
NAPS = 40
# Runs a program, and prints how often the kernel has counted its threads to leave a CPU.
SWITCHES = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True); "
            "of = resource.getrusage(resource.RUSAGE_CHILDREN); print(of.ru_nvcsw + of.ru_nivcsw)")
HIDDEN = 2  # this kernel hides one switch in a thousand
ASK = "ask=begin:syscalls:sys_enter_getppid,end:syscalls:sys_exit_getppid,key:tid"
NAP = "nap=begin:syscalls:sys_enter_nanosleep,end:syscalls:sys_exit_nanosleep,key:tid"


def rows(report, span):
    return [row for row in report["spans"] if row["span"] == span]


def naps(*options):
    """The report of a program that sleeps NAPS times for 2 ms."""
    finished = overdue("spans", "-f", "json", "--stdout", *options, "--", workload("nanosleep_loop"), NAPS, 2 * MS)
    if finished.status != 0:
        raise AssertionError(finished)
    return json.loads(finished.out.splitlines()[-1] if "ndjson" in options else finished.out[finished.out.index("{"):])


class Distributions(FolderTest):
    def setUp(self):
        super().setUp()
        require_root()

    def test_counts_and_times_are_those_of_the_program(self):
        report = naps("--span", "offcpu,timer,wakeup", "--span", NAP)
        sleeping = next(row for row in rows(report, "offcpu") if row["name"] == "sleeping")
        self.assertGreaterEqual(sleeping["calls"], NAPS - HIDDEN)
        for row in (*rows(report, "pair"), sleeping):
            self.assertGreaterEqual(row["max_ns"], 2 * MS)
            self.assertGreaterEqual(row["p50_ns"], 2 * MS)
            self.assertLessEqual(row["p50_ns"], row["max_ns"])
            self.assertEqual(sum(count for _, _, count in row["histogram"]), row["calls"])
        [nap] = rows(report, "pair")
        self.assertEqual((nap["name"], nap["calls"]), ("nap", NAPS))
        self.assertGreaterEqual(nap["total_ns"], 2 * MS * NAPS)
        [timer] = [row for row in rows(report, "timer") if row["name"] == "hrtimer_wakeup"]
        self.assertGreaterEqual(timer["calls"], NAPS / 2)  # one within its slack is in time, and no span
        self.assertGreaterEqual(sum(row["calls"] for row in rows(report, "wakeup")), NAPS - HIDDEN)

    def test_threads_have_rows_and_interrupts_none(self):
        report = naps("--by", "thread", "--span", "offcpu,irq,softirq,vector")
        self.assertEqual(report["by"], ["span", "thread"])
        for row in report["spans"]:
            self.assertEqual("thread" in row, row["span"] == "offcpu", row)
        self.assertIn("nanosleep_loop", {row["thread"]["comm"] for row in rows(report, "offcpu")})

    def test_waits_on_chosen_cpus_only(self):
        file = f"{self.folder}/table"
        finished = overdue("spans", "-f", "json", "-o", file, "--span", "offcpu", "--cpu", "0", "--", "taskset", "-c",
                           "1", workload("nanosleep_loop"), 4 * NAPS, 2 * MS)
        self.assertEqual(finished.status, 0, finished)
        with open(file, encoding="utf-8") as table:  # of the naps none, but `taskset` began on any CPU
            self.assertLess(sum(row["calls"] for row in json.load(table)["spans"]), NAPS)

    def test_intervals_add_up(self):
        finished = overdue("spans", "-f", "ndjson", "-i", "20ms", "--stdout", "--span", "offcpu,wakeup", "--",
                           workload("nanosleep_loop"), 4 * NAPS, 2 * MS)  # a busy machine merges intervals
        self.assertEqual(finished.status, 0, finished)
        lines = [json.loads(line) for line in finished.out.splitlines() if line.startswith("{")]
        total = next(line for line in lines if line["type"] == "report")
        intervals = [line for line in lines if line["type"] == "interval"]
        self.assertGreater(len(intervals), 2)

        def counted(report):
            return sum(row["calls"] for row in report["spans"])
        # What ended before the first interval began, and after the last, is in the whole only.
        self.assertLessEqual(sum(map(counted, intervals)), counted(total))
        self.assertGreater(sum(map(counted, intervals)), counted(total) / 2)

    def test_many_short_spans_fill_no_buffer(self):
        times = 50_000
        file, saved = f"{self.folder}/table", f"{self.folder}/saved.odt"
        finished = overdue("spans", "-f", "ndjson", "-o", file, "--save", saved, "--buffer", "64K", "--span",
                           "offcpu,wakeup", "--", sys.executable, "-c", SWITCHES, "taskset", "-c", "0",
                           workload("pipe_pingpong"), times)
        self.assertEqual(finished.status, 0, finished)
        switches = int(finished.out)
        *_, report, receipt = read_ndjson(file)
        self.assertEqual(receipt["lost"], 0, receipt)
        # On one CPU, each of the two processes is off the CPU once a round trip, asleep or preempted. With PREEMPT_RT,
        # twice: the woken one comes at once, and waits for the lock of the pipe.
        self.assertGreaterEqual(switches, 2 * times)
        waits = sum(row["calls"] for row in rows(report, "offcpu"))
        self.assertGreaterEqual(waits, switches * 0.99)
        self.assertLessEqual(waits, switches * 1.05)
        self.assertLess(os.path.getsize(saved), 1 << 20)

    def test_more_sums_than_the_table_has_room_for(self):
        threads = 6000
        file = f"{self.folder}/table"
        finished = overdue("spans", "-f", "ndjson", "-o", file, "--by", "thread", "--span", ASK, "--",
                           workload("thread_churn"), threads, 1)
        self.assertEqual(finished.status, 0, finished)
        *_, report, receipt = read_ndjson(file)
        # docs/loss.md, `nested`: the count has events of other threads, too.
        may_be = kernel_version() >= (7, 2) or "PREEMPT_RT" in os.uname().version
        nested = receipt["lost_by"].get("nested", 0) if may_be else 0
        self.assertEqual(receipt["lost"], nested, receipt)
        self.assertLess(nested, threads / 50, receipt)
        calls = sum(row["calls"] for row in rows(report, "pair"))
        self.assertLessEqual(calls, threads)
        self.assertGreaterEqual(calls, threads - nested)
        self.assertIn("other names", {row["name"] for row in report["spans"]})

    def test_a_refused_connection_has_failed(self):
        connect = ("import socket\nfor i in range(5):\n s=socket.socket()\n"
                   " try: s.connect(('127.0.0.1', 1))\n except OSError: pass")
        finished = overdue("spans", "-f", "json", "--stdout", "--span", "tcp_connect", "--", sys.executable, "-c",
                           connect)
        [row] = json.loads(finished.out)["spans"]
        self.assertEqual((row["name"], row["calls"], row["errors"]), ("127.0.0.1:1", 5, 5))

    def test_text_and_csv(self):
        file = f"{self.folder}/table"
        for form in ("text", "csv"):
            finished = overdue("spans", "-f", form, "-o", file, "--hist", "--span", "offcpu", "--",
                               workload("nanosleep_loop"), NAPS, 2 * MS)
            self.assertEqual(finished.status, 0, finished)
            with open(file, encoding="utf-8") as table:
                shown = table.read()
            if form == "text":
                self.assertRegex(shown, r"SPAN +NAME +COUNT +FAILED +TOTAL +AVG +P50 +P95 +P99 +MAX +%WALL")
                self.assertRegex(shown, r"(?m)^offcpu +sleeping +\d+ ")
                self.assertRegex(shown, r"(?m)^offcpu sleeping, \d+ spans$")
            else:
                self.assertRegex(shown, r"(?m)^type,start,wall_ns,span,name,id,calls,")


class Words(FolderTest):
    def test_list(self):
        finished = overdue("spans", "--list")
        self.assertEqual(finished.status, 0, finished)
        names = re.findall(r"(?m)^([\w-]+) +\S", finished.out)
        self.assertIn("irq", names)
        self.assertNotIn("pair", names)
        for name in names:
            refused = overdue("spans", "--span", name + "x", "--", "true")
            self.assertEqual(refused.status, 2, refused)
            self.assertIn(f"'{name}'?", refused.err)

    def test_what_is_refused(self):
        for options, says in ((("--span", "syscall"), "overdue syscalls"), (("--sort", "bogus"), "cannot sort"),
                              (("--top", "-1"), "--top"), (("--by", "cpu"), "--by")):
            refused = overdue("spans", *options, "--", "true")
            self.assertEqual(refused.status, 2, refused)
            self.assertIn(says, refused.err)


if __name__ == "__main__":
    main()
