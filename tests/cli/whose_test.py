#!/usr/bin/python3
"""`--by name`, `cgroup` and `parent`: short-lived processes are counted and added up, in every command."""
import json
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import FolderTest, attached, main, overdue, require_root, run, table_of, tool, workload

STORM = 300
HIDDEN = 4  # this kernel hides one event of the scheduler in a thousand
COUNT = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"
PARENT = "fork_exec_storm"


def storm(script=":", times=STORM):
    """A program that starts as many shells, one by one."""
    return "--", workload(PARENT), times, tool("sh"), "-c", script


def report(command, *arguments):
    finished = overdue(command, "-f", "json", "--stdout", *arguments)
    if finished.status != 0:
        raise AssertionError(finished)
    return json.loads(finished.out[finished.out.index("{"):])


def own_cgroups():
    with open("/proc/self/cgroup", encoding="ascii") as file:
        return {line.rstrip("\n").split(":", 2)[2] for line in file}


class Whose(FolderTest):
    def setUp(self):
        super().setUp()
        require_root()

    def the_shells(self, rows):
        [row] = [row for row in rows if row.get("comm", row.get("name")) == "sh"]
        self.assertEqual(row["parent"]["comm"], PARENT)
        self.assertLessEqual(row["processes"], STORM)
        self.assertGreaterEqual(row["processes"], STORM - HIDDEN)
        return row

    def test_calls_of_short_processes_are_all_counted(self):
        shown = report("syscalls", "--by", "parent", "-e", "exit_group,getpid,execve", *storm())
        ends = [row for row in shown["syscalls"] if row["name"] == "exit_group"]
        self.assertEqual({(row["comm"], row["calls"], row["processes"]) for row in ends},
                         {("sh", STORM, STORM), (PARENT, 1, 1)}, shown)
        self.assertEqual(sum(row["calls"] for row in shown["syscalls"]), shown["receipt"]["events"])
        self.assertEqual(shown["by"], ["syscall", "parent"])

    def test_time_of_short_processes_adds_up(self):
        shown = report("offcpu", "--by", "parent", *storm())
        row = self.the_shells(shown["threads"])
        self.assertNotIn("pid", row)
        for row in shown["threads"]:
            self.assertEqual(row["oncpu_ns"] + row["offcpu_ns"] + row["unknown_ns"], row["wall_ns"], row)
        self.assertEqual(sum(row["threads"] for row in shown["threads"]),
                         sum(row["processes"] for row in shown["threads"]))
        text = overdue("offcpu", "--by", "parent", "--stdout", *storm(times=3)).out.encode("latin-1").decode()
        self.assertRegex(text, r"(?m)^sh ×3 from fork_exec_storm\[\d+\] ")

    def test_a_process_that_only_starts_another_is_no_parent(self):
        shown = report("offcpu", "--by", "parent", *storm(f"{tool('true')}; :", 100))
        [row] = [row for row in shown["threads"] if row["comm"] == "true"]
        self.assertEqual(row["parent"]["comm"], PARENT)
        self.assertGreaterEqual(row["processes"], 100 - HIDDEN)

    def test_samples_of_short_processes_add_up(self):
        for by in ("name", "parent", "cgroup"):
            with self.subTest(by=by):
                shown = report("profile", "--by", by, *storm(COUNT, 100))
                rows = shown["threads"]
                self.assertEqual(sum(row["samples"] for row in rows), shown["profile"]["samples"])
                if by == "cgroup":
                    [row] = rows
                    self.assertIn(row["cgroup"], own_cgroups())
                else:
                    [row] = [row for row in rows if row["comm"] == "sh"]
                    self.assertGreater(row["samples"], shown["profile"]["samples"] / 2)
                self.assertGreater(row["processes"], 10)
                self.assertNotIn("tid", row)
                self.assertLessEqual(len({stack["root"] for stack in shown["stacks"]}), len(rows))

    def test_why_has_rows_by_each_word(self):
        for by in ("group", "thread", "process", "name", "cgroup", "parent"):
            with self.subTest(by=by):
                shown = report("why", "--by", by, *storm())
                self.assertEqual(shown["by"], by)
                for group in shown["groups"]:
                    self.assertEqual(sum(group["parts"].values()), group["wall_ns"], group)
                self.assertGreaterEqual(sum(group["threads"] for group in shown["groups"]), STORM + 1 - HIDDEN)
                if by == "parent":
                    self.the_shells(shown["groups"])
                if by == "cgroup":
                    self.assertIn(shown["groups"][0]["name"], own_cgroups())

    def test_noise_of_short_threads_adds_up(self):
        with attached("osnoise", "--by", "name", "--cpu", "0", "-f", "json", "-p", "100ms") as live:
            finished = run(["taskset", "-c", "0", *map(str, storm(times=100)[1:])])
            live.signal(signal.SIGINT)
            shown = json.loads(live.finish().out)
        self.assertEqual(finished.status, 0, finished)
        [cpu] = shown["cpus"]
        self.assertEqual(sum(part["ns"] for part in cpu["parts"]) + cpu["residual_ns"], cpu["noise_ns"])
        [shells] = [part for part in cpu["parts"] if part["name"] == "sh"]
        self.assertGreater(shells["threads"], 50)  # the others ran while the busy thread slept
        self.assertLessEqual(shells["threads"], 100)
        self.assertNotIn("tid", shells)

    def test_a_recording_has_the_same_rows(self):
        file = f"{self.folder}/storm.odt"
        for command in ("syscalls", "offcpu", "profile", "why"):
            for by in ("parent", "cgroup", "name"):
                with self.subTest(command=command, by=by):
                    live = report(command, "--by", by, "--save", file, *storm(COUNT, 20))
                    again = json.loads(overdue("report", file, "--by", by, "-f", "json").out)
                    key = {"syscalls": "syscalls", "why": "groups"}.get(command, "threads")
                    self.assertEqual(again[key], live[key])
                    rows = table_of(overdue("report", file, "--by", by, "-f", "csv").out)
                    if command != "why":
                        self.assertEqual(len(rows), len(live[key]))
        other = json.loads(overdue("report", file, "--by", "process", "-f", "json").out)
        self.assertEqual(other["by"], "process")

    def test_reports_fit_the_schema(self):
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        validator = jsonschema.Draft202012Validator(json.loads(overdue("schema").out.encode("latin-1")))
        for command in ("syscalls", "offcpu", "profile", "why"):
            for by in ("parent", "cgroup"):
                with self.subTest(command=command, by=by):
                    shown = report(command, "--by", by, *storm(COUNT, 20))
                    self.assertFalse([error.message[:300] for error in validator.iter_errors(shown)])

    def test_what_a_recording_does_not_have_is_refused(self):
        file = f"{self.folder}/calls.odt"
        self.assertEqual(overdue("record", "-o", file, "--", tool("true")).status, 0)
        refused = overdue("report", file, "--by", "parent")
        self.assertEqual(refused.status, 1, refused)
        self.assertIn("which processes started the others", refused.err)
        for command, word, hint in (("offcpu", "parnt", "'parent'"), ("why", "cgroups", "'cgroup'"),
                                    ("profile", "process", "thread, name"), ("syscalls", "nme", "'name'"),
                                    ("osnoise", "parent", "thread, name")):
            with self.subTest(command=command):
                refused = overdue(command, "--by", word, "-d", "100ms", *([] if command == "osnoise" else ["-a"]))
                self.assertEqual(refused.status, 2, refused)
                self.assertIn("--by", refused.err)
                self.assertIn(hint, refused.err)


if __name__ == "__main__":
    main()
