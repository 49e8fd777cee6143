#!/usr/bin/python3
"""The views of `overdue syscalls`, of programs with known calls."""
import json
import os
import re
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (Live, call_records, counts, eventually, main, overdue, read_ndjson,
                          require_root, row_of, run, syscalls_report, table_of, tiny32, tool, workload)


class RootTest(unittest.TestCase):
    def setUp(self):
        require_root()


class Figures(RootTest):
    def test_row_is_consistent(self):
        report, _ = syscalls_report("--", workload("open_read_close"), 500)
        for row in report["syscalls"]:
            with self.subTest(row=row["name"]):
                timed = row["calls"] - row["unreturned"]
                self.assertEqual(sum(bucket[2] for bucket in row["histogram"]), timed)
                if timed == 0:
                    continue
                self.assertEqual(row["avg_ns"], row["total_ns"] // timed)
                self.assertLessEqual(row["min_ns"], row["p50_ns"])
                self.assertLessEqual(row["p50_ns"], row["p95_ns"])
                self.assertLessEqual(row["p95_ns"], row["p99_ns"])
                self.assertLessEqual(row["p99_ns"], row["max_ns"])
                for low, high, _ in row["histogram"]:
                    self.assertLess(low, high)
                self.assertTrue(any(low <= row["min_ns"] < high for low, high, _ in row["histogram"]))
                self.assertTrue(any(low <= row["max_ns"] < high for low, high, _ in row["histogram"]))
                self.assertLessEqual(sum(row["errnos"].values()), row["errors"])
        self.assertEqual(row_of(report, "close")["calls"], counts(report)["openat"] - failures(report))
        self.assertEqual(report["receipt"]["lost"], 0)
        self.assertEqual(report["receipt"]["unmatched"], 0)
        self.assertEqual(report["receipt"]["events"], sum(counts(report).values()))

    def test_mean_is_that_of_the_single_calls(self):
        """S1-12, from one recording: percentiles within 6.25 %, the rest exact."""
        with tempfile.TemporaryDirectory() as folder:
            overdue("record", "-q", "-o", f"{folder}/x.odt", "--", workload("open_read_close"), 2000)
            table = json.loads(overdue("report", f"{folder}/x.odt", "-f", "json").out)
            lines = overdue("report", f"{folder}/x.odt", "--calls", "-f", "ndjson").out.splitlines()
        latencies = {}
        for record in map(json.loads, lines):
            if record["type"] == "call" and record.get("latency_ns") is not None:
                latencies.setdefault(record["name"], []).append(record["latency_ns"])
        for name in ("openat", "read", "close"):
            values, row = sorted(latencies[name]), row_of(table, name)
            self.assertEqual((len(values), sum(values), values[0], values[-1]),
                             (row["calls"], row["total_ns"], row["min_ns"], row["max_ns"]))
            self.assertEqual(row["avg_ns"], sum(values) // len(values))
            for fraction, key in ((0.5, "p50_ns"), (0.95, "p95_ns"), (0.99, "p99_ns")):
                exact = values[max(0, -(-int(fraction * 100) * len(values) // 100) - 1)]
                self.assertGreaterEqual(row[key], exact)
                self.assertLessEqual(row[key], exact * 1.0625 + 1)

    def test_errors_by_errno(self):
        report, finished = syscalls_report("--", workload("errors"))
        self.assertEqual(finished.status, 0, finished)
        openat, read = row_of(report, "openat"), row_of(report, "read")
        self.assertEqual(openat["errnos"].get("ENAMETOOLONG"), 2)
        self.assertGreaterEqual(openat["errnos"].get("ENOENT", 0), 7)
        self.assertEqual(openat["errors"], sum(openat["errnos"].values()))
        self.assertEqual(read["errnos"], {"EBADF": 3, "EAGAIN": 5})
        self.assertEqual(read["errors"], 8)

    def test_errors_by_errno_for_an_ordinary_user(self):
        report, finished = syscalls_report("--user", "nobody", "--", workload("errors"))
        self.assertEqual(finished.out.strip(), "4", finished)
        self.assertEqual(row_of(report, "openat")["errnos"].get("EACCES"), 4)

    def test_unreturned_calls(self):
        report, _ = syscalls_report("--", workload("die"), "exit", 0)
        row = row_of(report, "exit_group")
        self.assertEqual((row["calls"], row["unreturned"], row["total_ns"]), (1, 1, 0))

    def test_every_thread_ends_with_exit(self):
        report, _ = syscalls_report("--", workload("thread_churn"), 200, 10)
        self.assertEqual(row_of(report, "exit")["calls"], 200)
        self.assertEqual(row_of(report, "exit")["unreturned"], 200)
        self.assertEqual(row_of(report, "getppid")["calls"], 2000)

    def test_unfinished_calls(self):
        with Live(workload("block_forever")) as blocked:
            eventually(lambda: "blocked" in blocked.out() and is_asleep(blocked.pid), 20, "it does not wait")
            report, _ = syscalls_report("-p", blocked.pid, "-d", "300ms")
            # The call began before the session: it cannot have an age, but may be shown.
            self.assertEqual(counts(report).get("read", 0), 0)
        # The program goes on for another moment (SIGALRM ends it): its status is still ours.
        report, finished = syscalls_report("-d", "700ms", "--", workload("block_forever"), 3, 2)
        self.assertEqual(finished.status, 128 + 14, finished)
        self.assertEqual(row_of(report, "getppid")["calls"], 3)
        reads = [call for call in report["unfinished"] if call["name"] == "read"]
        self.assertEqual(len(reads), 1, report["unfinished"])
        self.assertEqual(reads[0]["comm"], "block_forever")
        self.assertGreater(reads[0]["age_ns"], 100_000_000)
        self.assertLess(reads[0]["age_ns"], report["duration_ns"] + 50_000_000)

    def test_restarted_and_interrupted_calls(self):
        report, _ = syscalls_report("--", workload("interrupted_sleep"), "handler", 3)
        self.assertEqual(row_of(report, "nanosleep")["calls"], 3)
        self.assertEqual(row_of(report, "nanosleep")["errors"], 3)
        report, _ = syscalls_report("--", workload("interrupted_sleep"), "stop", 2)
        self.assertEqual(row_of(report, "nanosleep")["calls"], 1)
        self.assertEqual(row_of(report, "restart_syscall")["calls"], 2)


def is_asleep(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return file.read().rpartition(")")[2].split()[0] == "S"


def failures(report):
    return row_of(report, "openat")["errors"]


class Names(RootTest):
    def test_int80_is_labelled(self):
        if run([workload("int80"), "1"]).status != 0:
            self.skipTest("no 32-bit entry in this kernel")
        report, _ = syscalls_report("--", workload("int80"), 25)
        self.assertEqual(row_of(report, "i386:getpid")["calls"], 25)
        self.assertEqual(row_of(report, "i386:getpid")["id"], 20)
        self.assertEqual(row_of(report, "getpid")["calls"], 25)
        self.assertNotIn("writev", counts(report))

    def test_32_bit_program(self):
        report, finished = syscalls_report("--", tiny32())
        self.assertEqual(finished.status, 7, finished)
        self.assertEqual(counts(report), {"execve": 1, "i386:getpid": 12, "i386:exit": 1})

    def test_x32_is_labelled(self):
        report, _ = syscalls_report("--", workload("x32"), 12)
        self.assertEqual(row_of(report, "x32:getpid")["calls"], 12)

    def test_unknown_numbers(self):
        report, finished = syscalls_report("--", workload("unknown_calls"))
        self.assertEqual(finished.status, 0, finished)
        found = counts(report)
        self.assertEqual(found["syscall_511"], 2)
        self.assertEqual(found["syscall_9999"], 3)
        self.assertEqual(found["syscall_4294967295"], 4)
        self.assertEqual(row_of(report, "syscall_9999")["errnos"], {"ENOSYS": 3})

    def test_library_functions(self):
        """S1-02: calls made by printf, fopen and threads are shown, by the kernel's names."""
        report, _ = syscalls_report("--", workload("named_threads"), 3, 1)
        found = set(counts(report))
        self.assertLessEqual({"mmap", "mprotect", "openat", "pread64", "clone3", "futex", "prctl", "exit_group"}, found)
        self.assertTrue(found & {"newfstatat", "fstat"}, found)  # the first until glibc 2.38


class By(RootTest):
    def test_thread(self):
        """S1-14, S1-26: no call is counted for another thread."""
        report, _ = syscalls_report("--by", "thread", "--", workload("named_threads"), 6, 1000)
        found = {row["thread"]["comm"]: row["calls"] for row in report["syscalls"]
                 if row["name"] == "getppid"}
        self.assertEqual(found, {f"worker-{i}": (i + 1) * 1000 for i in range(6)})
        self.assertEqual(len({row["thread"]["tid"] for row in report["syscalls"]}), 7)

    def test_process(self):
        loop = workload("getppid_loop")
        report, _ = syscalls_report("--by", "process", "--", "sh", "-c",
                                    f"{loop} 30; {loop} 40 2; :")
        rows = [row for row in report["syscalls"] if row["name"] == "getppid"
                and row["process"]["comm"].startswith("getppid")]
        self.assertEqual(sorted(row["calls"] for row in rows), [30, 80])
        self.assertEqual(len({row["process"]["pid"] for row in rows}), 2)

    def test_sums_are_those_without_by(self):
        whole, _ = syscalls_report("--", workload("named_threads"), 5, 100)
        for keys in ("process", "thread", "container", "process,thread", "syscall",
                     "process,thread,container"):
            report, _ = syscalls_report("--by", keys, "--", workload("named_threads"), 5, 100)
            ours, theirs = counts(report), counts(whole)
            for name in ("getppid", "clone3", "prctl", "openat", "exit"):
                self.assertEqual(ours[name], theirs[name], keys)
            for row in report["syscalls"]:
                for key in keys.split(","):
                    self.assertTrue(key == "syscall" or key in row, (key, row["name"]))

    def test_unknown_key(self):
        finished = overdue("syscalls", "--by", "proces", "-a", "-d", "100ms")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("process", finished.err)


class Sets(RootTest):
    def names(self, *sets):
        options = [word for one in sets for word in ("-e", one)]
        report, _ = syscalls_report(*options, "--", workload("open_read_close"), 20)
        return set(counts(report))

    def test_names_classes_globs_and_not(self):
        everything = self.names()
        self.assertEqual(self.names("read"), {"read"})
        self.assertEqual(self.names("read,close"), {"read", "close"})
        self.assertEqual(self.names("read", "close"), {"read", "close"})
        self.assertEqual(self.names("open*"), {"openat"})
        self.assertEqual(self.names("!read"), everything - {"read"})
        self.assertEqual(self.names("!read,!close"), everything - {"read", "close"})
        self.assertTrue({"openat", "access", "execve"} <= self.names("%file"))
        self.assertNotIn("close", self.names("%file"))
        self.assertTrue({"read", "close", "openat"} <= self.names("%desc"))
        self.assertTrue({"mmap", "munmap", "mprotect", "brk"} <= self.names("%memory"))
        self.assertTrue({"execve", "exit_group"} <= self.names("%process"))
        self.assertEqual(self.names("%file,!open*,!execve") & {"openat", "execve"}, set())
        self.assertEqual(self.names("%network"), set())

    def test_counts_are_unchanged(self):
        report, _ = syscalls_report("-e", "read", "--", workload("open_read_close"), 77)
        whole, _ = syscalls_report("--", workload("open_read_close"), 77)
        self.assertEqual(counts(report)["read"], counts(whole)["read"])

    def test_unknown_name(self):
        finished = overdue("syscalls", "-e", "opneat", "--", "true")
        self.assertIn(finished.status, (2, 125), finished)
        self.assertRegex(finished.err, r"did you mean.*openat")


class Files(RootTest):
    def test_a_run_that_cannot_begin_leaves_the_last_report(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/report"
            for arguments in (["--", "no-such-program"], ["-p", "4194303"], ["-f", "jsn", "-a"]):
                with open(path, "w", encoding="ascii") as file:
                    file.write("the last one")
                finished = overdue("syscalls", "-o", path, "--save", f"{path}.odt", *arguments)
                self.assertNotEqual(finished.status, 0, finished)
                with open(path, encoding="ascii") as file:
                    self.assertEqual(file.read(), "the last one")
                self.assertEqual(os.listdir(folder), ["report"])
        self.assertEqual(overdue("syscalls", "-o", "x", "--save", "x", "-a").status, 2)


class Modes(RootTest):
    def test_discover(self):
        expected = set(counts(syscalls_report("--", workload("open_read_close"), 3)[0]))
        report, _ = syscalls_report("--discover", "--", workload("open_read_close"), 3)
        self.assertEqual(set(report["names"]), expected)
        finished = overdue("syscalls", "--discover", "--stdout", "-f", "text", "--",
                           workload("open_read_close"), 3)
        lines = [line for line in finished.out.splitlines() if not line.startswith("#")]
        self.assertEqual(set(lines), expected)
        self.assertEqual(lines, sorted(lines))

    def test_two_phase(self):
        """S1-03, S1-33: later calls are counted exactly; calls first made late are marked."""
        program = ("import os, time\n"
                   "end = time.monotonic() + 2.5\n"
                   "while time.monotonic() < end: os.getppid(); time.sleep(0.001)\n"
                   "for i in range(200): os.getpgid(0)\n"
                   "time.sleep(0.3)\n"
                   "for i in range(50): os.getpgid(0)\n")
        with tempfile.TemporaryDirectory() as folder:
            report, finished = syscalls_report("--two-phase", "--", tool("/usr/bin/python3"), "-I",
                                               "-c", program, cwd=folder)
        self.assertEqual(finished.status, 0, finished)
        row = row_of(report, "getpgid")
        self.assertEqual(row["calls"], 250)
        self.assertTrue(row["late"])
        self.assertFalse(row_of(report, "getppid")["late"])
        attached = [re.search(r"(\d+) of (?:the )?(?:kernel's )?(\d+)", note)
                    for note in report["notes"]]
        attached = [match for match in attached if match]
        self.assertTrue(attached, report["notes"])
        self.assertLess(int(attached[0][1]), int(attached[0][2]) / 4)

    def test_two_phase_loses_nothing_on_the_way(self):
        """Both ways of hooking give the same counts, with signals, children and a late call."""
        program = ("/bin/sh", "-c", "for i in 1 2 3; do sleep 0.2; ls >/dev/null; done; "
                   "for i in 1 2 3; do uname -a >/dev/null; sleep 0.2; done")
        whole, finished = syscalls_report("--", *program)
        self.assertEqual(finished.status, 0, finished)
        report, finished = syscalls_report("--two-phase", "--discover-time", "300ms", "--", *program)
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(counts(report), counts(whole))
        self.assertEqual(report["receipt"]["lost"], 0, report["receipt"])
        self.assertEqual(report["receipt"]["cut"], 0, report["receipt"])
        self.assertTrue(any("attached" in note for note in report["notes"]), report["notes"])

    def test_two_phase_of_a_short_program(self):
        report, finished = syscalls_report("--two-phase", "--", workload("open_read_close"), 100)
        self.assertEqual(finished.status, 0, finished)
        whole, _ = syscalls_report("--", workload("open_read_close"), 100)
        self.assertEqual(counts(report), counts(whole))

    def test_intervals_sum_to_the_total(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/x.ndjson"
            finished = overdue("syscalls", "-i", "100ms", "-f", "ndjson", "-o", path, "--",
                               workload("getppid_loop"), "2s", 2)
            lines = read_ndjson(path)
        made = int(finished.out)
        intervals = [line for line in lines if line["type"] == "interval"]
        self.assertGreater(len(intervals), 10)
        calls = [sum(row["calls"] for row in line["syscalls"] if row["name"] == "getppid")
                 for line in intervals]
        total = [line for line in lines if line["type"] == "report"]
        self.assertEqual(len(total), 1)
        self.assertEqual(row_of(total[0], "getppid")["calls"], made)
        self.assertEqual(lines[-1]["type"], "receipt")
        self.assertEqual(lines[-1]["lost"], 0)
        self.assertLessEqual(sum(calls), made)
        # Calls after the last full interval are only in the total, or in a short last interval.
        self.assertGreaterEqual(sum(calls), made * 0.8)
        sums = {}
        for line in intervals:
            for row in line["syscalls"]:
                sums[row["name"]] = sums.get(row["name"], 0) + row["total_ns"]
        self.assertLessEqual(sums["getppid"], row_of(total[0], "getppid")["total_ns"])

    def test_histograms(self):
        finished = overdue("syscalls", "--hist", "--stdout", "-e", "close", "--",
                           workload("open_read_close"), 300)
        drawn = finished.out.split("close, ", 1)
        self.assertEqual(len(drawn), 2, finished)
        numbers = [int(number.replace(",", "")) for number in
                   re.findall(r"\s([\d,]+)\s*[|█▏▎▍▌▋▊▉#*@ ]*$", drawn[1], re.MULTILINE)]
        self.assertTrue(numbers, drawn[1])

    def test_sort_and_top(self):
        for column, key in (("total", "total_ns"), ("calls", "calls"), ("max", "max_ns"),
                            ("avg", "avg_ns"), ("errors", "errors"), ("p99", "p99_ns")):
            report, _ = syscalls_report("--sort", column, "--top", 4, "--",
                                        workload("open_read_close"), 20)
            values = [row[key] for row in report["syscalls"]]
            self.assertEqual(len(values), 4)
            self.assertEqual(values, sorted(values, reverse=True), column)
        report, _ = syscalls_report("--sort", "name", "--", workload("open_read_close"), 20)
        names = [row["name"] for row in report["syscalls"]]
        self.assertEqual(names, sorted(names))


class Calls(RootTest):
    def test_records(self):
        records, _ = call_records("--", workload("open_read_close"), 30)
        calls = [record for record in records if record["type"] == "call"]
        for call in calls:
            for key in ("time_ns", "pid", "tid", "comm", "cpu", "name", "id", "args"):
                self.assertIn(key, call)
        self.assertEqual([call["time_ns"] for call in calls],
                         sorted(call["time_ns"] for call in calls))
        opens = [call for call in calls if call["name"] == "openat" and
                 any("/dev/zero" in str(argument) for argument in call["args"])]
        self.assertEqual(len(opens), 30, calls[-5:])
        self.assertTrue(all(call["ret"] >= 3 and call["latency_ns"] > 0 for call in opens))
        self.assertTrue(any("O_RDONLY" in str(argument) for argument in opens[0]["args"]), opens[0])
        self.assertTrue(any("AT_FDCWD" in str(argument) for argument in opens[0]["args"]), opens[0])

    def test_seen_and_lost_are_made(self):
        """However small the ring: every call is a record or a counted loss."""
        records, finished = call_records("--buffer", "64k", "-e", "getppid", "--",
                                         workload("getppid_loop"), 400000, 2)
        seen = sum(record["type"] == "call" for record in records)
        receipt = records[-1]
        self.assertEqual(receipt["type"], "receipt")
        self.assertEqual(seen + receipt["lost"], int(finished.out), receipt)
        self.assertEqual(sum(receipt["lost_by"].values()), receipt["lost"])

    def test_agree_with_the_table(self):
        records, _ = call_records("--", workload("named_threads"), 4, 100)
        report, _ = syscalls_report("--", workload("named_threads"), 4, 100)
        made = {}
        for record in records:
            if record["type"] == "call":
                made[record["name"]] = made.get(record["name"], 0) + 1
        for name in ("getppid", "clone3", "prctl", "openat", "exit", "exit_group", "execve"):
            self.assertEqual(made[name], counts(report)[name], name)

    def test_long_and_odd_paths(self):
        records, finished = call_records("-e", "openat", "--", workload("long_paths"))
        self.assertEqual(finished.status, 0, finished)
        results = [call["ret"] for call in records if call["type"] == "call"][-6:]
        self.assertEqual(results, [-2, -36, -2, -2, -2, -14])

    def test_csv_has_the_same_columns(self):
        finished = overdue("syscalls", "--calls", "-f", "csv", "--stdout", "-e", "prctl,exit", "--",
                           workload("named_threads"), 3, 1)
        rows = table_of(finished.out)
        self.assertEqual(len([row for row in rows if row["name"] == "prctl"]), 3)
        for key in ("time_ns", "pid", "tid", "comm", "cpu", "name", "id", "args", "ret",
                    "latency_ns"):
            self.assertIn(key, rows[0])


if __name__ == "__main__":
    main()
