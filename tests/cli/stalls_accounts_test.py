#!/usr/bin/python3
"""`overdue stalls`: the time of a lock's holder during a wait, and the threads that ran while a
thread was runnable, compared with the program's own accounts."""
import collections
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import SLOWER, main, workload
from stall_findings import Case, described_all, is_within, longest_wait, stalls, text_of, described

MS = 1_000_000


def begin_of(finding):
    return finding["time_ns"] - finding["latency_ns"]


class Holders(Case):
    def steps(self, how, times=6):
        """(The holder's step of the chain, its account, the finding) of each wait for the lock."""
        seen = stalls("-T", "30ms", "-e", "futex", "--first", 0, "--", workload("accounts"), "holder", how, times)
        self.assert_sound(seen)
        found = []
        for held in seen.events("held"):
            late = [one for one in self.with_wakers(seen.named("futex")) if one["tid"] != held["tid"]
                    and begin_of(one) < held["begin_ns"] and one["time_ns"] > held["end_ns"]
                    and one["waits"] and one["chain"] and one["chain"][0].get("tid") == held["tid"]]
            found += [(one["chain"][0], held, one) for one in late]
        self.assertGreater(len(found), times / 2, described_all(seen.found))
        for step, _, finding in found:
            self.assertEqual(sum(step["breakdown"].values()), step["during_ns"], described(finding))
        # The first wait may lack an earlier record of the holder; the others have one.
        known = [one for one, *_ in found if one["breakdown"]["unknown_ns"] <= one["during_ns"] / 20]
        self.assertGreaterEqual(len(known), len(found) / 2, described_all(seen.found))
        return found

    def test_equal_waits_add_up(self):
        whole = 0
        steps = self.steps("naps")
        for step, held, finding in steps:
            parts = step["breakdown"]
            self.assertEqual(step["what"], "waited", described(finding))
            self.assertGreaterEqual(parts["blocked_ns"] + parts["unknown_ns"], 80 * MS, (step, described(finding)))
            self.assertLessEqual(step["ns"], step["during_ns"])
            self.assertGreaterEqual(step["during_ns"], held["end_ns"] - held["begin_ns"])
            whole += step["ns"] >= 80 * MS and step["places"][0]["count"] >= 10
        # If the kernel does not report the switch of a nap, the nap's place is not known.
        self.assertGreater(whole, len(steps) / 2, described_all([finding for *_, finding in steps]))

    def assert_on_cpu_as_its_clock_says(self, compared):
        """The holder is never on its CPU for longer than it holds the lock, and in most of the `compared` waits no
        longer than its own clock counts, which leaves out what the host of a virtual machine takes."""
        for step, held, finding in compared:
            self.assertLessEqual(step["breakdown"]["oncpu_ns"], held["end_ns"] - held["begin_ns"] + 5 * MS,
                                 described(finding))
        longer = [(step, held, described(finding)) for step, held, finding in compared
                  if step["breakdown"]["oncpu_ns"] > held["cpu_ns"] + 5 * MS]
        self.assertLess(len(longer), len(compared) / 2, longer)

    def test_who_computes_ran(self):
        compared = self.steps("computes")
        self.assert_on_cpu_as_its_clock_says(compared)
        for step, held, finding in compared:
            # On a busy machine, the holder may be off its CPU for longer than on it.
            self.assertIn(step["what"], ("ran", "preempted"), described(finding))
            parts = step["breakdown"]
            self.assertGreaterEqual(parts["oncpu_ns"] + parts["irq_ns"] + parts["softirq_ns"] + parts["unknown_ns"],
                                    0.9 * held["cpu_ns"], described(finding))

    def test_each_part_is_said(self):
        compared = self.steps("mixed")
        self.assert_on_cpu_as_its_clock_says(compared)
        for step, held, finding in compared:
            parts = step["breakdown"]
            self.assertGreaterEqual(parts["blocked_ns"], 25 * MS - SLOWER * MS // 100, described(finding))
            self.assertGreaterEqual(parts["oncpu_ns"] + parts["irq_ns"] + parts["softirq_ns"] + parts["unknown_ns"],
                                    0.9 * held["cpu_ns"], described(finding))

    def test_in_text(self):
        text, _ = text_of("-T", "30ms", "-e", "futex", "--", workload("accounts"), "holder", "computes", 4)
        self.assertRegex(text, r"└ holder\[\d+\] held it up: (ran|preempted) \d+\.\dms")
        text, _ = text_of("-T", "30ms", "-e", "futex", "--", workload("accounts"), "holder", "naps", 4)
        self.assertRegex(text, r"└ holder\[\d+\] held it up: waited (8\d\.\d|9\d\.\d|1\d\d)ms, 1[01] times, in .*nanosleep")


class Turns(Case):
    def test_who_ran_meanwhile(self):
        """Each thread has its CPU time since the waiting thread was runnable."""
        seen = stalls("-T", "10ms", "-e", "clock_nanosleep", "--first", 0, "--", workload("accounts"), "turns", 6)
        self.assert_sound(seen)
        turns = seen.events("turn")
        compared = 0
        for woke in seen.events("woke"):
            late = [one for one in seen.named("clock_nanosleep") if one["tid"] == woke["tid"]
                    and begin_of(one) < woke["due_ns"] < one["time_ns"] < woke["ran_ns"]]
            if len(late) != 1 or late[0]["breakdown"]["runqueue_ns"] < 20 * MS:
                continue  # a busy machine: real-time threads were held back before
            wait = longest_wait(late[0])
            shares = collections.Counter({share["tid"]: share["ns"] for share in wait["ran"]})
            self.assertLessEqual(sum(shares.values()) + wait.get("ran_others_ns", 0), wait["runqueue_ns"] + MS // 10)
            for turn in turns:
                begin, end = max(turn["begin_ns"], woke["due_ns"]), min(turn["end_ns"], woke["ran_ns"])
                if end <= begin:
                    continue
                compared += 1
                # Higher-priority threads, and the next in turn, may have run in between.
                # The host of a virtual machine may take the CPU between the turn and the switch.
                self.assertLessEqual(shares[turn["tid"]], 1.5 * (end - begin) + (1 + SLOWER) * MS, described(late[0]))
                self.assertGreaterEqual(shares[turn["tid"]], 0.5 * (end - begin),
                                        f"{turn}: {wait['ran']}: {described(late[0])}")
        self.assertGreaterEqual(compared, 6, described_all(seen.found))

    def test_in_text(self):
        text, _ = text_of("-T", "10ms", "-e", "clock_nanosleep", "--", workload("accounts"), "turns", 6)
        self.assertRegex(text, r"run queue +\d+\.\dms  behind first\[\d+\] \d+\.\dms, second\[\d+\] \d+\.\d+ms, "
                               r"third\[\d+\] \d\.\d+ms")

    def test_late_wakeups_say_it_too(self):
        text, _ = text_of("-T", "10ms", "--span", "wakeup", "--", workload("accounts"), "turns", 4)
        self.assertRegex(text, r"run queue +\d+\.\dms  behind first\[\d+\] \d+\.\dms, second\[\d+\] \d+\.\d+ms")


class Moved(Case):
    def test_who_ran_on_either_cpu(self):
        """The threads that ran on each CPU while the moved thread was in its run queue."""
        seen = stalls("-T", "10ms", "-e", "clock_nanosleep", "--first", 0, "--", workload("moved"), 6)
        if seen.finished.status == 77:
            self.skipTest("no second CPU, or no real-time priorities")
        self.assert_sound(seen)
        compared = 0
        for moved in seen.events("moved"):
            late = [one for one in seen.named("clock_nanosleep") if one["tid"] == moved["tid"]
                    and begin_of(one) < moved["due_ns"] < one["time_ns"] < moved["ran_ns"] + MS]
            self.assertEqual(len(late), 1, described_all(seen.found))
            wait = longest_wait(late[0])
            here = moved["ran_ns"] - moved["moved_ns"]
            there = wait["runqueue_ns"] - here  # its timer may have been late
            shares = collections.Counter({share["tid"]: share["ns"] for share in wait["ran"]})
            known = sum(shares.values()) + wait.get("ran_others_ns", 0)
            self.assertGreaterEqual(known, 0.98 * wait["runqueue_ns"], described(late[0]))
            if not 25 * MS < there < 35 * MS or not 15 * MS < here < 25 * MS:
                continue  # a busy machine
            compared += 1
            self.assertAlmostEqual(shares[moved["first"]], there, delta=SLOWER * MS, msg=(wait["ran"], moved))
            self.assertAlmostEqual(shares[moved["second"]], here, delta=SLOWER * MS, msg=(wait["ran"], moved))
        self.assertGreaterEqual(compared, 3 / SLOWER, described_all(seen.found))


if __name__ == "__main__":
    main()
