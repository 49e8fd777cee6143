#!/usr/bin/python3
"""`overdue syscalls --by library,caller` of programs whose library calls are known."""
import collections
import csv
import io
import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (counts, main, overdue, require_root, syscalls_report, table_of, tool,
                          workload)

LIBC = "libc.so.6"
# If functions of the C library jump instead of calling, Overdue sees the last one. If a function
# has several names, any of them may be shown.
FOPEN = {"fopen", "fopen64", "__fopen_internal", "_IO_new_fopen"}
READ = {"read", "__read", "__libc_read"}


def by_caller(report):
    """{(library, caller, call): calls}"""
    return {(row["library"], row["caller"], row["name"]): row["calls"] for row in report["syscalls"]}


def calls_of(report, name):
    """{(library, caller): calls} of one system call."""
    return {key[:2]: calls for key, calls in by_caller(report).items() if key[2] == name}


def of_callers(report, name, callers, library=LIBC):
    return sum(calls for (where, who), calls in calls_of(report, name).items()
               if who in callers and where == library)


def unknown_by_notes(report):
    return sum(int(note.rsplit(" ", 1)[1].replace(",", "")) for note in report["notes"]
               if "under [unknown] because" in note)


class CallersTest(unittest.TestCase):
    def setUp(self):
        require_root()

    def report(self, *arguments):
        report, finished = syscalls_report("--by", "library,caller", "--", *arguments)
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(report["by"], ["syscall", "library", "caller"])
        self.assertEqual(report["receipt"]["lost"], 0)
        self.assertEqual(report["receipt"]["events"], sum(counts(report).values()))
        return report


class OfKnownCalls(CallersTest):
    def test_library_functions(self):
        report = self.report(workload("library_calls"), 20)
        self.assertEqual(calls_of(report, "write"), {(LIBC, "fprintf"): 20})
        self.assertEqual(of_callers(report, "read", {"fread"}), 20)
        self.assertEqual(of_callers(report, "read", READ), 20)
        self.assertEqual(of_callers(report, "openat", FOPEN), 21)
        self.assertEqual(of_callers(report, "close", {"fclose"}), 20)
        self.assertGreater(of_callers(report, "openat", {"getaddrinfo"}), 0)  # /etc/hosts, …
        self.assertGreater(of_callers(report, "socket", {"getaddrinfo"}), 0)
        self.assertEqual(calls_of(report, "getppid"), {(LIBC, "getppid"): self.comparisons()})
        self.assertEqual(calls_of(report, "getpgrp"), {(LIBC, "getpgrp"): 7 * 20})
        self.assertEqual(of_callers(report, "clone3", {"pthread_create"}) +
                         of_callers(report, "clone", {"pthread_create"}), 20,
                         calls_of(report, "clone3"))
        self.assertEqual(calls_of(report, "getuid"), {(LIBC, "getuid"): 3})
        self.assertEqual(sum(calls_of(report, "rt_sigreturn").values()), 3)
        self.assertEqual(set(calls_of(report, "rt_sigreturn")) & {(LIBC, "raise")}, set())
        self.assertEqual(calls_of(report, "getgid"), {(LIBC, "getgid"): 5})
        self.assertEqual(calls_of(report, "geteuid"), {(LIBC, "geteuid"): 6})
        self.assertEqual(calls_of(report, "getegid"), {("library_calls", "main"): 4})
        self.assertEqual(calls_of(report, "exit_group"),
                         {(LIBC, "__libc_start_main"): 1, (LIBC, "_exit"): 1})

    def test_nothing_is_unknown(self):
        report = self.report(workload("library_calls"), 3)
        unknown = {key: calls for key, calls in by_caller(report).items() if "[unknown]" in key[:2]}
        self.assertEqual(unknown, {})

    def comparisons(self):
        """The number of comparisons of the workload's qsort(), from a run without callers."""
        report, _ = syscalls_report("--", workload("library_calls"), 1)
        return counts(report)["getppid"]

    def test_sum_is_that_of_the_calls(self):
        """The same program with and without callers: the same calls."""
        plain, _ = syscalls_report("--", workload("open_read_close"), 400)
        with_callers = self.report(workload("open_read_close"), 400)
        self.assertEqual(counts(with_callers), counts(plain))
        for row in with_callers["syscalls"]:
            timed = row["calls"] - row["unreturned"]
            self.assertEqual(sum(bucket[2] for bucket in row["histogram"]), timed, row)

    def test_errors_stay_with_their_callers(self):
        plain, _ = syscalls_report("--", workload("errors"))
        report = self.report(workload("errors"))
        errors = collections.Counter()
        for row in report["syscalls"]:
            errors[row["name"]] += row["errors"]
        self.assertEqual({name: count for name, count in errors.items() if count},
                         {row["name"]: row["errors"] for row in plain["syscalls"] if row["errors"]})

    def test_the_kernel_learns(self):
        """Of millions of calls from one place, Overdue reads the stacks of the first; the kernel
        counts the rest, and none is lost. Runs for seconds: the first may be learned late."""
        report, finished = syscalls_report("--by", "library,caller", "--", workload("getppid_loop"), "3s")
        made = int(finished.out)
        self.assertEqual(report["receipt"]["lost"], 0)
        self.assertEqual(report["receipt"]["events"], sum(counts(report).values()))
        calls = calls_of(report, "getppid")
        self.assertEqual(sum(calls.values()), made)
        known = {key: count for key, count in calls.items() if key != ("[unknown]", "[unknown]")}
        self.assertEqual(set(known), {(LIBC, "syscall")})
        self.assertGreater(sum(known.values()), made / 2)
        unknown = calls.get(("[unknown]", "[unknown]"), 0)
        self.assertLessEqual(unknown, unknown_by_notes(report))


class OfVfork(CallersTest):
    """The C library's vfork() keeps its return address in a register: the child writes to the parent's stack."""

    VFORK = {"vfork", "__vfork"}

    def test_by_the_program(self):
        report = self.report(workload("vfork_exec"), 20, "/bin/true")
        self.assertEqual(of_callers(report, "vfork", self.VFORK), 20, calls_of(report, "vfork"))

    def test_by_python(self):
        python = tool("python3.11", "python3")
        report = self.report(python, "-I", "-c", "import subprocess\n"
                             "for _ in range(5): subprocess.run(['/bin/true'])")
        self.assertEqual(of_callers(report, "vfork", self.VFORK), 5, calls_of(report, "vfork"))

    def test_of_posix_spawn(self):
        python = tool("python3.11", "python3")
        report = self.report(python, "-I", "-c", "import os\n"
                             "for _ in range(5): os.wait4(os.posix_spawn('/bin/true', ['true'], {}), 0)")
        spawned = calls_of(report, "clone3") | calls_of(report, "clone")
        self.assertEqual(spawned, {(LIBC, "posix_spawn"): 5})


class OfOtherPrograms(CallersTest):
    def test_static(self):
        report = self.report(workload("library_calls_static"), 4)
        program = "library_calls_static"
        self.assertEqual(calls_of(report, "getppid"), {(program, "compare"): 12})
        self.assertEqual(calls_of(report, "getpgrp"), {(program, "in_thread"): 28})
        self.assertEqual(calls_of(report, "getegid"), {(program, "main"): 4})
        libraries = {library for library, _, name in by_caller(report) if name != "execve"}
        self.assertEqual(libraries - {program, "[unknown]"}, set())

    def test_exec_does_not_mix_up(self):
        """The child becomes another program, which makes calls of its own."""
        report = self.report(workload("library_calls"), 1, workload("getppid_static"), 5000)
        calls = calls_of(report, "getppid")
        self.assertEqual(calls[(LIBC, "getppid")], 12)
        unknown = calls.pop(("[unknown]", "[unknown]"), 0)
        of_static = [count for (library, _), count in calls.items() if library == "getppid_static"]
        self.assertEqual(len(of_static), 1, calls)
        self.assertEqual(of_static[0] + unknown, 5000)
        self.assertEqual(len(calls), 2, calls)
        self.assertLessEqual(unknown, unknown_by_notes(report))

    def test_python(self):
        python = tool("python3.11", "python3")
        report = self.report(python, "-I", "-c", "\n".join([
            "import ctypes, json, os, socket",
            "for i in range(50): open('/etc/passwd').close()",
            "for i in range(70): os.getppid()"]))
        self.assertEqual(calls_of(report, "getppid").get((LIBC, "getppid")), 70)
        self.assertGreaterEqual(of_callers(report, "openat", {"open64", "open", "__open64"}), 50)
        # Extension modules are mapped by dlopen(), which the program called.
        callers = {caller for library, caller, name in by_caller(report)
                   if name == "mmap" and library == LIBC}
        self.assertTrue(any("dlopen" in caller for caller in callers), callers)

    def test_threads(self):
        """Many short-lived threads that call from the same places."""
        plain, _ = syscalls_report("--by", "syscall", "--", workload("library_calls"), 200)
        report = self.report(workload("library_calls"), 200)
        self.assertEqual(calls_of(report, "getpgrp"), {(LIBC, "getpgrp"): 1400})
        self.assertEqual(counts(report)["getpgrp"], counts(plain)["getpgrp"])


class Forms(CallersTest):
    def test_one_key_alone(self):
        report, _ = syscalls_report("--by", "library", "--", workload("library_calls"), 2)
        row = next(row for row in report["syscalls"] if row["name"] == "getpgrp")
        self.assertEqual((row["library"], row["calls"]), (LIBC, 14))
        self.assertNotIn("caller", row)
        report, _ = syscalls_report("--by", "caller", "--", workload("library_calls"), 2)
        row = next(row for row in report["syscalls"] if row["name"] == "getpgrp")
        self.assertEqual((row["caller"], row["calls"]), ("getpgrp", 14))
        self.assertNotIn("library", row)

    def test_with_process(self):
        report, _ = syscalls_report("--by", "process,caller", "--", workload("library_calls"), 2)
        pids = {row["caller"]: row["process"]["pid"] for row in report["syscalls"]
                if row["name"] in ("getegid", "geteuid")}
        self.assertEqual(set(pids), {"main", "geteuid"})
        self.assertNotEqual(pids["main"], pids["geteuid"])  # of the parent, of the child

    def test_text_and_csv(self):
        with tempfile.TemporaryDirectory() as folder:
            for form in ("text", "csv", "ndjson"):
                finished = overdue("syscalls", "--by", "library,caller", "-f", form, "-o",
                                   f"{folder}/{form}", "--", workload("library_calls"), 2)
                self.assertEqual(finished.status, 0, finished)
            with open(f"{folder}/text") as file:
                text = file.read()
            self.assertRegex(text, r"LIBRARY +CALLER +SYSCALL +CALLS")
            self.assertRegex(text, r"libc\.so\.6 +getpgrp +getpgrp +14 ")
            with open(f"{folder}/csv") as file:
                rows = list(csv.DictReader(line for line in file if not line.startswith("#")))
            self.assertIn((LIBC, "getpgrp", "getpgrp", "14"),
                          [(row["library"], row["caller"], row["name"], row["calls"]) for row in rows])
            with open(f"{folder}/ndjson") as file:
                report = next(line for line in map(json.loads, file) if line["type"] == "report")
            self.assertEqual(by_caller(report)[(LIBC, "getpgrp", "getpgrp")], 14)

    def test_discover(self):
        finished = overdue("syscalls", "--discover", "--by", "caller", "-f", "json", "-o", "/dev/stdout",
                           "--", workload("library_calls"), 2)
        names = json.loads(finished.out)["names"]
        self.assertIn({"name": "getpgrp", "library": LIBC, "caller": "getpgrp"}, names)
        self.assertIn({"name": "write", "library": LIBC, "caller": "fprintf"}, names)
        self.assertEqual(len(names), len({tuple(sorted(name.items())) for name in names}))
        finished = overdue("syscalls", "--discover", "--by", "caller", "--", workload("library_calls"), 2)
        self.assertRegex(finished.err, r"\nwrite +fprintf \(libc\.so\.6\)\n")

    def test_saved(self):
        with tempfile.TemporaryDirectory() as folder:
            live, _ = syscalls_report("--by", "library,caller", "--save", f"{folder}/x.odt", "--",
                                      workload("library_calls"), 2)
            again = json.loads(overdue("report", f"{folder}/x.odt", "--by", "library,caller", "-f",
                                       "json").out)
            self.assertEqual(by_caller(again), by_caller(live))
            plain = json.loads(overdue("report", f"{folder}/x.odt", "-f", "json").out)
            self.assertEqual(counts(plain), counts(live))
            overdue("record", "-q", "-o", f"{folder}/y.odt", "--", workload("library_calls"), 2)
            refused = overdue("report", f"{folder}/y.odt", "--by", "caller")
            self.assertEqual(refused.status, 1, refused)
            self.assertIn("does not say what caused its calls", refused.err)

    def test_what_does_not_go_together(self):
        for options in (("--calls", "--by", "caller"), ("--discover", "--by", "process,caller")):
            refused = overdue("syscalls", *options, "--", "true")
            self.assertEqual(refused.status, 2, refused)
        refused = overdue("syscalls", "--by", "caller", "--user-stack-bytes", "1000000", "-a")
        self.assertEqual(refused.status, 2, refused)


if __name__ == "__main__":
    main()
