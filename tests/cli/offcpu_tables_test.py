#!/usr/bin/python3
"""The tables of `overdue offcpu` that are not of threads: stacks, CPUs, and the run queues of a moment."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from offcpu_case import ASLEEP, HIDDEN, MS, NAPS, OffcpuCase, cpu_time, offcpu, rows_of
from overdue_test import Live, eventually, main, overdue, tool, workload

CPU_FIGURES = ("oncpu_ns", "sleeping_ns", "uninterruptible_ns", "runqueue_ns", "preempted_ns", "throttled_ns",
               "switches", "preemptions")


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


class Tables(OffcpuCase):
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
        self.assertGreaterEqual(cpu["sleeping_ns"], ASLEEP * (4 * NAPS - HIDDEN), report["cpus"])
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
        # Not by name: a wait within execve() has the name from before.
        of_threads = sum(row["offcpu_ns"] for row in report["threads"])
        of_stacks = sum(stack["total_ns"] for stack in report["stacks"])
        self.assertAlmostEqual(of_stacks, of_threads, delta=of_threads / 1000)
        naps = [stack for stack in report["stacks"] if stack.get("state") == "sleeping"
                and "hrtimer_nanosleep" in [frame["function"] for frame in stack["frames"]]]
        self.assertGreaterEqual(sum(stack["total_ns"] for stack in naps), ASLEEP * (4 * NAPS - HIDDEN), naps)
        [woken] = [stack for stack in naps if stack.get("waker") == "vector local_timer"]
        self.assertIn("main", [frame["function"] for frame in woken["frames"] if not frame["kernel"]])
        self.assertIn("hrtimer_wakeup", [frame["function"] for frame in woken["waker_frames"]])
        self.assertGreaterEqual(woken["count"], 2 * NAPS)  # a hardened kernel hides some wakers
        self.assertGreaterEqual(woken["max_ns"], ASLEEP)

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
                self.assertEqual(replayed.utf8, file.read(), form)
        self.assertIn("woken by vector local_timer", overdue("report", recording, "-v").out)
        self.assertIn("THREAD ", overdue("report", recording, "--by", "thread").out)
        table = overdue("report", recording, "-f", "csv").out.splitlines()
        self.assertEqual(table[0], "type,start,end,comm,state,total_ns,count,max_ns,stack,waker,waker_stack")
        with open(flame, encoding="utf-8") as file:
            self.assertRegex(file.read(), r"hrtimer_nanosleep_\[k\](;\w+_\[k\])*;woken by_\[o\];"
                                          r".*hrtimer_wakeup_\[k\];.*;vector local_timer_\[t\] \d+\n")
        without = f"{self.folder}/without.odt"
        self.assertEqual(overdue("offcpu", "--save", without, "--", tool("true")).status, 0)
        for options in (("--by", "stack"), ("-f", "folded")):
            refused = overdue("report", without, *options)
            self.assertEqual(refused.status, 2, refused)
            self.assertIn("no stacks of waits", refused.err)

    def test_stacks_are_a_report_of_their_own(self):
        """`-f folded` and the drawings: the same stacks as `--flame FILE`, live and from a recording."""
        recording, flame = f"{self.folder}/x.odt", f"{self.folder}/x.folded"
        live = {}
        for form in ("folded", "svg", "speedscope", "pprof"):
            live[form] = f"{self.folder}/live.{form}"
            finished = overdue("offcpu", "-f", form, "-o", live[form], "--save", recording, "--flame", flame, "--waker",
                               "--", workload("nanosleep_loop"), NAPS, 2 * MS)
            self.assertEqual(finished.status, 0, finished)
            replayed = f"{self.folder}/replayed.{form}"
            self.assertEqual(overdue("report", recording, "-f", form, "-o", replayed).status, 0)
            with open(live[form], "rb") as one, open(replayed, "rb") as other:
                self.assertEqual(one.read(), other.read(), form)
            folded = f"{self.folder}/replayed.folded"
            self.assertEqual(overdue("report", recording, "-f", "folded", "-o", folded).status, 0)
            with open(flame, encoding="utf-8") as one, open(folded, encoding="utf-8") as other:
                self.assertEqual(one.read(), other.read(), form)
        with open(live["folded"], encoding="utf-8") as file:
            stacks = [line.rsplit(" ", 1) for line in file.read().splitlines()]
        naps = [int(us) for stack, us in stacks if ";main;" in stack and "nanosleep_[k]" in stack
                and stack.startswith("nanosleep_loop;")]
        self.assertGreater(sum(naps), 2000 * (NAPS - HIDDEN), stacks)
        redrawn = overdue("flame", live["folded"], "-f", "folded")
        self.assertEqual(sorted(redrawn.out.splitlines()), sorted(" ".join(stack) for stack in stacks))
        with open(live["svg"], encoding="utf-8") as file:
            self.assertIn("Where threads were off the CPU", file.read())
        for options, says in ((("--by", "name"), "no rows by name"), (("-i", "1s"), "no intervals"),
                              (("--sort", "max"), "no --sort"), (("--top", "3"), "no --top"),
                              (("--max", "-i", "1s"), "as text"), (("--from-trace", recording), "no -f folded")):
            refused = overdue("offcpu", "-f", "folded", *options, "--", tool("true"))
            self.assertEqual(refused.status, 2, refused)
            self.assertIn(says, refused.err)
        self.assertIn("no rows by cpu", overdue("report", recording, "-f", "folded", "--by", "cpu").err)


if __name__ == "__main__":
    main()
