#!/usr/bin/python3
"""`overdue stalls`: every long wait has a place, whenever its call is looked at: while the call is open, when it ends
in a pause, and when it ends with the session."""
import json
import os
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, Live, attached, eventually, main, run
from stall_findings import MS, Case, blocked_ns, described

WRITES = "-f", "ndjson", "--idle", "-T", "10ms", "-e", "write", "-n", "slow-writer"

# Writers to pipes that hold one page, for readers that take a page after each nap.
WRITERS = """
import fcntl, os, sys, time
pairs, pages, nap_s, calls = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
parent = os.getpid()
for _ in range(pairs):
    ends = os.pipe()
    fcntl.fcntl(ends[1], fcntl.F_SETPIPE_SZ, 4096)
    if not os.fork():
        os.close(ends[1])
        while os.read(ends[0], 4096):
            time.sleep(nap_s)
        os._exit(0)
    if not os.fork():
        os.close(ends[0])
        with open("/proc/self/comm", "w") as name:
            name.write("slow-writer")
        for _ in range(calls):
            if os.getppid() == parent:
                os.write(ends[1], bytes(pages * 4096))
        os._exit(0)
    os.close(ends[0])
    os.close(ends[1])
print("begun", flush=True)
for _ in range(2 * pairs):
    os.wait()
"""


def writers(pairs, pages, nap, calls):
    return sys.executable, "-c", WRITERS, pairs, pages, nap, calls


class LongWaits(Case):
    def assert_have_places(self, findings, longest_ms):
        """Short waits have no records; together they are shorter than `longest_ms`. A hardened kernel may hide the
        switch of one longer wait, which then has none either."""
        for finding in findings:
            waits = [blocked_ns(wait) for wait in finding["waits"]]
            recorded_ns = sum(waits)
            self.assertLessEqual(finding["breakdown"]["blocked_ns"] - recorded_ns,
                                 longest_ms * MS + max(waits, default=0), described(finding))
            in_places_ns = sum(place["blocked_ns"] for place in finding["places"])
            self.assertGreaterEqual(in_places_ns, recorded_ns - MS, described(finding))

    def findings(self, out, kind):
        found = [line for line in map(json.loads, out.splitlines()) if line["type"] == kind]
        return [line for line in found if line["name"] == "write"]

    def test_of_a_call_that_is_open(self):
        """A wait may have ended just before Overdue looks at the call."""
        with attached("stalls", "--timeout", "50ms", *WRITES) as live:
            made = run(list(map(str, writers(8, 60, 0.004, 4))))
            self.assertEqual(made.status, 0, made)
            live.signal(signal.SIGINT)
            finished = live.finish()
        hangs = self.findings(finished.out, "hang")
        self.assertGreaterEqual(len(hangs), 16, finished)
        self.assert_have_places(hangs, 3)

    def test_of_a_call_that_ends_in_a_pause(self):
        """The call began before the pause, so its end counts."""
        with attached("stalls", *WRITES) as live:
            with Live(*writers(4, 4, 0.1, 1)) as program:
                eventually(lambda: "begun" in program.out())
                time.sleep(0.05)
                self.assertEqual(run([OVERDUE, "ctl", "--session", str(live.pid), "pause"]).status, 0)
                self.assertEqual(program.finish().status, 0)
            live.signal(signal.SIGINT)
            finished = live.finish()
        found = self.findings(finished.out, "stall")
        self.assertEqual(len([one for one in found if one["latency_ns"] >= 150 * MS]), 4, finished)
        self.assert_have_places(found, 5)

    def test_of_a_call_that_ends_with_the_session(self):
        """Calls go on to end while Overdue finds out which are open."""
        for _ in range(3):
            with Live(*writers(12, 3, 0.02, 1000)) as program:
                eventually(lambda: "begun" in program.out())
                with attached("stalls", *WRITES) as live:
                    live.signal(signal.SIGINT)
                    finished = live.finish()
            found = self.findings(finished.out, "stall")
            self.assert_have_places(found, 5)


if __name__ == "__main__":
    main()
