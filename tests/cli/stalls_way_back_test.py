#!/usr/bin/python3
"""`overdue stalls`: what keeps a thread between the end of a call and its program is late, too."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, workload
from stall_findings import Case, all_told, longest_wait, stalls, text_of, told

MS = 1_000_000
TIMES = 4


class WaysBack(Case):
    def ways_back(self, how, name, means):
        """Each call of the program that took long by its clock has a finding that says what kept it."""
        seen = stalls("-T", "60ms", "-e", name, "--first", 0, "--", workload("way_back"), how, TIMES)
        self.assert_sound(seen)
        calls = [call for call in seen.events("call") if call["took_ns"] >= 120 * MS]
        self.assertGreaterEqual(len(calls), TIMES - 1, seen.finished)
        for call in calls:
            found = [one for one in seen.named(name) if one["tid"] == call["tid"] and one.get("way_back")
                     and call["begin_ns"] <= one["time_ns"] <= call["begin_ns"] + call["took_ns"]]
            self.assertEqual(len(found), 1, f"{call}\n{all_told(seen.found)}")
            (late,) = found
            self.assertGreaterEqual(late["latency_ns"], 100 * MS, told(late))
            self.assertLessEqual(late["latency_ns"], call["took_ns"], told(late))
            wait = longest_wait(late)
            self.assertEqual(wait["means"], means, told(late))
            self.assertEqual(sum(late["breakdown"].values()), late["latency_ns"], told(late))
            self.assertGreaterEqual(late["breakdown"]["blocked_ns"], 100 * MS, told(late))
            self.assertNotIn("args", late)
        return seen

    def test_a_signal_stops_a_reader(self):
        seen = self.ways_back("stopped", "read", "stopped")
        for one in seen.named("read"):
            if one.get("way_back"):
                self.assertEqual(longest_wait(one)["waker"]["comm"], "way_back", told(one))  # who continued it

    def test_a_thread_stops_itself(self):
        self.ways_back("self", "kill", "stopped")

    def test_a_tracer_holds_it(self):
        self.ways_back("traced", "read", "traced")

    def test_text(self):
        text, _ = text_of("-T", "60ms", "-e", "kill", "--", workload("way_back"), "self", 1)
        self.assertRegex(text, r"kill\(\) on its way back to the program  reader\[\d+\]  1\d\dms")
        self.assertRegex(text, r"blocked +1\d\dms .*do_signal_stop, stopped by a signal, woken by way_back\[\d+\]")

    def test_only_calls_that_are_looked_at(self):
        seen = stalls("-T", "60ms", "-e", "write", "--first", 0, "--", workload("way_back"), "self", 1)
        self.assertEqual(seen.found, [], all_told(seen.found))


if __name__ == "__main__":
    main()
