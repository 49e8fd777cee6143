#!/usr/bin/python3
"""`--by name`, `cgroup` and `parent`: short-lived processes are counted and added up, in every command."""
import json
import os
import signal
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import FolderTest, attached, main, overdue, require_root, run, table_of, tool, workload

SOURCE = os.environ.get("OVERDUE_SOURCE", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
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


def schema_errors():
    """What lists the errors of a report by our schema; None if python3-jsonschema is not installed."""
    try:
        import jsonschema
    except ImportError:
        return None
    validator = jsonschema.Draft202012Validator(json.loads(overdue("schema").out.encode("latin-1")))
    return lambda shown: [error.message[:300] for error in validator.iter_errors(shown)]


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
        text = overdue("offcpu", "--by", "parent", "--stdout", *storm(times=3)).utf8
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

    def noise(self, by, times, *options):
        """The noise of a storm on CPU 0, whose parent began before; its pid."""
        script = 'read -r go; exec "$@"'
        storm_here = ["taskset", "-c", "0", tool("sh"), "-c", script, "sh", *map(str, storm(times=times)[1:])]
        with subprocess.Popen(storm_here, stdin=subprocess.PIPE) as parent:
            with attached("osnoise", "--by", by, "--cpu", "0", "-f", "json", "-p", "100ms", *options) as live:
                parent.communicate(b"\n", timeout=60)
                live.signal(signal.SIGINT)
                shown = json.loads(live.finish().out)
        self.assertEqual(parent.returncode, 0)
        [cpu] = shown["cpus"]
        self.assertEqual(sum(part["ns"] for part in cpu["parts"]) + cpu["residual_ns"], cpu["noise_ns"])
        return shown, parent.pid

    def test_noise_of_short_threads_adds_up(self):
        shown, _ = self.noise("name", 100)
        [shells] = [part for part in shown["cpus"][0]["parts"] if part["name"] == "sh"]
        self.assertGreater(shells["threads"], 50)  # the others ran while the busy thread slept
        self.assertLessEqual(shells["threads"], 101)  # with the one that became the parent
        self.assertNotIn("tid", shells)

    def test_noise_of_short_processes_adds_up(self):
        file = f"{self.folder}/noise.odt"
        for by in ("parent", "cgroup"):
            with self.subTest(by=by):
                shown, pid = self.noise(by, 100, "--save", file)
                parts = [part for part in shown["cpus"][0]["parts"] if part["kind"] == "thread"]
                if by == "parent":
                    [row] = [part for part in parts if part["name"] == "sh" and part["parent"]["pid"] == pid]
                    self.assertEqual(row["parent"]["comm"], PARENT)
                    self.assertLessEqual(row["processes"], 100)
                else:
                    [row] = [part for part in parts if part["name"] in own_cgroups()]
                    self.assertEqual(row["cgroup"], row["name"])
                self.assertGreater(row["processes"], 50)
                self.assertFalse({"tid", "threads"} & set(row))
                self.assertLessEqual(len([part for part in parts if part["name"] == "(kernel)"]), 1)
                self.assertFalse([part for part in parts if part.get("parent", {}).get("comm") == "kthreadd"])
                again = json.loads(overdue("report", file, "-f", "json").out)
                self.assertEqual(again["cpus"], shown["cpus"])
        text = overdue("report", file, "--by", "parent").utf8
        self.assertRegex(text, r"(?m)^  thread +sh ×\d+ from fork_exec_storm\[\d+\] ")
        by_thread = json.loads(overdue("report", file, "--by", "thread", "-f", "json").out)
        self.assertGreater(len(by_thread["cpus"][0]["parts"]), 50)

    def test_a_storm_has_the_run_queue_waits_of_its_victim(self):
        file = f"{self.folder}/victim.odt"
        script = f'{workload("burns")} 1 4000 >/dev/null & exec "$@"'
        beside = ("--", tool("taskset"), "-c", "0", tool("sh"), "-c", script, "sh", *storm(COUNT, 50)[1:])
        for by in ("parent", "name"):
            with self.subTest(by=by):
                shown = report("why", "--by", by, "--save", file, *beside)
                waits = {}
                for row in shown["groups"]:
                    others = row["others_waits"]
                    waits.setdefault(row["name"], 0)
                    waits[row["name"]] += row["parts"]["runqueue_ns"] + row["parts"]["preempted_ns"]
                    self.assertLessEqual(others["behind_ns"] + others["unknown_ns"], others["total_ns"], row)
                for row in shown["groups"]:
                    rest = [other for other in shown["groups"] if other is not row]
                    self.assertEqual(row["others_waits"]["total_ns"], sum(
                        other["parts"]["runqueue_ns"] + other["parts"]["preempted_ns"] for other in rest))
                self.assertLessEqual(sum(row["others_waits"]["behind_ns"] for row in shown["groups"]),
                                     sum(waits.values()) * 1.01)
                [shells] = [row for row in shown["groups"] if row["name"] == "sh"]
                self.assertGreater(waits["burner-0" if by == "name" else "burns"], 100_000_000, shown["groups"])
                # Whenever a shell had the CPU, the victim waited for it.
                behind, cpu_ns = shells["others_waits"], shells["parts"]["oncpu_ns"]
                self.assertGreater(behind["behind_ns"] + behind["unknown_ns"], 0.7 * cpu_ns, shown["groups"])
                self.assertGreater(behind["behind_ns"], 0.4 * cpu_ns, shown["groups"])
                self.assertLess(behind["behind_ns"], 1.3 * cpu_ns + waits[PARENT], shown["groups"])
                again = json.loads(overdue("report", file, "-f", "json").out)
                self.assertEqual(again["groups"], shown["groups"])
        text = overdue("report", file, "--by", "parent").utf8
        row = next(line for line in text.split("\n  ") if line.startswith("sh ×"))
        self.assertRegex(" ".join(row.split()), r"^sh ×\d+ from fork_exec_storm\[\d+\] .*; [0-9.]+m?s CPU, "
                                                r"\d+ % of others' run-queue waits")
        table = overdue("report", file, "--by", "parent", "-f", "csv").utf8
        self.assertRegex(table, r"(?m)^# others_waits: behind_ns=\d+ total_ns=\d+ unknown_ns=\d+ row=sh ×")

    def test_a_recording_has_the_same_rows(self):
        file, errors = f"{self.folder}/storm.odt", schema_errors()
        for command in ("syscalls", "offcpu", "profile", "why"):
            for by in ("parent", "cgroup", "name"):
                with self.subTest(command=command, by=by):
                    live = report(command, "--by", by, "--save", file, *storm(COUNT, 20))
                    self.assertFalse(errors and errors(live))
                    again = json.loads(overdue("report", file, "--by", by, "-f", "json").out)
                    key = {"syscalls": "syscalls", "why": "groups"}.get(command, "threads")
                    self.assertEqual(again[key], live[key])
                    rows = table_of(overdue("report", file, "--by", by, "-f", "csv").out)
                    if command != "why":
                        self.assertEqual(len(rows), len(live[key]))
        other = json.loads(overdue("report", file, "--by", "process", "-f", "json").out)
        self.assertEqual(other["by"], "process")

    def test_noise_fits_the_schema(self):
        errors = schema_errors()
        if not errors:
            self.skipTest("python3-jsonschema is not installed")
        for by in ("parent", "cgroup"):
            noise = overdue("osnoise", "--by", by, "-f", "json", "-d", "300ms", "-p", "50ms")
            self.assertEqual(errors(json.loads(noise.out)), [])

    def test_what_a_recording_does_not_have_is_refused(self):
        file = f"{self.folder}/calls.odt"
        self.assertEqual(overdue("record", "-o", file, "--", tool("true")).status, 0)
        refused = overdue("report", file, "--by", "parent")
        self.assertEqual(refused.status, 1, refused)
        self.assertIn("which processes started the others", refused.err)
        noise = f"{self.folder}/noise.odt"
        self.assertEqual(overdue("osnoise", "-d", "100ms", "-p", "50ms", "--save", noise).status, 0)
        self.assertEqual(overdue("report", noise, "--by", "parent").status, 0)
        old = os.path.join(SOURCE, "tests", "golden", "reports", "osnoise.odt")
        for by, what in (("parent", "which processes started the others"), ("cgroup", "which cgroups")):
            refused = overdue("report", old, "--by", by)
            self.assertEqual(refused.status, 1, refused)
            self.assertIn(what, refused.err)
        for command, word, hint in (("offcpu", "parnt", "'parent'"), ("why", "cgroups", "'cgroup'"),
                                    ("profile", "process", "thread, name"), ("syscalls", "nme", "'name'"),
                                    ("osnoise", "process", "thread, name")):
            with self.subTest(command=command):
                refused = overdue(command, "--by", word, "-d", "100ms", *([] if command == "osnoise" else ["-a"]))
                self.assertEqual(refused.status, 2, refused)
                self.assertIn("--by", refused.err)
                self.assertIn(hint, refused.err)


if __name__ == "__main__":
    main()
