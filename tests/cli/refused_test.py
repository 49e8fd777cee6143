#!/usr/bin/python3
"""Calls that seccomp answers before they begin: in every view, with their errors, without a latency."""
import collections
import json
import os
import re
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import reference
from overdue_test import (SLOWER, Live, attached, call_records, counts, main, overdue, read_ndjson, require_root, row_of,
                          run, syscalls_report, table_of, tool, workload)

# tests/workloads/refused.c: number of calls, and errors by name.
ANSWERS = {"getuid": (7, {"EPERM": 7}), "rename": (2, {"EACCES": 2}), "getgid": (3, {}), "geteuid": (4, {}),
           "getegid": (5, {"ENOSYS": 5}), "sched_yield": (2, {"EBUSY": 1})}
ALLOWED = {"getppid": 15}


class Refused(unittest.TestCase):
    def setUp(self):
        require_root()
        self.answers = dict(ANSWERS)
        by_32_bit_entry = int(run([workload("refused")]).out)
        if by_32_bit_entry:
            self.answers["i386:getpid"] = (by_32_bit_entry, {"EXDEV": by_32_bit_entry})
        self.all = sum(calls for calls, _ in self.answers.values())

    def check_rows(self, report):
        for name, (calls, errnos) in self.answers.items():
            row = row_of(report, name)
            self.assertEqual((row["calls"], row["refused"], row["errors"], row["errnos"]),
                             (calls, calls, sum(errnos.values()), errnos), row)
            self.assertEqual((row["total_ns"], row["max_ns"], row["histogram"]), (0, 0, []), row)
        for name, calls in ALLOWED.items():
            self.assertEqual((row_of(report, name)["calls"], row_of(report, name)["refused"]), (calls, 0))
        receipt = report["receipt"]
        self.assertEqual((receipt["refused"], receipt["unmatched"], receipt["lost"]), (self.all, 0, 0), receipt)
        self.assertEqual(receipt["events"], sum(counts(report).values()))

    def test_table(self):
        for by in ("syscall", "process", "thread", "caller"):
            with self.subTest(by=by):
                report, finished = syscalls_report("--by", by, "--", workload("refused"))
                self.assertEqual(finished.status, 0, finished)
                for name in self.answers if by == "caller" else ():
                    self.assertEqual(sum(row["refused"] for row in report["syscalls"] if row["name"] == name),
                                     self.answers[name][0])
                if by != "caller":
                    self.check_rows(report)

    def test_text(self):
        finished = overdue("syscalls", "--", workload("refused"))
        self.assertRegex(finished.err, r"\ngetuid +7 +7 +- .* EPERM 7; 7 refused\n")
        self.assertRegex(finished.err, r"\ngetgid +3 +0 +- .* 3 refused\n")
        self.assertIn(f", {self.all} refused by seccomp or a tracer\n", finished.err)
        self.assertNotRegex(overdue("syscalls", "--", workload("errors")).err, r"\d refused")

    def csv(self, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            overdue("syscalls", *arguments, "-f", "csv", "-o", f"{folder}/x", "--", workload("refused"))
            with open(f"{folder}/x", encoding="latin-1") as file:
                return file.read()

    def test_csv(self):
        rows = {row["name"]: row for row in table_of(self.csv())}
        for name, (calls, errnos) in self.answers.items():
            self.assertEqual((int(rows[name]["calls"]), int(rows[name]["refused"])), (calls, calls))
            self.assertEqual(rows[name]["errnos"], " ".join(f"{code}={count}" for code, count in errnos.items()))

    def check_calls(self, records):
        refused = [record for record in records if record["type"] == "call" and "refused" in record]
        self.assertEqual(collections.Counter(record["name"] for record in refused),
                         {name: calls for name, (calls, _) in self.answers.items()})
        for record in refused:
            self.assertNotIn("latency_ns", record)
            trapped = record["name"] == "geteuid"
            self.assertEqual(record["refused"], "SIGSYS" if trapped else "answered")
            self.assertEqual("ret" not in record, trapped)
            if record["name"] == "rename":
                self.assertEqual(record["args"], ['oldpath="/refused/from"', 'newpath="/refused/to"'])
                self.assertEqual(record["ret"], -13)
        self.assertEqual([record["ret"] for record in records if record.get("name") == "sched_yield"], [-16, 77])

    def test_calls(self):
        records, finished = call_records("--", workload("refused"))
        self.assertEqual(finished.status, 0, finished)
        self.check_calls(records)

    def test_calls_as_text_and_csv(self):
        finished = overdue("syscalls", "--calls", "--", workload("refused"))
        self.assertIn("getuid() = -1 EPERM (refused: answered)\n", finished.err)
        self.assertIn("geteuid() = ? (refused: SIGSYS)\n", finished.err)
        out = self.csv("--calls")
        self.assertEqual(out.count("latency_ns"), 1, "one header")
        rows = [row for row in table_of(out) if row.get("refused")]
        self.assertEqual(len(rows), self.all)
        self.assertFalse([row for row in rows if row["latency_ns"]])

    def test_record_and_report(self):
        with tempfile.TemporaryDirectory() as folder:
            overdue("record", "-q", "-o", f"{folder}/x.odt", "--", workload("refused"))
            self.check_rows(json.loads(overdue("report", f"{folder}/x.odt", "-f", "json").out))
            lines = overdue("report", f"{folder}/x.odt", "--calls", "-f", "ndjson").out.splitlines()
            self.check_calls([json.loads(line) for line in lines])
            overdue("syscalls", "-q", "--save", f"{folder}/y.odt", "--", workload("refused"))
            self.check_rows(json.loads(overdue("report", f"{folder}/y.odt", "-f", "json").out))

    def test_chosen(self):
        report, _ = syscalls_report("-e", "getgid,getppid", "--", workload("refused"))
        self.assertEqual(counts(report), {"getgid": 3, "getppid": 15})
        self.assertEqual(report["receipt"]["refused"], 3)

    def test_intervals(self):
        with tempfile.TemporaryDirectory() as folder:
            overdue("syscalls", "-i", "50ms", "-f", "ndjson", "-o", f"{folder}/x", "--", workload("refused"), 300)
            lines = read_ndjson(f"{folder}/x")
        made = collections.Counter()
        for line in lines:
            if line["type"] == "interval":
                made.update({row["name"]: row["refused"] for row in line["syscalls"]})
        self.assertEqual(+made, {name: calls for name, (calls, _) in self.answers.items()})

    def test_discovered(self):
        """The hook for refused calls comes with the first filter, within the workload's pause."""
        finished = overdue("syscalls", "--discover", "--stdout", "-f", "json", "--", workload("refused"), 1000 * SLOWER)
        report = json.loads(finished.out[finished.out.index("{"):finished.out.rindex("}") + 1])
        self.assertLessEqual(set(self.answers), set(report["names"]))
        self.assertEqual(report["receipt"]["refused"], self.all)
        missed = [note for note in report["notes"] if note.startswith("Calls refused in the first")]
        self.assertEqual(len(missed), 1, report["notes"])

    def test_discovered_of_a_program_that_has_its_filter_already(self):
        """Calls count from the first refused call on."""
        with Live(workload("refused"), 1500 * SLOWER) as program:
            with attached("syscalls", "--discover", "-f", "json", "-p", program.pid, settle=0) as live:
                program.finish()
                report = json.loads(live.finish().out)
        self.assertLessEqual(set(self.answers), set(report["names"]))
        self.assertEqual(report["receipt"]["refused"], self.all)
        self.assertFalse([note for note in report["notes"] if "refused" in note], report["notes"])

    def test_two_phases(self):
        """A filter that comes in either phase."""
        for discover_time, pause in (("1s", 0), ("1ms", 1000)):
            with self.subTest(discover_time=discover_time):
                report, finished = syscalls_report("--two-phase", "--discover-time", discover_time, "--",
                                                   workload("refused"), pause)
                self.assertEqual(finished.status, 0, finished)
                for name, (calls, errnos) in self.answers.items():
                    row = row_of(report, name)
                    self.assertEqual((row["calls"], row["refused"], row["errnos"]), (calls, calls, errnos), row)
                self.assertEqual(row_of(report, "getppid")["calls"], 15)
                self.assertEqual(report["receipt"]["unmatched"], 0)

    def test_stalls_count_them(self):
        with tempfile.TemporaryDirectory() as folder:
            finished = overdue("stalls", "-T", "1ms", "-f", "ndjson", "-o", f"{folder}/x", "--", workload("refused"),
                               50)
            self.assertEqual(finished.status, 0, finished)
            lines = read_ndjson(f"{folder}/x")
        self.assertEqual((lines[-1]["refused"], lines[-1]["unmatched"]), (self.all, 0), lines[-1])
        # No refused call is late, but its thread may wait for the CPU on its way back.
        self.assertFalse([line for line in lines if line.get("name") in self.answers and not line.get("way_back")])

    def test_killed(self):
        for how, status in (("kill", 128 + signal.SIGSYS), ("kill-thread", 0)):
            with self.subTest(how=how):
                records, finished = call_records("--", workload("refused"), 0, how)
                self.assertEqual(finished.status, status, finished)
                killed = [record for record in records if record.get("refused") == "killed"]
                self.assertEqual([record["name"] for record in killed], ["sync"])
                self.assertNotIn("ret", killed[0])
                report, _ = syscalls_report("--", workload("refused"), 0, how)
                self.assertEqual((row_of(report, "sync")["calls"], row_of(report, "sync")["refused"]), (1, 1))
                self.assertEqual(report["receipt"]["refused"], self.all + 1)
                self.assertEqual(report["receipt"]["unmatched"], 0)

    def test_equal_to_strace(self):
        """Calls, and errors by name, from strace's own log."""
        with tempfile.TemporaryDirectory() as folder:
            run([tool("strace"), "-f", "-n", "-q", "-o", f"{folder}/log", workload("refused"), "0", "kill"])
            theirs, _ = reference.parse_strace(f"{folder}/log")
            with open(f"{folder}/log", encoding="latin-1") as log:
                text = log.read()
        report, _ = syscalls_report("--", workload("refused"), 0, "kill")
        for name in [*self.answers, "getppid", "sync"]:
            row = row_of(report, name)
            self.assertEqual(row["calls"], theirs[name], name)
            call = name.removeprefix("i386:")
            errors = collections.Counter(re.findall(rf"[ .]{call}(?:\(.*\)| resumed>\)) += -1 (E\w+)", text))
            self.assertEqual(row["errnos"], errors, name)


if __name__ == "__main__":
    main()
