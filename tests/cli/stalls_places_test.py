#!/usr/bin/python3
"""`overdue stalls`: equal waits of a call add up by their place, however short they are."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, workload
from stall_findings import Case, functions, stalls, text_of, described

LATE = ("-T", "100ms", "-e", "write", "--first", 0)


class ShortWaits(Case):
    def test_have_one_sum(self):
        """Each wait takes a fiftieth of the threshold; together they are the call."""
        seen = stalls(*LATE, "--", workload("short_waits"))
        self.assert_sound(seen)
        (written,) = seen.events("written")
        (late,) = [one for one in seen.named("write") if one["tid"] == written["tid"]]
        place = late["places"][0]
        self.assertIn("pipe_write", " ".join(functions(place["kernel_stack"])), described(late))
        blocked_ns = late["breakdown"]["blocked_ns"]
        self.assertGreaterEqual(blocked_ns, 0.6 * late["latency_ns"], described(late))  # the reader may be late itself
        # Until the call is old, its waits are not added up.
        self.assertGreaterEqual(place["blocked_ns"], 0.85 * blocked_ns, described(late))
        self.assertLessEqual(sum(one["blocked_ns"] for one in late["places"]), blocked_ns, described(late))
        self.assertGreaterEqual(place["count"], 0.8 * written["pages"], described(late))
        self.assertGreaterEqual(place["ns"], place["blocked_ns"])
        self.assertGreaterEqual(place["longest_ns"], place["ns"] / place["count"])

    def test_are_said_in_a_line(self):
        text, _ = text_of(*LATE, "--", workload("short_waits"))
        self.assertRegex(text, r"  blocked +\d+ms  1\d\d times, [\d.]+ms at most: .*pipe_write, the longest was "
                               r"woken by slow-reader\[\d+\]\n", text)
        self.assertNotIn("shorter ones", text)


if __name__ == "__main__":
    main()
