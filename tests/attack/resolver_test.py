#!/usr/bin/python3
"""The resolver, the process that reads programs' files: dead, silent, or gone for good."""
import contextlib
import json
import os
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, Live, eventually, main, require_root, wait_until_measuring

# Late a hundred times a second in the C library, so that each finding has a stack.
SLEEPER = "import time\nwhile True: time.sleep(0.01)"


def children(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(child) for child in file.read().split()]
    return []


def resolver(pid):
    """(The process that makes resolvers, the resolver) of a measuring process."""
    for maker in children(pid):
        for child in children(maker):
            return maker, child
    return None


def seconds(report):
    return report["duration_ns"] / 1e9


class Resolver(unittest.TestCase):
    def setUp(self):
        require_root()
        self.program = self.enterContext(Live("/usr/bin/python3", "-c", SLEEPER))

    def stalls(self, *options):
        """Measures the sleeper. The rings hold its stacks of about a second."""
        return Live(OVERDUE, "stalls", "-v", "--idle", "-T", "5ms", "-p", self.program.pid, "--buffer", "1M", "-f", "ndjson",
                    *options)

    def finished(self, live):
        finished = live.finish(40)
        self.assertEqual(finished.status, 0, finished)
        lines = [json.loads(line) for line in finished.out.splitlines()]
        by_type = {line["type"]: line for line in lines}
        return [line for line in lines if line["type"] == "stall"], by_type["receipt"], by_type["report"]

    def test_silence_loses_no_record_and_the_measurement_ends(self):
        """Overdue waits 10 s for the resolver, but reads the rings meanwhile."""
        with self.stalls("-d", "4s") as live:
            wait_until_measuring(live)
            _, child = eventually(lambda: resolver(live.pid), 20, "no resolver")
            os.kill(child, signal.SIGSTOP)
            stalls, receipt, report = self.finished(live)
        self.assertEqual(receipt["lost"], 0, receipt)
        self.assertGreater(len(stalls), 200)
        self.assertLess(seconds(report), 5, report)
        self.assertTrue([note for note in report["notes"] if "gave up" in note], report)

    def test_a_signal_ends_it_in_the_silence(self):
        with self.stalls() as live:
            wait_until_measuring(live)
            _, child = eventually(lambda: resolver(live.pid), 20, "no resolver")
            os.kill(child, signal.SIGSTOP)
            begin = time.monotonic()
            time.sleep(1)
            live.signal(signal.SIGINT)
            _, receipt, report = self.finished(live)
            waited = time.monotonic() - begin
        self.assertEqual(receipt["lost"], 0, receipt)
        self.assertLess(seconds(report), waited - 3, "it measured on while it waited")

    def test_death_is_survived(self):
        with self.stalls("-d", "3s") as live:
            wait_until_measuring(live)
            for _ in range(3):
                _, child = eventually(lambda: resolver(live.pid), 20, "no resolver")
                os.kill(child, signal.SIGKILL)
                eventually(lambda: (resolver(live.pid) or (0, child))[1] != child, 20, "no new one")
            stalls, receipt, _ = self.finished(live)
        self.assertEqual(receipt["lost"], 0, receipt)
        named = [stall for stall in stalls if any(frame.get("name") for frame in stall["user_stack"])]
        self.assertGreater(len(named), len(stalls) * 9 // 10, "names are gone")

    def test_silence_of_who_makes_them_is_survived(self):
        """Overdue waits for that process at the end, after the measurement."""
        for output, status in (("/dev/null", 0), ("/dev/full", 1)):
            with self.subTest(output=output), self.stalls("-d", "2s", "-o", output) as live:
                wait_until_measuring(live)
                maker, _ = eventually(lambda pid=live.pid: resolver(pid), 20, "no resolver")
                os.kill(maker, signal.SIGSTOP)
                finished = live.finish(40)
                self.assertEqual(finished.status, status, finished)

    def test_without_anybody_to_make_one_frames_have_no_names(self):
        with self.stalls("-d", "2s") as live:
            wait_until_measuring(live)
            maker, _ = eventually(lambda: resolver(live.pid), 20, "no resolver")
            os.kill(maker, signal.SIGKILL)
            stalls, receipt, report = self.finished(live)
        self.assertEqual(receipt["lost"], 0, receipt)
        self.assertGreater(len(stalls), 100)
        self.assertTrue([note for note in report["notes"] if "gave up" in note], report)


if __name__ == "__main__":
    main()
