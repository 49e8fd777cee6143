#!/usr/bin/python3
"""`overdue offcpu`: where threads were, against the accounts of programs and of the kernel."""
import json
import os
import re
import shutil
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import FolderTest, Live, attached, eventually, main, overdue, require_root, run, tool, workload
from quota import QuotaMixin

MS = 1_000_000
NAPS = 40
HIDDEN = 2  # this kernel hides one switch in a thousand
CPU_FIGURES = ("oncpu_ns", "sleeping_ns", "uninterruptible_ns", "runqueue_ns", "preempted_ns", "throttled_ns",
               "switches", "preemptions")
TRACE = """\
<idle>-0     [020] 6907585.873080: sched_switch: 0:120:R ==> 33233:110: java
<...>-33233  [020] 6907585.873083: sched_switch: 33233:110:S ==> 0:120: swapper/20
<idle>-0     [020] 6907585.873234: sched_switch: 0:120:R ==> 33233:110: java
"""
SPIN = """
import os, sys, time
end = time.thread_time_ns() + int(sys.argv[1]) * 1000000
while time.thread_time_ns() < end: pass
os.write(1, f"{time.thread_time_ns()}\\n".encode())  # two write to one pipe
"""


def offcpu(*arguments):
    """The report of JSON, and the program's output."""
    finished = overdue("offcpu", "-f", "json", *arguments)
    if finished.status != 0:
        raise AssertionError(finished)
    return json.loads(finished.err[finished.err.index("{"):] if "--" in arguments else finished.out), finished


def idle_ticks(cpu):
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[4]) for line in file if line.startswith(f"{cpu} "))


def cpu_time(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return sum(map(int, file.read().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")


def scheduled(pid):
    """The kernel's own figures of a thread."""
    with open(f"/proc/{pid}/status", encoding="latin-1") as file:
        figures = {"switches": sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)}
    try:
        with open(f"/proc/{pid}/sched", encoding="latin-1") as file:
            for line in file:
                if line.startswith("se.vruntime"):
                    figures["vruntime"] = int(line.split()[-1].replace(".", ""))
    except FileNotFoundError:
        pass
    return figures


def rows_of(report, comm):
    return [row for row in report["threads"] if row["comm"] == comm]


class Offcpu(QuotaMixin, FolderTest):
    def setUp(self):
        super().setUp()
        require_root()

    def assert_adds_up(self, report, all_cpus=True):
        for row in report["threads"]:
            parts = ("oncpu_ns", "offcpu_ns", "unknown_ns")
            self.assertEqual(sum(row[part] for part in parts), row["wall_ns"], row)
            self.assertEqual(row["blocked_ns"] + row["runnable_ns"], row["offcpu_ns"], row)
            self.assertEqual(row["sleeping_ns"] + row["uninterruptible_ns"], row["blocked_ns"], row)
            self.assertEqual(row["runqueue_ns"] + row["preempted_ns"] + row["throttled_ns"], row["runnable_ns"], row)
            if all_cpus:
                self.assertLessEqual(row["unknown_ns"], row["wall_ns"] / 1000 + MS, row)
            displaced = row["displaced_by"]
            self.assertLessEqual(sum(one["count"] for one in displaced), row["preemptions"], row)
            self.assertLessEqual(sum(one["total_ns"] for one in displaced), row["preempted_ns"] + MS, row)
            for one in displaced:
                self.assertLessEqual(one["max_ns"], one["total_ns"], row)

    def test_sleeps_as_the_program_knows_them(self):
        report, finished = offcpu("--", workload("nanosleep_loop"), NAPS, 2 * MS)
        self.assert_adds_up(report)
        [row] = rows_of(report, "nanosleep_loop")
        asleep_ns = int(finished.out.split()[0])  # all sleeps, by the program's clock
        self.assertGreaterEqual(row["switches"], NAPS - HIDDEN)
        self.assertGreaterEqual(row["sleeping_ns"], 2 * MS * (NAPS - HIDDEN))
        # The program's sleeps include its time in the run queue and the calls' own time.
        self.assertLessEqual(row["sleeping_ns"], asleep_ns * 1.01)
        self.assertGreaterEqual(row["sleeping_ns"] + row["runnable_ns"] + row["oncpu_ns"], asleep_ns * 0.99)
        self.assertGreaterEqual(row["max_ns"], 2 * MS)
        self.assertEqual(row["open_ns"], 0)

    def test_a_thread_that_sleeps_throughout(self):
        with Live(tool("sleep"), "30") as sleeper:
            report, _ = offcpu("-p", sleeper.pid, "-d", "500ms")
        [row] = report["threads"]
        self.assertEqual((row["tid"], row["switches"], row["oncpu_ns"]), (sleeper.pid, 0, 0))
        self.assertEqual(row["sleeping_ns"], row["open_ns"])
        self.assertAlmostEqual(row["sleeping_ns"], report["duration_ns"], delta=20 * MS)
        with Live(tool("sleep"), "30") as sleeper:
            finished = overdue("offcpu", "-p", sleeper.pid, "-d", "300ms")
        self.assertIn("no thread of the target ran\nasleep throughout: 1 thread\n", finished.out)

    def test_two_threads_on_one_cpu_displace_each_other(self):
        script = f"{sys.executable} -c '{SPIN}' 400 & {sys.executable} -c '{SPIN}' 400; wait"
        report, finished = offcpu("--", tool("taskset"), "-c", "0", tool("sh"), "-c", script)
        self.assert_adds_up(report)
        used_ns = sorted(map(int, finished.out.split()))
        spinners = sorted((row for row in report["threads"] if row["oncpu_ns"] > 300 * MS),
                          key=lambda row: row["oncpu_ns"])
        self.assertEqual(len(spinners), 2, report["threads"])
        for row, used in zip(spinners, used_ns):
            self.assertAlmostEqual(row["oncpu_ns"], used, delta=used * 0.1)  # exec and exit are ours, not the program's
        [one, other] = spinners
        for row, rival in ((one, other), (other, one)):
            self.assertGreater(row["preempted_ns"], 100 * MS, row)
            [by] = [by for by in row["displaced_by"] if by.get("tid") == rival["tid"]]
            self.assertGreater(by["count"], 2, row)
            self.assertGreater(by["total_ns"], 20 * MS, row)
        self.assertIn(one["tid"], [by.get("tid") for by in report["displacers"]])

    def test_the_quota_of_a_cgroup_is_as_the_kernel_counts_it(self):
        self.require_quotas()
        group = self.group(f"odt-offcpu-{os.getpid()}")
        group.limit(group.path)
        before_ns = group.throttled_ns(group.path)
        report, finished = offcpu("--", tool("taskset"), "-c", "0", workload("over_quota"), "compute", group.procs, 1500)
        truth_ns = group.throttled_ns(group.path) - before_ns
        self.assert_adds_up(report)
        [row] = [row for row in report["threads"] if row["tid"] == json.loads(finished.out)["tid"]]
        self.assertGreater(truth_ns, 100 * MS)  # less if others have the CPU: less of the quota is used
        self.assertAlmostEqual(row["throttled_ns"], truth_ns, delta=truth_ns / 20)
        self.assertNotIn(0, [by.get("tid") for by in row["displaced_by"]])

    def test_intervals_add_up(self):
        finished = overdue("offcpu", "-f", "ndjson", "-i", "50ms", "--stdout", "--", workload("pipe_pingpong"), 60000)
        self.assertEqual(finished.status, 0, finished)
        lines = [json.loads(line) for line in finished.out.splitlines() if line.startswith("{")]
        total = next(line for line in lines if line["type"] == "report")
        intervals = [line for line in lines if line["type"] == "interval"]
        self.assertGreater(len(intervals), 2)
        self.assert_adds_up(total)
        for row in total["threads"]:
            for figure in ("switches", "preemptions", "oncpu_ns", "wall_ns"):
                counted = sum(one[figure] for line in intervals for one in line["threads"] if one["tid"] == row["tid"])
                # The last interval may be incomplete; the total has its rest.
                self.assertLessEqual(counted, row[figure], (figure, row))
                last_ns = total["duration_ns"] - 50 * MS * len(intervals)
                self.assertGreaterEqual(counted, row[figure] * (1 - 2 * max(last_ns, 5 * MS) / total["duration_ns"]),
                                        (figure, row))
            longest = max(one["max_ns"] for line in intervals for one in line["threads"] if one["tid"] == row["tid"])
            self.assertLessEqual(longest, row["max_ns"])

    def test_more_than_a_thousand_threads(self):
        text = ("import threading, time\n"
                "all = [threading.Thread(target=time.sleep, args=(0.3,)) for _ in range(1200)]\n"
                "[one.start() for one in all]; [one.join() for one in all]")
        report, _ = offcpu("--", sys.executable, "-c", text)
        self.assert_adds_up(report)
        self.assertEqual(len(report["threads"]), 1201)
        slept = [row for row in report["threads"] if row["offcpu_ns"] >= 299 * MS]
        self.assertGreaterEqual(len(slept), 1201 - 3 * HIDDEN)
        report, _ = offcpu("--by", "process", "--", sys.executable, "-c", text)
        self.assertEqual([row["threads"] for row in report["threads"]], [1201])
        self.assertNotIn("tid", report["threads"][0])

    def test_short_lived_programs_by_name(self):
        report, _ = offcpu("--by", "name", "--", tool("sh"), "-c", "for i in 1 2 3 4 5 6 7 8; do /bin/true; done")
        [row] = rows_of(report, "true")
        self.assertEqual((row["threads"], "pid" in row), (8, False))
        self.assert_adds_up(report)

    def test_lines_of_the_longest_waits(self):
        finished = overdue("offcpu", "-i", "100ms", "--max", "--stdout", "--", workload("nanosleep_loop"), 200, 2 * MS)
        line = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6} max offcpu for nanosleep_loop is (\d+)us$", re.M)
        longest_us = list(map(int, line.findall(finished.out)))
        self.assertGreater(len(longest_us), 2, finished)
        self.assertGreaterEqual(min(longest_us), 2000, finished)

    def test_lines_of_idle_threads(self):
        before = idle_ticks("cpu0")
        finished = overdue("offcpu", "-a", "--cpu", "0", "-i", "500ms", "--max", "--stdout", "-d", "3s")
        self.assertNotIn("swapper/1", finished.out)
        if idle_ticks("cpu0") - before < 20:
            self.skipTest("CPU 0 was never idle")
        self.assertRegex(finished.out, r" max offcpu for swapper/0 is \d+us\n")

    def test_chosen_cpus_only(self):
        naps = 4 * NAPS  # taskset itself may begin on CPU 0
        command = [tool("taskset"), "-c", "1", workload("nanosleep_loop"), naps, 2 * MS]
        report, _ = offcpu("--cpu", "0", "--", *command)
        self.assert_adds_up(report, all_cpus=False)
        self.assertLess(sum(row["switches"] for row in report["threads"]), naps / 2)
        report, _ = offcpu("--cpu", "1", "--", *command)
        self.assertGreaterEqual(sum(row["switches"] for row in report["threads"]), naps - HIDDEN)

    def test_a_recording_has_the_same_report(self):
        for form in ("text", "json", "csv", "ndjson"):
            live, recording = f"{self.folder}/live.{form}", f"{self.folder}/x.odt"
            finished = overdue("offcpu", "-f", form, "-o", live, "--save", recording, "--",
                               workload("nanosleep_loop"), NAPS, 2 * MS)
            self.assertEqual(finished.status, 0, finished)
            replayed = overdue("report", recording, "-f", form)
            self.assertEqual(replayed.status, 0, replayed)
            with open(live, encoding="utf-8") as file:
                self.assertEqual(replayed.out, file.read(), form)

    def test_kernel_threads_have_their_full_names(self):
        def name_of(tid):
            with open(f"/proc/{tid}/comm", encoding="latin-1") as file:
                return file.read()[:-1]
        with open("/proc/2/task/2/children", encoding="ascii") as file:
            names = {int(tid): name_of(tid) for tid in file.read().split()}
        whole = {tid: name for tid, name in names.items()
                 if len(name) > 15 and (name.startswith("kworker/R-") or not name.startswith("kworker/"))}
        if not whole:
            self.skipTest("no kernel thread has a longer name here")  # before Linux 5.17
        report, _ = offcpu("-a", "-d", "300ms", "--save", self.file)
        shown = {row["tid"]: row["comm"] for row in report["threads"]}
        self.assertEqual({tid: shown[tid] for tid in whole}, whole)
        workers = [tid for tid, name in names.items() if re.match(r"kworker/[0-9u]", name) and tid in shown]
        for tid in workers:  # the queue may be another one by now
            self.assertRegex(shown[tid], rf"^{re.escape(re.split('[-+]', names[tid])[0])}([-+]|$)")
        self.assertTrue(any("-" in shown[tid] or "+" in shown[tid] for tid in workers), shown)
        recorded = json.loads(overdue("report", self.file, "-f", "json").out)
        self.assertEqual({row["tid"]: row["comm"] for row in recorded["threads"]}, shown)

    def test_a_pause_does_not_count(self):
        with Live(tool("sleep"), "30") as sleeper:
            with attached("offcpu", "-f", "json", "-p", sleeper.pid) as session:
                eventually(lambda: os.path.exists(f"/run/overdue/{session.pid}.sock"), 10, "no socket")
                self.assertEqual(overdue("ctl", "--session", session.pid, "pause").status, 0)
                time.sleep(1)
                self.assertEqual(overdue("ctl", "--session", session.pid, "resume").status, 0)
                session.signal(signal.SIGINT)
                report = json.loads(session.finish().out)
        [row] = report["threads"]
        self.assertLess(row["sleeping_ns"], report["duration_ns"] - 900 * MS)

    def test_a_drawing_has_all_of_the_time(self):
        path = f"{self.folder}/waits.folded"
        report, _ = offcpu("--flame", path, "--", workload("nanosleep_loop"), 4 * NAPS, 2 * MS)
        [row] = rows_of(report, "nanosleep_loop")
        with open(path, encoding="utf-8") as file:
            stacks = [line.rsplit(" ", 1) for line in file.read().splitlines()]
        self.assertAlmostEqual(sum(int(us) * 1000 for _, us in stacks), row["offcpu_ns"], delta=row["offcpu_ns"] / 100)
        naps_us = sum(int(us) for stack, us in stacks if ";main;" in stack and "nanosleep_[k]" in stack)
        self.assertGreater(naps_us, 2000 * (4 * NAPS - HIDDEN), stacks)
        rest_us = sum(int(us) for stack, us in stacks if "without a stack" in stack)
        self.assertLess(rest_us, naps_us / 2, stacks)

    def test_run_queues_have_the_threads_that_are_pinned_to_a_cpu(self):
        spin = (tool("taskset"), "-c", "1", sys.executable, "-c", "while True: pass")
        with Live(*spin) as one, Live(*spin) as two, Live(tool("nice"), "-n", "5", *spin) as three, \
                Live(tool("taskset"), "-c", "1", tool("sleep"), "60") as sleeper:
            busy = {one.pid: 120, two.pid: 120, three.pid: 125}
            eventually(lambda: all(cpu_time(pid) > 0.1 for pid in busy), 20, "the threads do not run")
            before = {pid: scheduled(pid) for pid in busy}
            queues = self.run_queues("--cpu", "0,1")
            after = {pid: scheduled(pid) for pid in busy}
            all_tasks = self.run_queues("--cpu", "1", "-a")
            text = overdue("offcpu", "--run-queues", "--cpu", "1")
        self.assertEqual([queue["cpu"] for queue in queues], [0, 1])
        self.assertFalse(busy.keys() & {task["tid"] for task in queues[0]["tasks"]}, queues)
        rows = {task["tid"]: task for task in queues[1]["tasks"]}
        self.assertLessEqual(busy.keys(), rows.keys())
        self.assertNotIn(sleeper.pid, rows)
        self.assertLessEqual([task["state"] for task in queues[1]["tasks"]].count("running"), 1, rows)
        for pid, prio in busy.items():
            self.assertEqual((rows[pid]["pid"], rows[pid]["prio"]), (pid, prio), rows[pid])
            self.assertIn(rows[pid]["state"], ("running", "runnable"))
            self.assertGreaterEqual(rows[pid]["switches"], before[pid]["switches"], rows[pid])
            self.assertLessEqual(rows[pid]["switches"], after[pid]["switches"], rows[pid])
            if "vruntime" in before[pid]:  # a kernel with /proc/PID/sched
                self.assertGreaterEqual(rows[pid]["tree_key_ns"], before[pid]["vruntime"], rows[pid])
                self.assertLessEqual(rows[pid]["tree_key_ns"], after[pid]["vruntime"], rows[pid])
        [asleep] = [task for task in all_tasks[0]["tasks"] if task["tid"] == sleeper.pid]
        self.assertEqual((asleep["comm"], asleep["state"]), ("sleep", "asleep"))
        self.assertRegex(text.out, r"CPU 1\n S +task +PID +TID +tree-key +switches +prio\n"
                                   rf"(.*\n)* *>?R +\S+ +{one.pid} +{one.pid} +-?\d+\.\d{{6}} +\d+ +120\n")

    def run_queues(self, *arguments):
        finished = overdue("offcpu", "--run-queues", "-f", "json", *arguments)
        self.assertEqual(finished.status, 0, finished)
        return json.loads(finished.out)["cpus"]

    def test_run_queues_are_no_measurement(self):
        for arguments, says in ((("-p", 1), "--pid do not go together"), (("-d", "1s"), "--duration"),
                                (("-f", "csv"), "no format 'csv'"), (("--by", "name"), "--by"),
                                (("--", tool("true")), "starts no program")):
            finished = overdue("offcpu", "--run-queues", *arguments)
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(says, finished.err)

    def assert_cpus_add_up(self, report, of_ns):
        for figure in CPU_FIGURES:
            of_cpus = sum(cpu[figure] for cpu in report["cpus"])
            of_threads = sum(row[figure] for row in report["threads"])
            self.assertAlmostEqual(of_cpus, of_threads, delta=of_ns if figure.endswith("_ns") else of_ns / MS,
                                   msg=(figure, report["cpus"]))

    def test_cpus_add_up_to_the_time_of_the_threads(self):
        report, _ = offcpu("--by", "cpu", "--", workload("pipe_pingpong"), 20000)
        self.assert_cpus_add_up(report, report["duration_ns"] / 1000)
        longest = max(cpu["max_ns"] for cpu in report["cpus"])
        self.assertEqual(longest, max(row["max_ns"] for row in report["threads"]))
        with Live(tool("sleep"), "30") as sleeper:
            report, _ = offcpu("--by", "cpu", "-p", sleeper.pid, "-d", "500ms")
        [cpu], [row] = report["cpus"], report["threads"]
        self.assertEqual((cpu["sleeping_ns"], cpu["open_ns"]), (row["sleeping_ns"], row["open_ns"]))

    def test_waits_count_for_the_cpu_that_the_thread_left(self):
        command = [tool("taskset"), "-c", "1", workload("nanosleep_loop"), 4 * NAPS, 2 * MS]
        report, _ = offcpu("--by", "cpu", "--", *command)
        [cpu] = [cpu for cpu in report["cpus"] if cpu["cpu"] == 1]
        self.assertGreaterEqual(cpu["sleeping_ns"], 2 * MS * (4 * NAPS - HIDDEN), report["cpus"])
        self.assertGreaterEqual(cpu["switches"], 4 * NAPS - HIDDEN)
        for other in report["cpus"]:
            if other["cpu"] != 1:  # where taskset itself began
                self.assertLess(other["switches"], NAPS, report["cpus"])

    def test_cpus_have_intervals_that_add_up(self):
        recording = f"{self.folder}/x.odt"
        finished = overdue("offcpu", "--by", "cpu", "-f", "ndjson", "-i", "50ms", "--save", recording, "--stdout", "--",
                           workload("pipe_pingpong"), 60000)
        self.assertEqual(finished.status, 0, finished)
        lines = [json.loads(line) for line in finished.out.splitlines() if line.startswith("{")]
        total = next(line for line in lines if line["type"] == "report")
        intervals = [line for line in lines if line["type"] == "interval"]
        self.assertGreater(len(intervals), 2)
        self.assert_cpus_add_up(total, total["duration_ns"] / 1000)
        # The last interval may be incomplete; the total has its rest.
        rest = max(total["duration_ns"] - 50 * MS * len(intervals), 5 * MS) / total["duration_ns"]
        for cpu in total["cpus"]:
            for figure in ("oncpu_ns", "offcpu_ns", "switches"):
                counted = sum(one[figure] for line in intervals for one in line["cpus"] if one["cpu"] == cpu["cpu"])
                self.assertLessEqual(counted, cpu[figure] * 1.01 + MS, (figure, cpu))
                self.assertGreaterEqual(counted, cpu[figure] * (1 - 3 * rest) - MS, (figure, cpu))
        for form in ("text", "json", "csv"):
            replayed = overdue("report", recording, "-f", form)
            self.assertEqual(replayed.status, 0, replayed)
        self.assertEqual(json.loads(overdue("report", recording, "-f", "json").out)["cpus"], total["cpus"])
        self.assertEqual(overdue("report", recording, "-f", "csv").out.split(",", 4)[:4], ["type", "start", "end", "cpu"])
        without = f"{self.folder}/without.odt"
        self.assertEqual(overdue("offcpu", "--save", without, "--", tool("true")).status, 0)
        refused = overdue("report", without, "--by", "cpu")
        self.assertEqual(refused.status, 2, refused)
        self.assertIn("no totals by CPU", refused.err)

    def test_stacks_add_up_to_the_time_of_the_threads(self):
        report, _ = offcpu("--by", "stack", "--", workload("nanosleep_loop"), 4 * NAPS, 2 * MS)
        self.assert_adds_up(report)
        for comm in {row["comm"] for row in report["threads"]}:
            of_threads = sum(row["offcpu_ns"] for row in rows_of(report, comm))
            of_stacks = sum(stack["total_ns"] for stack in report["stacks"] if stack["comm"] == comm)
            self.assertAlmostEqual(of_stacks, of_threads, delta=of_threads / 1000, msg=comm)
        naps = [stack for stack in report["stacks"] if stack.get("state") == "sleeping"
                and "hrtimer_nanosleep" in [frame["function"] for frame in stack["frames"]]]
        self.assertGreaterEqual(sum(stack["total_ns"] for stack in naps), 2 * MS * (4 * NAPS - HIDDEN), naps)
        [woken] = [stack for stack in naps if stack.get("waker") == "vector local_timer"]
        self.assertIn("main", [frame["function"] for frame in woken["frames"] if not frame["kernel"]])
        self.assertIn("hrtimer_wakeup", [frame["function"] for frame in woken["waker_frames"]])
        self.assertGreaterEqual(woken["count"], 2 * NAPS)  # a hardened kernel hides some wakers
        self.assertGreaterEqual(woken["max_ns"], 2 * MS)

    def test_stacks_have_the_threads_that_ended_the_waits(self):
        report, _ = offcpu("--by", "stack", "--", tool("sh"), "-c", "sleep 0.1 | cat")
        [reading] = [stack for stack in report["stacks"] if stack["comm"] == "cat" and stack.get("waker") == "sleep"]
        self.assertEqual(reading["state"], "sleeping")
        self.assertTrue(any("read" in frame["function"] for frame in reading["frames"]), reading)
        self.assertTrue(reading["waker_frames"], reading)
        self.assertGreater(reading["total_ns"], 50 * MS)

    def test_short_waits_have_stacks_too_if_asked_for(self):
        # Not more: the stacks of many waits in a moment fill the buffer of a busy machine.
        report, _ = offcpu("--by", "stack", "--stacks-over", "1us", "--", workload("pipe_pingpong"), 500)
        self.assertEqual(report["receipt"]["lost"], 0, report["receipt"])
        rows = rows_of(report, "pipe_pingpong")
        rest_ns = sum(stack["total_ns"] for stack in report["stacks"]
                      if stack["comm"] == "pipe_pingpong" and "state" not in stack)
        self.assertLess(rest_ns, sum(row["offcpu_ns"] for row in rows) / 2, report)
        self.assertGreater(sum(stack.get("count", 0) for stack in report["stacks"]), 250)

    def test_a_recording_has_the_same_stacks(self):
        recording, flame = f"{self.folder}/x.odt", f"{self.folder}/x.folded"
        for form in ("text", "json", "csv", "ndjson"):
            live = f"{self.folder}/live.{form}"
            finished = overdue("offcpu", "--by", "stack", "-f", form, "-o", live, "--save", recording, "--flame", flame,
                               "--waker", "--", workload("nanosleep_loop"), NAPS, 2 * MS)
            self.assertEqual(finished.status, 0, finished)
            replayed = overdue("report", recording, "-f", form)
            self.assertEqual(replayed.status, 0, replayed)
            with open(live, encoding="utf-8") as file:
                self.assertEqual(replayed.out, file.read(), form)
        self.assertIn("woken by vector local_timer", overdue("report", recording, "-v").out)
        self.assertIn("THREAD ", overdue("report", recording, "--by", "thread").out)
        table = overdue("report", recording, "-f", "csv").out.splitlines()
        self.assertEqual(table[0], "type,start,end,comm,state,total_ns,count,max_ns,stack,waker,waker_stack")
        with open(flame, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"hrtimer_nanosleep_\[k\](;\w+_\[k\])*;woken by_\[o\];"
                                          r".*hrtimer_wakeup_\[k\];.*;vector local_timer_\[t\] \d+\n")
        without = f"{self.folder}/without.odt"
        self.assertEqual(overdue("offcpu", "--save", without, "--", tool("true")).status, 0)
        refused = overdue("report", without, "--by", "stack")
        self.assertEqual(refused.status, 2, refused)
        self.assertIn("no stacks of waits", refused.err)

    def test_traces_in_text(self):
        path = f"{self.folder}/trace.txt"
        with open(path, "w", encoding="ascii") as file:
            file.write(TRACE)
        report, _ = offcpu("--from-trace", path)
        self.assert_adds_up(report)
        [java], [idle] = rows_of(report, "java"), rows_of(report, "swapper/20")
        self.assertEqual((java["tid"], java["max_ns"], java["sleeping_ns"]), (33233, 151_000, 151_000))
        self.assertEqual((idle["max_ns"], idle["displaced_by"][0]["comm"]), (3000, "java"))
        finished = overdue("offcpu", "--from-trace", path, "--max", "-i", "1s")
        lines = [line for line in finished.out.splitlines() if "max offcpu" in line]
        self.assertEqual([line[26:] for line in lines], [" max offcpu for java is 151us",
                                                         " max offcpu for swapper/20 is 3us"])
        report, _ = offcpu("--from-trace", path, "--cpu", "20")
        self.assertEqual(len(report["threads"]), 2)
        table = overdue("offcpu", "--from-trace", path, "-f", "csv", "--by", "displacer").out.splitlines()
        self.assertEqual(table[0], "type,start,end,comm,tid,count,total_ns,max_ns")
        self.assertRegex(table[1], r"^total,[^,]*,[^,]*,java,33233,1,3000,3000$")
        late = f"{self.folder}/late.txt"
        with open(late, "w", encoding="ascii") as file:  # a gap of 77 years
            file.write(TRACE + TRACE.replace("6907585", "2436907585"))
        finished = overdue("offcpu", "--from-trace", late, "-i", "10ms", "-f", "ndjson")
        intervals = [json.loads(line) for line in finished.out.splitlines() if '"interval"' in line]
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(len(intervals), 3)  # the gap is one; then one of 10 ms, and the rest
        for arguments, status, says in ((("--from-trace", path, "--cpu", "3"), 1, "no context switch"),
                                        (("--from-trace", path, "--flame", "x.svg"), 2, "no --flame"),
                                        (("--from-trace", "/nonexistent"), 1, "cannot open the trace"),
                                        (("--from-trace", path, "-a"), 2, "takes no target")):
            finished = overdue("offcpu", *arguments)
            self.assertEqual(finished.status, status, finished)
            self.assertIn(says, finished.err)

    def test_agrees_with_perf(self):
        """perf records the switches that Overdue counts; --from-trace reads what perf prints."""
        perf = shutil.which("perf") or self.skipTest("needs perf")
        data, text = f"{self.folder}/perf.data", f"{self.folder}/perf.txt"
        for _ in range(4):
            report, _ = offcpu("--", perf, "record", "-q", "-o", data, "-m", "8M", "-e",
                               "sched:sched_switch,sched:sched_waking", "-a", "--", workload("pipe_pingpong"), 5000)
            script = run([perf, "script", "-i", data])
            self.assertEqual(script.status, 0, script)
            with open(text, "w", encoding="utf-8") as file:
                file.write(script.out)
            traced, _ = offcpu("--from-trace", text)
            if traced["receipt"]["unmatched"] <= 20:
                break
        else:
            self.skipTest("this kernel hides switches from idle threads from perf, and the receipt says so")
        self.assertEqual(traced["receipt"]["lost"], 0)
        seen = {row["tid"]: row for row in rows_of(traced, "pipe_pingpong")}
        ours = rows_of(report, "pipe_pingpong")
        self.assertEqual(len(ours), 2)
        for row in ours:
            other = seen[row["tid"]]
            self.assertAlmostEqual(row["switches"], other["switches"], delta=row["switches"] / 100 + 10)
            self.assertAlmostEqual(row["oncpu_ns"], other["oncpu_ns"], delta=0.05 * row["wall_ns"], msg=(row, other))
            if row["tid"] == min(one["tid"] for one in ours):  # perf has forked the parent before the trace begins
                continue
            # The trace has the child from its first run on; it was in the run queue before.
            earlier_ns = row["wall_ns"] - other["wall_ns"]
            for figure in ("offcpu_ns", "runnable_ns"):
                row[figure] -= earlier_ns
            for figure in ("offcpu_ns", "blocked_ns", "runnable_ns", "preempted_ns"):
                self.assertAlmostEqual(row[figure], other[figure], delta=0.05 * row["wall_ns"], msg=(figure, row, other))

    def test_what_it_refuses(self):
        for arguments, says in ((("--max",), "add -i 1s"), (("--sort", "x"), "unknown column 'x'"),
                                (("-f", "json", "-i", "1s"), "use -f ndjson"),
                                (("--stacks-over", "1ms"), "--flame"), (("--by", "stacks"), "--by"),
                                (("--waker",), "--flame"), (("--by", "stack", "--sort", "max"), "no --sort"),
                                (("--by", "stack", "-i", "1s"), "no intervals"),
                                (("--by", "cpu", "--sort", "max"), "no --sort"),
                                (("--by", "cpu", "--max", "-i", "1s"), "--by cpu")):
            finished = overdue("offcpu", *arguments, "--", tool("true"))
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(says, finished.err)


if __name__ == "__main__":
    main()
