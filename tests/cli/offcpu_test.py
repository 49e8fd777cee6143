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
from offcpu_case import ASLEEP, HIDDEN, MS, NAPS, SPIN, OffcpuCase, offcpu, rows_of
from overdue_test import SLOWER, Live, attached, eventually, main, overdue, run, tool, workload
from quota import QuotaMixin

TRACE = """\
<idle>-0     [020] 6907585.873080: sched_switch: 0:120:R ==> 33233:110: java
<...>-33233  [020] 6907585.873083: sched_switch: 33233:110:S ==> 0:120: swapper/20
<idle>-0     [020] 6907585.873234: sched_switch: 0:120:R ==> 33233:110: java
"""


def idle_ticks(cpu):
    with open("/proc/stat", encoding="ascii") as file:
        return next(int(line.split()[4]) for line in file if line.startswith(f"{cpu} "))


class Offcpu(QuotaMixin, OffcpuCase):
    def test_sleeps_as_the_program_knows_them(self):
        report, finished = offcpu("--", workload("nanosleep_loop"), NAPS, 2 * MS)
        self.assert_adds_up(report)
        [row] = rows_of(report, "nanosleep_loop")
        asleep_ns = int(finished.out.split()[0])  # all sleeps, by the program's clock
        self.assertGreaterEqual(row["switches"], NAPS - HIDDEN)
        self.assertGreaterEqual(row["sleeping_ns"], ASLEEP * (NAPS - HIDDEN))
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

    def test_a_drawing_of_all_time(self):
        """On the CPU and off it: all that the thread lived, and what the program knows of each."""
        path, computed_ms, slept_ms = f"{self.folder}/all.folded", 400, 200
        program = f"""\
import time
def crunch(end):
    while time.process_time() < end: sum(range(999))
def nap(): time.sleep({slept_ms / 1000})
crunch(time.process_time() + {0.6 * (SLOWER - 1)})  # until the interpreter has been found
for _ in range(2):
    crunch(time.process_time() + {computed_ms / 2000})
    nap()
crunch(time.process_time() + 0.2)
"""
        report, _ = offcpu("--on-cpu", "--flame", path, "--save", self.file, "--", sys.executable, "-c", program)
        [row] = report["threads"]
        with open(path, encoding="utf-8") as file:
            drawn = file.read()
        stacks = [line.rsplit(" ", 1) for line in drawn.splitlines()]
        lived_ns = row["oncpu_ns"] + row["offcpu_ns"]
        self.assertAlmostEqual(sum(int(us) * 1000 for _, us in stacks), lived_ns, delta=lived_ns / 1000)
        slept_us = sum(int(us) for stack, us in stacks if ";nap;" in stack and ";sleeping" in stack)
        self.assertGreaterEqual(slept_us, 2 * slept_ms * 1000, drawn)
        crunched_us = sum(int(us) for stack, us in stacks if ";crunch" in stack)
        self.assertGreater(crunched_us, 0.7 * computed_ms * 1000, drawn)
        self.assertEqual(overdue("report", self.file, "-f", "folded").out, drawn)

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
                                (("--waker",), "--flame"), (("--on-cpu",), "--flame"), (("--by", "stack", "--sort", "max"), "no --sort"),
                                (("--by", "stack", "-i", "1s"), "no intervals"),
                                (("--by", "cpu", "--sort", "max"), "no --sort"),
                                (("--by", "cpu", "--max", "-i", "1s"), "--by cpu")):
            finished = overdue("offcpu", *arguments, "--", tool("true"))
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(says, finished.err)


if __name__ == "__main__":
    main()
