#!/usr/bin/python3
"""`overdue stalls`: user stacks of spans that are no system calls: waits off the CPU, which end in
another thread's context, waits for locks, and user spans."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, overdue, tool, workload
from stall_findings import Case, described_all, functions, has_unseen_wait, stalls, text_of


def kernel_has_task_work():
    with open("/proc/kallsyms", encoding="ascii") as symbols:
        return any(line.split()[2] == "bpf_task_work_schedule_resume_impl" for line in symbols)


def sleep_demo(count=5):
    return "--", workload("sleep-demo"), "--count", count, "--min", "20ms", "--max", "30ms"


class OffCpu(Case):
    def slept(self, seen):
        """(Sleeps with a user stack, all sleeps), without switches that were not reported."""
        found = [one for one in seen.found if one["name"] == "sleeping" and not has_unseen_wait(one)]
        return [one for one in found if "sleep_for_a_while" in functions(one.get("user_stack", []))], found

    def test_sleeps_are_called_from_the_program(self):
        seen = stalls("--idle", "--span", "offcpu", "-T", "10ms", *sleep_demo())
        self.assert_sound(seen)
        slept, found = self.slept(seen)
        self.assertGreaterEqual(len(slept), 3, described_all(found))
        for finding in found:
            self.assertIn("user_stack", finding)
        for finding in slept:
            self.assert_complete(finding, "sleep_again_and_again", "sleep_for_a_while")
            self.assertIn("nanosleep", finding["user_stack"][0]["name"])
        times = [finding["time_ns"] for finding in seen.found]
        self.assertEqual(times, sorted(times))

    def test_waits_for_a_mutex(self):
        seen = stalls("--span", "offcpu", "-T", "10ms", "--keep-under", "wait_for_the_lock", "--",
                      workload("lock-demo"), "--rounds", 3, "--min", "30ms", "--max", "40ms")
        self.assert_sound(seen)
        for finding in seen.found:
            self.assert_complete(finding, "wait_for_the_lock")
        # On a busy machine, the threads also lose the CPU there.
        slept = [one for one in seen.found if one["name"] == "sleeping" and not has_unseen_wait(one)]
        self.assertGreaterEqual(len(slept), 3, described_all(seen.found))
        for finding in slept:
            self.assertIn("futex", "".join(functions(finding["waits"][0]["kernel_stack"])))

    def test_who_is_preempted_in_its_own_code(self):
        if not kernel_has_task_work():
            self.skipTest("this kernel reports system calls only where a thread waited")
        seen = stalls("--span", "offcpu", "-T", "1ms", "--", workload("cpu-demo"), "--duration", "1s", "--cpu", 0)
        computing = [one for one in seen.found if one["name"] == "preempted" and not has_unseen_wait(one)
                     and "be_a_hog" in functions(one.get("user_stack", []))]
        self.assertGreater(len(computing), 3, described_all(seen.found))
        inside = [one for one in computing if functions(one["user_stack"])[0] == "compute_a_little"]
        self.assertGreater(len(inside), len(computing) / 2, [functions(one["user_stack"]) for one in computing])
        for finding in inside:
            self.assert_complete(finding, "be_a_hog", "compute_a_little")

    def test_wakeups(self):
        seen = stalls("--span", "wakeup", "-T", "1ns", *sleep_demo())
        slept, found = [], [one for one in seen.found if not has_unseen_wait(one)]
        for finding in found:
            if "sleep_for_a_while" in functions(finding.get("user_stack", [])):
                slept.append(finding)
                self.assert_complete(finding, "sleep_for_a_while")
        self.assertGreaterEqual(len(slept), 3, described_all(found))

    def test_text_drawing_and_none(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "waits.folded")
            text, _ = text_of("--idle", "--span", "offcpu", "-T", "10ms", "--flame", path, *sleep_demo())
            with open(path, encoding="utf-8") as file:
                drawn = file.read()
        self.assertRegex(text, "called from .*sleep_for_a_while")
        self.assertRegex(drawn, r"sleep_for_a_while;.*nanosleep.*_\[k\]")
        seen = stalls("--idle", "--span", "offcpu", "-T", "10ms", "--user-stack-bytes", 0, *sleep_demo())
        self.assertGreaterEqual(len(seen.found), 3)
        self.assertFalse([one for one in seen.found if "user_stack" in one])

    def test_a_recording_shows_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.odt")
            own = f"nap=begin:uprobe:{workload('sleep-demo')}:sleep_for_a_while,end:uretprobe:" \
                  f"{workload('sleep-demo')}:sleep_for_a_while,key:tid"
            live = stalls("--idle", "--save", path, "--span", "offcpu,wakeup", "--span", own, "-T", "5ms,wakeup=1ns",
                          *sleep_demo())
            replayed = overdue("report", "--view", "stalls", "--idle", "-f", "ndjson", path).utf8.split("\n")[:-1]
        findings = [line for line in map(json.loads, replayed) if line["type"] == "stall"]
        self.assertGreaterEqual({one["span"] for one in findings if one.get("user_stack")},
                                {"offcpu", "wakeup", "pair"})
        self.assertEqual(findings, live.found)

    def test_names_later(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.odt")
            raw = stalls("--idle", "--save", path, "--no-resolve", "--span", "offcpu", "-T", "10ms", *sleep_demo())
            self.assertFalse([one for one in raw.found if "sleep_for_a_while" in functions(one.get("user_stack", []))])
            named = [json.loads(line) for line in overdue("report", "--idle", "-f", "ndjson", path).out.splitlines()]
        self.assertGreaterEqual(len([one for one in named if one["type"] == "stall"
                                     and "sleep_for_a_while" in functions(one.get("user_stack", []))]), 3)

    def test_threads_that_are_killed_in_their_wait(self):
        """Threads copy deferred stacks as they exit; without task work, reports have no stacks."""
        seen = stalls("--idle", "--span", "offcpu", "-T", "5ms", "--", workload("stall_cases"), "killed")
        self.assertEqual(seen.receipt["lost"], 0)
        naps = [one for one in seen.found if one["tid"] == one["pid"] and not has_unseen_wait(one)]
        self.assertTrue(naps, described_all(seen.found))
        if kernel_has_task_work():
            self.assert_complete(naps[-1], "main", "take_a_nap")


class InTheThreadsOwnContext(Case):
    def test_a_function_of_the_program(self):
        program = workload("stall_cases")
        own = f"nap=begin:uprobe:{program}:take_a_nap,end:uretprobe:{program}:take_a_nap,key:tid"
        seen = stalls("--span", own, "-T", "20ms", "--", program, "exit")
        finding, = seen.found
        self.assertEqual((finding["span"], finding["name"]), ("pair", "nap"))
        self.assert_complete(finding, "main")
        self.assertEqual(functions(finding["user_stack"])[0], "main", "where it has returned to")

    def test_a_pair_of_tracepoints(self):
        own = "nap=begin:syscalls:sys_enter_clock_nanosleep,end:syscalls:sys_exit_clock_nanosleep,key:tid"
        seen = stalls("--span", own, "-T", "20ms", "--", workload("stall_cases"), "exit")
        finding, = seen.found
        self.assert_complete(finding, "main", "take_a_nap", "clock_nanosleep")

    def test_who_ends_it_for_another_has_no_say(self):
        own = "start=begin:sched:sched_process_fork,end:sched:sched_process_exec,key:child->pid,end-key:p->pid"
        seen = stalls("--span", own, "-T", "1us", "--", tool("sh"), "-c", "sleep 0.01; true")
        self.assertTrue(seen.found)
        self.assertFalse([one for one in seen.found if "user_stack" in one])

    def test_locks(self):
        seen = stalls("--span", "lock", "-T", "1us", "--", workload("mmap-demo"), "--count", 50)
        fights = [one for one in seen.found if "rwsem" in one["name"] and "user_stack" in one
                  and "fight_over_mmap_lock" in functions(one["user_stack"])]
        self.assertTrue(fights, [(one["name"], functions(one.get("user_stack", []))) for one in seen.found][:10])
        for finding in fights:
            self.assert_complete(finding, "fight_over_mmap_lock")
            self.assertTrue(finding["kernel_stack"])

    def test_receipt_counts_waits(self):
        """With waits alone, the events are the target's waits; programs run for others, too."""
        text = "import time\nfor _ in range(550): time.sleep(0.0005)"  # of which a hardened kernel hides some
        receipt = stalls("--span", "offcpu", "-T", "1s", "--", sys.executable, "-c", text).receipt
        self.assertGreaterEqual(receipt["events"], 500)
        self.assertLess(receipt["events"], 2_000, "the waits of this program alone")
        self.assertGreater(receipt["probe_runs"], 2 * receipt["events"])


if __name__ == "__main__":
    main()
