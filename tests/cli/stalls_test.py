#!/usr/bin/python3
"""`overdue stalls`: late calls, their parts and their wakers, compared with the demos' own figures.
The bounds hold on a busy machine too: whatever happens between a demo's clock and the kernel's, the
demo's figure is the larger one. A demo runs with real-time priority where that matters."""
import collections
import itertools
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import long_or_short, main, overdue, tool, workload
from stall_findings import KEYS, MS, Case, described_all, blocked_ns, context_of, functions, has_unseen_wait
from stall_findings import is_within, longest_wait, real_time, stalls, text_of, described


class Demos(Case):
    def test_sleep(self):
        """Every sleep over the threshold, none below, as long as the program says."""
        seen = stalls("-T", "50ms", "-e", "clock_nanosleep", "--", *real_time(), workload("sleep-demo"), "--count",
                      long_or_short(200, 40), "--max", "100ms", "-d", "60s")
        self.assert_sound(seen)
        sleeps = seen.events("sleep")
        self.assertGreater(len(sleeps), 30)
        over, apart = 0, []
        for sleep in sleeps:
            found = [finding for finding in seen.found if is_within(finding, sleep)]
            if sleep["asked_ns"] >= 50 * MS:
                over += 1
                self.assertEqual(len(found), 1, f"{sleep} is found once")
            if sleep["took_ns"] < 50 * MS:
                self.assertEqual(found, [], f"{sleep} is not late")
            for finding in found:
                self.assertGreaterEqual(finding["latency_ns"], max(50 * MS, sleep["asked_ns"]))
                apart.append((sleep["took_ns"] - finding["latency_ns"]) / max(sleep["took_ns"] // 100, 100_000))
                self.assertEqual(finding["threshold_ns"], 50 * MS)
                self.assert_complete(finding, "main", "sleep_for_a_while", "clock_nanosleep")
        self.assertGreater(over, 10)
        self.assertLess(over, len(sleeps))
        for finding in self.with_wakers(seen.found):
            self.assertEqual(context_of(longest_wait(finding)), "vector local_timer", described(finding))
        self.assertEqual(sum(any(is_within(finding, sleep) for sleep in sleeps) for finding in seen.found),
                         len(seen.found), "nothing but sleeps is found")
        # Each is between the requested time and the program's. A hypervisor may stop the machine,
        # or others its emulator, between our clock and the program's: up to three of twenty sleeps.
        agree = sum(each <= 1 for each in apart)
        self.assertGreaterEqual(agree, long_or_short(0.9, 0.75) * len(seen.found), "the program's clock and ours, in what "
                                f"they may differ by: {apart} {described_all(seen.found)}")

    def test_lock(self):
        """A thread that waits for a mutex waits for its holder, and the chain says so."""
        seen = stalls("--idle", "-T", "20ms", "--", workload("lock-demo"), "--rounds", 6, "--min", "30ms", "--max", "60ms")
        self.assert_sound(seen)
        waits = seen.events("wait")
        self.assertEqual(len(waits), 12)
        found = {wait["time_ns"]: [finding for finding in seen.named("futex") if is_within(finding, wait)]
                 for wait in waits}
        for wait in waits:
            self.assertTrue(found[wait["time_ns"]], f"{wait} {described_all(seen.found)}")
            finding = found[wait["time_ns"]][0]
            self.assertGreaterEqual(finding["latency_ns"], 29 * MS, described(finding))
            self.assert_complete(finding, "wait_for_the_lock")
        known = self.with_wakers([finding for each in found.values() for finding in each])
        whole = by_owner = 0
        for wait in waits:
            finding, last = found[wait["time_ns"]][0], found[wait["time_ns"]][-1]
            if last in known and wait["handed_by"] == "holder":
                by_owner += 1
                self.assertEqual(longest_wait(last)["waker"]["tid"], wait["handed_by_tid"], described(last))
            if finding not in known:
                continue
            waker = longest_wait(finding)["waker"]
            self.assertEqual(waker["context"], "thread", described(finding))
            self.assertEqual(finding["chain"][0].get("tid"), waker["tid"], described(finding))
            owner = [link for link in finding["chain"] if link.get("tid") == wait["owner_tid"]]
            if not owner and finding["chain"][-1]["what"] == "waited":
                continue  # the waker of that wait is not known
            self.assertTrue(owner, described(finding))
            self.assertEqual((owner[0]["comm"], owner[0]["what"]), ("holder", "waited"), described(finding))  # with the lock
            self.assertIn(wait["owner_function"], functions(owner[0]["user_stack"]))
            whole += 1
        self.assertGreater(whole, len(waits) / 2, described_all(seen.found))
        self.assertTrue(by_owner, described_all(seen.found))
        # The owner's own sleep says in which function it held the lock. (It also naps until all
        # wait: that nap is late only if the machine is.)
        owner = [finding for finding in seen.named("clock_nanosleep")
                 if any(is_within(finding, hold) for hold in seen.events("hold"))]
        self.assertEqual(len(owner), 6)
        for finding in owner:
            self.assert_complete(finding, "hold_the_lock")

    def test_cpu(self):
        """Waits for a CPU after a sleep, as long as the program says, behind the thread that had
        it. With SCHED_RR, other programs do not get the CPU, even on a busy machine."""
        seen = stalls("-T", "1ms", "-e", "clock_nanosleep", "--first", 0, "--", tool("chrt"), "-r", "10",
                      workload("cpu-demo"), "--hogs", 1, "-d", long_or_short("20s", "4s"))
        self.assert_sound(seen)
        victim = [finding for finding in seen.found if finding["comm"] == "victim"]
        sleeps = [sleep for sleep in seen.events("sleep") if sleep["thread"] == "victim"]
        self.assertGreater(len(sleeps), 10)
        measured = said = 0
        for sleep in sleeps:
            found = [finding for finding in victim if is_within(finding, sleep)]
            self.assertEqual(len(found), 1, sleep)
            # The kernel's limit may throttle real-time threads.
            ready = found[0]["breakdown"]["runqueue_ns"] + found[0]["breakdown"]["throttled_ns"]
            measured += ready
            said += sleep["late_ns"]
            self.assertLessEqual(ready, sleep["late_ns"], described(found[0]))
        # A sleep is also late by the timer's slack (50 us), and by the time to fall asleep and to
        # return. The thread may lose the CPU on its way back to the program.
        self.assertGreaterEqual(measured, 0.95 * said - 200_000 * len(sleeps), described_all(victim))
        waited = [finding for finding in victim
                  if finding["breakdown"]["runqueue_ns"] > 2 * MS and not has_unseen_wait(finding)]
        self.assertTrue(waited, described_all(victim))
        behind = collections.Counter()
        for finding in waited:
            longest = max(finding["waits"], key=lambda wait: wait["runqueue_ns"])
            # No thread ran if the CPU idled: an emulator may stand still for milliseconds.
            ran = [share for share in longest.get("ran", []) if share["tid"]]
            comm = ran[0]["comm"] if ran else "none"
            self.assertNotIn(comm, ("", "victim"))
            behind[comm.rstrip("123")] += 1
        self.assertGreater(behind["hog-"], len(waited) / 2, behind)

    def test_mmap(self):
        """mmap waits for a lock that another thread of the program held."""
        seen = stalls("-T", "2ms", "-e", "mmap,munmap", "--", workload("mmap-demo"), "-d", "3s", "--slow", "2ms")
        self.assert_sound(seen)
        mappers = {event["tid"] for event in seen.events("mmap") + seen.events("munmap")}
        blocked = [finding for finding in seen.named("mmap") + seen.named("munmap")
                   if finding["waits"] and blocked_ns(longest_wait(finding)) > finding["latency_ns"] / 2]
        self.assertTrue(blocked, described_all(seen.found))
        for finding in blocked:
            wait = longest_wait(finding)
            self.assertEqual(wait["state"], "uninterruptible", described(finding))
            if not has_unseen_wait(finding):
                self.assertTrue({"vm_mmap_pgoff", "__vm_munmap"} & set(functions(wait["kernel_stack"])), described(finding))
        known = self.with_wakers(blocked)
        by_mappers = [finding for finding in known
                      if longest_wait(finding)["waker"].get("pid") == finding["pid"]
                      and longest_wait(finding)["waker"]["tid"] != finding["tid"]]
        self.assertGreater(len(by_mappers), 0.9 * len(known), described_all(known))
        self.assertTrue({longest_wait(finding)["waker"]["tid"] for finding in by_mappers} & mappers)
        for finding in known:
            self.assertNotEqual(longest_wait(finding)["waker"].get("comm"), "", described(finding))
        late = [event for event in seen.events("mmap") if event["took_ns"] > 10 * MS]
        for event in late:
            near = [finding for finding in seen.named("mmap") if is_within(finding, event)]
            self.assertLessEqual(len(near), 1)


def is_of_interruption(frame):
    return frame["name"].startswith(("asm_", "preempt_schedule"))


class Output(Case):
    def test_ndjson(self):
        """One finding a line, its type first, the receipt last; the keys are as documented."""
        for _ in range(5):  # a sleep whose end the kernel did not report has another cause
            seen = stalls("--idle", "-T", "5ms", "--", workload("sleep-demo"), "--count", 3, "--min", "10ms", "--max", "20ms")
            self.assert_sound(seen)
            first, *rest = seen.named("clock_nanosleep")
            if all("like" in finding for finding in rest):
                break
        self.assertEqual(len(rest), 2)
        for line in seen.lines:
            self.assertEqual(next(iter(line)), "type")
        for finding in seen.found:
            self.assertEqual([key for key in finding if key in KEYS], KEYS)
            if finding["name"] == "clock_nanosleep":  # and whatever else a busy machine made late
                self.assertEqual(finding["ret"], 0)
                self.assertIn("user_stack", finding)  # the end of a late program has none
            for wait in finding["waits"]:
                self.assertLessEqual({"ns", "state", "kernel_stack"}, set(wait))
                if "waker" in wait:
                    self.assertIn(set(wait["waker"]) - {"context", "means", "stack"},
                                  ({"pid", "tid", "comm"}, {"interrupted"}))
            stacks = [finding.get("user_stack", [])] + [wait["kernel_stack"] for wait in finding["waits"]]
            stacks += [wait["waker"]["stack"] for wait in finding["waits"] if "waker" in wait]
            for stack in stacks:
                for frame in stack:
                    self.assertLessEqual({"name", "module", "offset"}, set(frame))
                # An interrupt may come, and preempt, in the middle of a hook: then the hook is where the thread was.
                own = itertools.takewhile(lambda frame: not is_of_interruption(frame), stack)
                self.assertNotIn("[bpf]", [frame["module"] for frame in own], f"our own frames say nothing: {stack}")
            self.assertIsInstance(finding["chain"], list)
        self.assertNotIn("like", first)
        self.assertEqual({finding.get("like") for finding in rest}, {first["number"]})

    def test_sums_of_causes(self):
        """All waiters of the lock are late behind its holder; the sums are those of the findings."""
        for options in (("-T", "5ms"), ()):  # without -T, the threshold chooses itself
            lines = {}
            finished = overdue("stalls", *options, "-f", "ndjson", "--summary", "--stdout", "--",
                               workload("lock-demo"), "--rounds", 10, "--min", "20ms", "--max", "40ms")
            self.assertEqual(finished.status, 0, finished)
            events = [json.loads(line) for line in finished.out.splitlines()]
            waited = sum(event["took_ns"] for event in events if event["type"] == "wait")
            for line in events:
                lines.setdefault(line["type"], []).append(line)
            # The longest finding of each cause, which the cause names.
            named = {one["example"] for one in lines["cause"]} - {0}
            self.assertEqual(sorted(one["number"] for one in lines["stall"]), sorted(named))
            first = lines["cause"][0]
            self.assertRegex(first["cause"], r"behind holder\[\d+\], which slept in hold_the_lock")
            self.assertEqual({one["name"] for one in first["who"]}, {"waiter-*"})
            self.assertGreater(first["total_ns"], 0.8 * waited)
            self.assertLess(first["total_ns"], 1.02 * waited + 5 * MS)
            self.assertEqual(first["parts"]["blocked_ns"], first["total_ns"])
            self.assertLess(abs(1 - sum(one["share"] for one in lines["cause"])), 0.001)

    def test_what_execve_was_given(self):
        """The call's registers and strings are gone when it ends."""
        for options in ((), ("-e", "execve")):
            seen = stalls("-T", "1us", *options, "--", tool("sh"), "-c", "exec /bin/true")
            given = [finding["args"] for finding in seen.named("execve") if finding.get("ret") == 0]
            self.assertEqual([arguments[0] for arguments in given],
                             [f'pathname="{tool("sh")}"', 'pathname="/bin/true"'])
            for arguments in given:
                self.assertRegex(arguments[1], r"^argv=0x\w+$")

    def test_text(self):
        text, finished = text_of("-T", "20ms", "-e", "futex", "--", workload("lock-demo"), "--rounds", 3, "--min",
                                 "40ms", "--max", "60ms")
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(text, r"(?m)^#\d+ [\d:.]+  futex\(.*\) = 0  waiter-\d\[\d+\]  \d+\.?\d*ms \(threshold 20.0ms\)$")
        self.assertRegex(text, r"(?m)^  blocked +\S+ms  futex_\S+( → .*)?, woken by (holder|waiter-\d)\[\d+\]$")
        self.assertRegex(text, r"(?m)^    └ holder\[\d+\] held it up: waited \S+ms in .*nanosleep")
        self.assertRegex(text, r"(?m)^ +└ (its timeout expired|(vector local_timer|softirq HRTIMER) ended that)$")
        self.assertRegex(text, r"(?m)^  called from  .*wait_for_the_lock → pthread_mutex_lock( → .*)?$")
        self.assertNotIn("→ \n", text)
        self.assertNotIn("in \n", text)
        # Three, because a switch that the kernel does not report has no stack.
        whole, _ = text_of("-v", "--idle", "-T", "5ms", "--", workload("sleep-demo"), "--count", 3, "--min", "10ms")
        self.assertRegex(whole, r"(?m)^ +main\+0x[0-9a-f]+ \(.*sleep-demo\)$")
        self.assertRegex(whole, r"(?m)^ +hrtimer_nanosleep\+0x[0-9a-f]+$")

    def test_folding(self):
        program = ("--", workload("sleep-demo"), "--count", 7, "--min", "10ms", "--max", "12ms")
        for option, shown in (((), 3), (("--first", 1), 1), (("--first", 0), 7)):
            for _ in range(5):  # an unreported end of a sleep is another cause: one run in twenty
                text, _ = text_of("-T", "5ms", "-e", "clock_nanosleep", *option, *program)
                if "stalls of 1 cause" in text:
                    break
            headlines = re.findall(r"(?m)^#(\d+) .*clock_nanosleep\(", text)
            self.assertEqual(headlines, [str(number + 1) for number in range(shown)], text)
            more = re.findall(r"(?m)^(\d+) more like #1: clock_nanosleep, \S+ in all, longest \S+$", text)
            self.assertEqual(more, [str(7 - shown)] if shown < 7 else [], text)
            self.assertIn("note: 7 stalls of 1 cause\n", text)

    def test_names_are_looked_at_in_the_kernel(self):
        """Calls that are late only for another thread make no records: so many would be lost."""
        calls = 200_000
        seen = stalls("-T", "1s,thread:nobody=1ns", "--", workload("getppid_loop"), calls)
        self.assert_sound(seen)
        self.assertEqual(seen.receipt["lost"], 0)
        self.assertGreaterEqual(seen.receipt["events"], calls)
        self.assertEqual(seen.named("getppid"), [])
        seen = stalls("-T", "1s,thread:worker-[12]=1ns", "--first", 0, "--", workload("named_threads"), 4, 10)
        found = collections.Counter(finding["comm"] for finding in seen.named("getppid"))
        self.assertEqual(found, {"worker-1": 20, "worker-2": 30})

    def test_events_are_the_targets(self):
        """Calls of the calibration are Overdue's own, and do not count."""
        seen = stalls("-T", "1s", "--", workload("getppid_loop"), 500)
        self.assert_sound(seen)
        self.assertGreaterEqual(seen.receipt["events"], 500)
        self.assertLess(seen.receipt["events"], 700)
        self.assertEqual(seen.found, [])
        self.assertIn("nothing took as long as the threshold", seen.notes)


if __name__ == "__main__":
    main()
