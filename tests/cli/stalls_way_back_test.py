#!/usr/bin/python3
"""`overdue stalls`: a delay between the end of a call and the thread's program is late, too."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, eventually, main, overdue, run, workload
from stall_findings import Case, described_all, longest_wait, stalls, text_of, described

MS = 1_000_000
TIMES = 4


def has_task_work():
    """Whether threads can run our code on their way back to the program (Linux 6.18)."""
    answer = run([OVERDUE, "doctor", "--no-calibrate", "-f", "json"])
    return next(one["yes"] for one in json.loads(answer.out)["features"] if one["name"] == "task_work")


class Freezer:
    """A cgroup that can be frozen, of the version (1 or 2) that this machine has."""

    def __init__(self, path, file, words):
        self.path, self.file, self.words = path, os.path.join(path, file), words
        self.procs = os.path.join(path, "cgroup.procs")

    @classmethod
    def made(cls, test):
        for root, *how in (("/sys/fs/cgroup/freezer", "freezer.state", ("FROZEN", "THAWED")),
                           ("/sys/fs/cgroup", "cgroup.freeze", ("1", "0"))):
            group = cls(os.path.join(root, "overdue-way-back"), *how)
            try:
                os.mkdir(group.path)
            except OSError:
                continue
            test.addCleanup(eventually, group.is_removed)
            if os.path.exists(group.file):
                return group
        return test.skipTest("no cgroup that can be frozen")

    def is_removed(self):
        try:
            if os.path.exists(self.file):
                with open(self.file, "w", encoding="ascii") as file:
                    file.write(self.words[1])  # a frozen process cannot end
            os.rmdir(self.path)
        except OSError:
            return False
        return True


class WaysBack(Case):
    first_argument = {"read": "fd=3", "kill": "pid="}

    def ways_back(self, how, name, means, *arguments):
        """Each call that was long by the program's clock has a finding with the reason."""
        seen = stalls("-T", "60ms", "-e", name, "--first", 0, "--", workload("way_back"), how, TIMES, *arguments)
        self.assert_sound(seen)
        calls = [call for call in seen.events("call") if call["took_ns"] >= 120 * MS]
        self.assertGreaterEqual(len(calls), TIMES - 1, seen.finished)
        for call in calls:
            found = [one for one in seen.named(name) if one["tid"] == call["tid"] and one.get("way_back")
                     and call["begin_ns"] <= one["time_ns"] <= call["begin_ns"] + call["took_ns"]]
            self.assertEqual(len(found), 1, f"{call}\n{described_all(seen.found)}")
            (late,) = found
            self.assertGreaterEqual(late["latency_ns"], 100 * MS, described(late))
            self.assertLessEqual(late["latency_ns"], call["took_ns"], described(late))
            wait = longest_wait(late)
            self.assertEqual(wait["means"], means, described(late))
            self.assertEqual(sum(late["breakdown"].values()), late["latency_ns"], described(late))
            self.assertGreaterEqual(late["breakdown"]["blocked_ns"], 100 * MS, described(late))
            self.assertNotIn("ret", late)
            if has_task_work():  # the thread copies its arguments and its stack on that way
                self.assertIn(self.first_argument[name], late["args"][0], described(late))
                self.assertIn(name, [frame.get("name") for frame in late["user_stack"]], described(late))
        return seen

    def test_a_signal_stops_a_reader(self):
        seen = self.ways_back("stopped", "read", "stopped")
        for one in seen.named("read"):
            if one.get("way_back"):
                wait = longest_wait(one)
                self.assertEqual(wait["waker"]["comm"], "way_back", described(one))  # sent SIGCONT
                self.assertEqual((wait["stopped_by"]["signal"], wait["stopped_by"]["comm"]), ("SIGSTOP", "way_back"),
                                 described(one))

    def test_a_thread_stops_itself(self):
        seen = self.ways_back("self", "kill", "stopped")
        for one in seen.named("kill"):
            self.assertEqual(longest_wait(one)["stopped_by"]["tid"], one["tid"], described(one))

    def handled(self, how, times):
        """(Calls by the program's own account, findings with handlers). A call that waits long for
        its signal is a finding by itself."""
        seen = stalls("-T", "60ms", "-e", "read", "--first", 0, "--", workload("way_back"), how, times)
        self.assert_sound(seen)
        found = [one for one in seen.named("read") if one.get("way_back")]
        for one in found:
            self.assertEqual(one["handler"]["signal"], "SIGUSR1", described(one))
        return seen.events("call"), found

    def test_a_handler_runs_behind_it(self):
        calls, found = self.handled("handler", TIMES)
        self.assertEqual((len(calls), len(found)), (TIMES, TIMES), described_all(found))
        for call, late in zip(calls, found):
            self.assertLessEqual(late["latency_ns"], call["took_ns"], described(late))
            self.assertGreaterEqual(late["latency_ns"], 150 * MS, described(late))
            self.assertGreaterEqual(late["handler"]["ns"], 150 * MS, described(late))
            self.assertLessEqual(late["handler"]["ns"], late["latency_ns"], described(late))
            parts = late["breakdown"]
            self.assertEqual(sum(parts.values()), late["latency_ns"], described(late))
            self.assertLessEqual(parts["unknown_ns"], late["latency_ns"] / 50, described(late))
            self.assertGreaterEqual(parts["blocked_ns"], 50 * MS, described(late))
            self.assertRegex(late["args"][0], r"^fd=3<pipe \d+>$", described(late))
            self.assertEqual(late["error"], "EINTR", described(late))
            self.assertIn("read", [frame.get("name") for frame in late["user_stack"]], described(late))

    def test_a_handler_that_jumps_never_ends(self):
        calls, found = self.handled("jumps", 2 * TIMES)
        self.assertEqual((len(calls), len(found)), (TIMES, TIMES), described_all(found))
        for call, late in zip(calls, found):
            self.assertLessEqual(late["latency_ns"], call["took_ns"], described(late))
            self.assertGreaterEqual(late["handler"]["ns"], 150 * MS, described(late))

    def test_a_tracer_holds_it(self):
        """The tracer has detached when the wait ends: only the kernel could say who it was."""
        seen = self.ways_back("traced", "read", "traced")
        for one in seen.named("read"):
            if one.get("way_back"):
                tracer = longest_wait(one)["traced_by"]
                self.assertEqual((tracer["comm"], tracer["tid"]), ("way_back", longest_wait(one)["waker"]["tid"]),
                                 described(one))

    def test_the_text_names_the_tracer(self):
        text, _ = text_of("-T", "60ms", "-e", "read", "--", workload("way_back"), "traced", 1)
        self.assertRegex(text, r"blocked +1\d\dms .*, stopped by a tracer, way_back\[\d+\], woken by way_back\[\d+\]")

    def test_its_cgroup_is_frozen(self):
        group = Freezer.made(self)
        seen = self.ways_back("frozen", "read", "frozen", group.procs, group.file, *group.words)
        for one in seen.named("read"):
            if one.get("way_back"):
                self.assertEqual(longest_wait(one)["waker"]["comm"], "way_back", described(one))  # who thawed it

    def test_a_recording_says_the_same(self):
        for how in ("stopped", "handler"):
            with self.subTest(how), tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "saved.odt")
                live = stalls("-T", "60ms", "-e", "read", "--first", 0, "--save", path, "--", workload("way_back"), how, 2)
                lines = map(json.loads, overdue("report", "--view", "stalls", "-f", "ndjson", path).utf8.split("\n")[:-1])
                self.assertTrue(any(one.get("way_back") for one in live.found), described_all(live.found))
                self.assertEqual([line for line in lines if line["type"] == "stall"], live.found)

    def test_text(self):
        text, _ = text_of("-T", "60ms", "-e", "kill", "--", workload("way_back"), "self", 1)
        self.assertRegex(text, r"kill\(.*\) on its way back to the program  reader\[\d+\]  1\d\dms")
        self.assertRegex(text, r"blocked +1\d\dms .*do_signal_stop, stopped by SIGSTOP of reader\[\d+\], woken by way_back\[\d+\]")

    def test_only_calls_that_are_looked_at(self):
        seen = stalls("-T", "60ms", "-e", "write", "--first", 0, "--", workload("way_back"), "self", 1)
        self.assertEqual(seen.found, [], described_all(seen.found))


if __name__ == "__main__":
    main()
