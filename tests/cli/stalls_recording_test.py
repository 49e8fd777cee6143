#!/usr/bin/python3
"""Recorded stalls: `report` shows the file as the run was shown; names may come later."""
import json
import os
import shutil
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (NOBODY, OVERDUE, FolderTest, main, overdue, read_ndjson, run,
                          workload)


class StallsRecording(FolderTest):
    def live(self, *options):
        report = f"{self.folder}/live"
        finished = overdue("stalls", "-T", "5ms", "--save", self.file, *options, "-o", report,
                           "--", workload("lock-demo"))
        self.assertEqual(finished.status, 0, finished)
        with open(report, encoding="utf-8") as file:
            return file.read()

    def report(self, *options):
        finished = overdue("report", self.file, *options)
        self.assertEqual(finished.status, 0, finished)
        return finished.utf8

    def test_report_is_the_live_one(self):
        for form in ("text", "ndjson"):
            with self.subTest(form=form):
                live = self.live("-f", form)
                self.assertIn("pthread_mutex_lock", live)
                self.assertEqual(self.report("-f", form), live)

    def test_without_privileges_as_anybody(self):
        live = self.live("-f", "ndjson")
        os.chmod(self.file, 0o644)
        ours = shutil.copy(OVERDUE, f"{self.folder}/overdue")
        os.chmod(ours, 0o755)
        shown = run([*NOBODY, ours, "report", self.file, "-f", "ndjson"], cwd="/")
        self.assertEqual(shown.status, 0, shown)
        self.assertEqual(shown.utf8, live)

    def test_calls_in_it_are_still_calls(self):
        self.live()
        table = self.report("--view", "summary")
        self.assertIn("futex", table)
        self.assertIn("clock_nanosleep", table)

    def frames(self, path):
        """The frames of all stalls, without calls that return to no stack or are over. Such calls
        may be late on a busy machine."""
        endings = ("execve", "exit", "exit_group")
        return [frame for line in read_ndjson(path)
                if line["type"] == "stall" and line["name"] not in endings and "way_back" not in line
                for frame in line["user_stack"]]

    def test_names_may_come_later(self):
        self.live("--no-resolve", "-f", "ndjson")
        raw = self.frames(f"{self.folder}/live")
        self.assertTrue(raw)
        for frame in raw:
            self.assertNotIn("name", {key for key, value in frame.items() if value})
            self.assertTrue(frame["module"])
        ours = [frame for frame in raw if frame["module"].endswith("/lock-demo")]
        self.assertTrue(ours)
        self.assertTrue(all(frame["build_id"] for frame in ours))
        self.report("-f", "ndjson", "-o", f"{self.folder}/named")
        names = {frame.get("name") for frame in self.frames(f"{self.folder}/named")}
        self.assertLessEqual({"wait_for_the_lock", "run_worker"}, names)

    def test_another_build_names_nothing(self):
        """A file that replaced the measured one must not give names."""
        program = f"{self.folder}/program"
        with open(workload("lock-demo"), "rb") as source, open(program, "wb") as copy:
            copy.write(source.read())
        os.chmod(program, 0o755)
        finished = overdue("stalls", "-T", "5ms", "--no-resolve", "--save", self.file, "-o",
                           "/dev/null", "--", program)
        self.assertEqual(finished.status, 0, finished)
        with open("/bin/true", "rb") as source, open(program, "wb") as copy:
            copy.write(source.read())
        self.report("-f", "ndjson", "-o", f"{self.folder}/named")
        for frame in self.frames(f"{self.folder}/named"):
            if frame["module"] == program:
                self.assertFalse(frame.get("name"), frame)

    def test_names_from_a_directory(self):
        """The measured file is gone; another folder has the file, and one of another build."""
        program = f"{self.folder}/program"
        shutil.copy(workload("lock-demo"), program)
        finished = overdue("stalls", "-T", "5ms", "--no-resolve", "--save", self.file, "-o", "/dev/null", "--", program)
        self.assertEqual(finished.status, 0, finished)
        os.remove(program)

        def names(*options):
            self.report("-f", "ndjson", "-o", f"{self.folder}/named", *options)
            return {frame["name"] for frame in self.frames(f"{self.folder}/named")
                    if frame["module"] == program and frame.get("name")}
        self.assertEqual(names(), set())
        for place in (f"{self.folder}/symbols/program", f"{self.folder}/symbols{program}"):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            shutil.copy("/bin/true", place)
            self.assertEqual(names("--symbols", f"{self.folder}/symbols"), set())
            shutil.copy(workload("lock-demo"), place)
            self.assertLessEqual({"wait_for_the_lock", "run_worker"}, names("--symbols", f"{self.folder}/symbols"))
            os.remove(place)
        self.assertEqual(overdue("report", self.file, "--symbols", f"{self.folder}/none").status, 2)

    def test_a_threshold_may_become_longer_afterwards(self):
        self.live()
        def stalls(*options):
            lines = [json.loads(line) for line in self.report("--idle", "-f", "ndjson", *options).splitlines()]
            return [line for line in lines if line["type"] == "stall"]
        latencies = sorted(stall["latency_ns"] for stall in stalls())
        self.assertGreater(len(latencies), 2)
        middle = latencies[len(latencies) // 2]
        fewer = stalls("-T", f"{middle}ns")
        self.assertEqual(sorted(stall["latency_ns"] for stall in fewer), [ns for ns in latencies if ns >= middle])
        self.assertEqual({stall["threshold_ns"] for stall in fewer}, {middle})
        refused = overdue("report", self.file, "-T", "1ms")
        self.assertEqual(refused.status, 2, refused)
        self.assertIn("the recording has no syscall that took less than 5.00ms", refused.err)
        refused = overdue("report", self.file, "-T", "10ms", "--view", "summary")
        self.assertEqual(refused.status, 2, refused)

    def test_what_report_shows_can_be_narrowed(self):
        self.live()
        under = [json.loads(line) for line in
                 self.report("--idle", "-f", "ndjson", "--keep-under", "hold_the_lock").splitlines()]
        stalls = [line for line in under if line["type"] == "stall"]
        self.assertTrue(stalls)
        for stall in stalls:
            self.assertEqual(stall["comm"], "holder")
        self.report("--idle", "--flame", f"{self.folder}/f.folded")
        with open(f"{self.folder}/f.folded", encoding="utf-8") as folded:
            text = folded.read()
        self.assertIn("hold_the_lock;", text)
        self.assertIn("waiter-1;", text)

    def test_names_are_needed_to_choose_by_name(self):
        finished = overdue("stalls", "-T", "5ms", "--no-resolve", "--keep-under", "main", "--",
                           workload("lock-demo"))
        self.assertEqual(finished.status, 2)
        self.assertIn("overdue report", finished.err)


if __name__ == "__main__":
    main()
