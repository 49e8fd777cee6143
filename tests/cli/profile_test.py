#!/usr/bin/python3
"""`overdue profile`: shares of functions and threads, against what programs did and what perf sees."""
import collections
import gzip
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, FolderTest, long_or_short, main, overdue, run, tool, workload

FUNCTIONS = ("spin_seventy", "spin_twenty", "spin_ten")
MS = long_or_short(4000, 1000)  # CPU time of a thread
SURELY = 4.5  # standard errors: one in 150,000 is beyond


def margin(share, *numbers):
    """How far the shares of two estimates may be apart; one sample in 50 may belong elsewhere."""
    return SURELY * math.sqrt(sum(share * (1 - share) / n for n in numbers)) + 0.02


def totals(report):
    sums = collections.Counter()
    for one in report["functions"]:
        sums[one["function"]] += one["total"]
    return sums


def shares(sums):
    whole = sum(sums[name] for name in FUNCTIONS)
    return {name: sums[name] / whole for name in FUNCTIONS}


def lost(report):
    return report["receipt"]["lost_by"].get("ring_full", 0)


class Profile(FolderTest):
    def report(self, *arguments, status=0, **options):
        """The report of a run, and what the program printed."""
        path = f"{self.folder}/report.json"
        finished = overdue("profile", "-f", "json", "-o", path, *arguments, **options)
        self.assertEqual(finished.status, status, finished)
        with open(path, encoding="utf-8") as file:
            return json.load(file), finished

    def check_sums(self, report):
        """Each sample is counted once, everywhere."""
        n = report["profile"]["samples"]
        self.assertEqual(sum(thread["samples"] for thread in report["threads"]), n)
        self.assertEqual(sum(one["self"] for one in report["functions"]), n)
        self.assertEqual(report["receipt"]["events"], n)
        self.assertEqual(sum(cpu["samples"] for cpu in report["profile"]["cpus"]), n + lost(report))

    def test_shares_are_those_of_the_program(self):
        report, finished = self.report("-F", "999", "--", workload("burns"), 2, MS)
        self.check_sums(report)
        self.assertEqual(report["receipt"]["lost"], 0, report["receipt"])
        n, spent = report["profile"]["samples"], json.loads(finished.out)
        # A timer that comes late skips a sample, and this kernel hides some: never too many, though.
        self.assertGreater(n, 2 * MS * 0.999 * 0.75)
        self.assertLess(n, 2 * MS * 0.999 * 1.1 + 50)
        seen, true = shares(totals(report)), shares(spent)
        for name in FUNCTIONS:
            self.assertLess(abs(seen[name] - true[name]), margin(true[name], n), (name, seen, true, n))
        burn = next(one for one in report["functions"] if one["function"] == "burn")
        self.assertGreater(burn["total_share"], 0.95)

    def test_threads_have_their_names_and_cpu_time(self):
        report, _ = self.report("-F", "499", "--", workload("burns"), 3, MS // 2)
        # The first thread only starts the others.
        threads = {thread["comm"]: thread for thread in report["threads"] if thread["share"] > 0.05}
        self.assertEqual(set(threads), {"burner-0", "burner-1", "burner-2"})
        for thread in threads.values():
            self.assertEqual(thread["process"], "burns")
            self.assertLess(abs(thread["share"] - 1 / 3), margin(1 / 3, report["profile"]["samples"]))
            used = thread["cpu_share"] * report["duration_ns"] / 1e6
            self.assertLess(abs(used - MS / 2), MS / 2 * 0.25 + 50)

    def test_a_recursion_counts_once(self):
        report, _ = self.report("--", workload("burns"), 1, MS // 2, 40)
        [descend] = [one for one in report["functions"] if one["function"] == "descend"]
        self.assertLessEqual(descend["total"], report["profile"]["samples"])
        self.assertGreater(descend["total_share"], 0.9)
        depth = collections.Counter(frame["function"] for frame in report["stacks"][0]["frames"])["descend"]
        self.assertEqual(depth, 41)
        self.assertFalse(report["stacks"][0]["cut"])

    def test_a_stack_deeper_than_the_copy_is_cut_and_says_so(self):
        report, _ = self.report("--", workload("burns"), 1, MS // 2, 4000)
        self.assertTrue(report["stacks"][0]["cut"])
        self.assertTrue(any("without the outermost frames" in note for note in report["notes"]), report["notes"])
        deep, _ = self.report("--user-stack-bytes", "49152", "--", workload("burns"), 1, MS // 4, 400)
        self.assertFalse(deep["stacks"][0]["cut"])
        none, _ = self.report("--user-stack-bytes", "0", "--", workload("burns"), 1, MS // 4)
        self.assertEqual(none["functions"][0]["function"], "[no stack]")
        self.check_sums(none)

    def test_processes_that_have_ended_have_names(self):
        program = f"{self.folder}/deleted"
        shutil.copy(workload("burns"), program)
        script = f"{program} 1 {MS // 2}; rm {program}; sleep 0.3; {workload('burns')} 1 {MS // 4}"
        report, _ = self.report("-F", "499", "--", "sh", "-c", script)
        modules = {one["module"] for one in report["functions"] if one["function"] == "spin_seventy"}
        self.assertEqual(len(modules), 2, modules)
        self.assertIn("deleted", {thread["process"] for thread in report["threads"]})

    def test_the_kernel_and_the_call_that_led_there(self):
        report, _ = self.report("--by", "thread", "--", workload("computes_in"), "random", 200)
        n = report["profile"]["samples"]
        self.assertGreater(report["profile"]["kernel_samples"], n / 2)
        [fill] = [one for one in report["functions"] if one["function"] == "fill_buffer"]
        self.assertGreater(fill["total_share"], 0.3)
        self.assertTrue(any(one["kernel"] and one["module"] == "[kernel]" for one in report["functions"]))

    def burn_beside(self, *arguments, pinned_to=None):
        """The report while a program burns CPU time that Overdue did not start."""
        command = [workload("burns"), "1", "60000"]
        if pinned_to is not None:
            command = [tool("taskset"), "-c", str(pinned_to), *command]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as burning:
            try:
                time.sleep(0.1)
                return self.report("-d", "1s", *[burning.pid if word == "PID" else word for word in arguments])[0]
            finally:
                burning.kill()

    def test_a_running_process_and_the_whole_machine(self):
        report = self.burn_beside("-p", "PID")
        self.assertEqual({thread["process"] for thread in report["threads"]}, {"burns"})
        self.assertGreater(shares(totals(report))["spin_seventy"], 0.4)
        whole = self.burn_beside("-a")
        self.check_sums(whole)
        self.assertIn("burner-0", {thread["comm"] for thread in whole["threads"]})
        self.assertNotIn(0, {thread["tid"] for thread in whole["threads"]})
        self.assertEqual(len(whole["profile"]["cpus"]), os.cpu_count())
        for cpu in whole["profile"]["cpus"]:
            self.assertLessEqual(cpu["busy_share"], 1)

    def test_chosen_cpus_only(self):
        if os.cpu_count() < 2:
            self.skipTest("needs two CPUs")
        report = self.burn_beside("-a", "--cpu", "0", pinned_to=1)
        self.assertEqual([cpu["cpu"] for cpu in report["profile"]["cpus"]], [0])
        self.assertNotIn("burner-0", {thread["comm"] for thread in report["threads"]})
        report = self.burn_beside("-a", "--cpu", "1", pinned_to=1)
        self.assertIn("burner-0", {thread["comm"] for thread in report["threads"]})

    def test_lost_samples_are_counted(self):
        with subprocess.Popen([workload("burns"), "1", "60000"], stdout=subprocess.DEVNULL) as burning:
            path = f"{self.folder}/report.json"
            with subprocess.Popen([OVERDUE, "profile", "-F", "999", "--buffer", "64k", "-f", "json", "-o", path, "-p",
                                   str(burning.pid)], stderr=subprocess.DEVNULL) as profiling:
                time.sleep(1.5)
                profiling.send_signal(signal.SIGSTOP)
                time.sleep(0.5)
                profiling.send_signal(signal.SIGCONT)
                time.sleep(0.2)
                profiling.send_signal(signal.SIGINT)
                self.assertEqual(profiling.wait(30), 0)
            burning.kill()
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertGreater(lost(report), 0)
        self.check_sums(report)

    def test_every_format_and_the_recording(self):
        live = f"{self.folder}/live.txt"
        finished = overdue("profile", "-F", "499", "--save", self.file, "-o", live, "--flame",
                           f"{self.folder}/flame.svg", "--", workload("burns"), 2, MS // 2)
        self.assertEqual(finished.status, 0, finished)
        with open(live, encoding="utf-8") as file:
            self.assertEqual(overdue("report", self.file).utf8, file.read())
        report = json.loads(overdue("report", self.file, "-f", "json").out)
        n = report["profile"]["samples"]
        for options, root in (((), "burns"), (("--by", "thread"), "burner-0")):
            folded = overdue("report", self.file, "-f", "folded", *options).out
            self.assertEqual(sum(int(line.rsplit(" ", 1)[1]) for line in folded.splitlines()), n)
            self.assertRegex(folded, rf"(?m)^{root};.*;burn;spin_seventy \d+$")
        rows = overdue("report", self.file, "-f", "csv", "--top", 2).out.splitlines()
        self.assertEqual(rows[0], "function,module,kernel,self,total,self_share,total_share")
        self.assertTrue(rows[1].startswith("spin_seventy,") and rows[3].startswith("#"), rows[:4])
        rows = overdue("report", self.file, "-f", "csv", "--by", "thread").out.splitlines()
        self.assertEqual(rows[0], "pid,tid,comm,process,samples,share,cpu_share")
        lines = [json.loads(line) for line in overdue("report", self.file, "-f", "ndjson").out.splitlines()]
        self.assertEqual([line["profile"] for line in lines if line["type"] == "report"], [report["profile"]])
        svg = overdue("report", self.file, "-f", "svg").out
        xml.etree.ElementTree.fromstring(svg.encode("latin-1"))
        self.assertIn("spin_seventy", svg)
        with open(f"{self.folder}/flame.svg", encoding="utf-8") as file:
            self.assertIn("spin_seventy", file.read())
        self.assertIn("<html", overdue("report", self.file, "-f", "html").out)
        exported = json.loads(overdue("report", self.file, "-f", "speedscope").out)
        self.assertIn("spin_seventy", [frame["name"] for frame in exported["shared"]["frames"]])
        self.assertEqual(sum(sum(one["weights"]) for one in exported["profiles"]), n)
        path = f"{self.folder}/cpu.pb.gz"
        self.assertEqual(overdue("report", self.file, "--flame", path).status, 0)
        with gzip.open(path) as file:
            self.assertIn(b"spin_seventy", file.read())
        self.assertEqual(overdue("report", self.file, "--top", "1").out.count("  spin_"), 2)  # a function, and the frame of a stack

    def test_intervals_add_up(self):
        finished = overdue("profile", "-F", "499", "-i", "300ms", "-f", "ndjson", "--", workload("burns"), "1", MS)
        self.assertEqual(finished.status, 0, finished)
        lines = [json.loads(line) for line in finished.err.splitlines() if line.startswith("{")]
        intervals = [line for line in lines if line["type"] == "interval"]
        whole = next(line for line in lines if line["type"] == "report")
        whole["receipt"] = next(line for line in lines if line["type"] == "receipt")
        self.assertGreaterEqual(len(intervals), 3)
        for one in intervals:
            self.assertLess(one["start"], one["end"])
            self.assertEqual(sum(thread["samples"] for thread in one["threads"]), one["profile"]["samples"])
            self.assertEqual(sum(function["self"] for function in one["functions"]), one["profile"]["samples"])
        for before, after in zip(intervals, intervals[1:]):
            self.assertEqual(before["end"], after["start"])
        self.check_sums(whole)
        self.assertEqual(sum(one["profile"]["samples"] for one in intervals), whole["profile"]["samples"])
        sums = collections.Counter()
        for one in intervals:
            sums.update(totals(one))
        self.assertEqual(sums, totals(whole))

    def test_intervals_as_text_and_csv(self):
        burns = ("-F", "499", "-i", "300ms", "--", workload("burns"), "1", MS)
        text = overdue("profile", *burns).err
        self.assertGreaterEqual(len(re.findall(r"^\d\d:\d\d:\d\d\.\d+ to \d\d:\d\d:\d\d\.\d+$", text, re.MULTILINE)), 3, text)
        rows = [line.split(",") for line in overdue("profile", "-f", "csv", *burns).err.splitlines() if not line.startswith("#")]
        self.assertEqual(rows[0][:4], ["type", "start", "end", "function"])
        self.assertEqual({row[0] for row in rows[1:]}, {"interval", "total"})

    def test_cycles_take_the_samples_where_there_is_a_counter(self):
        doctor = json.loads(overdue("doctor", "--no-calibrate", "-f", "json").out)
        has_counter = next(one for one in doctor["features"] if one["name"] == "hardware_pmu")["yes"]
        path = f"{self.folder}/report.json"
        finished = overdue("profile", "--event", "cycles", "-f", "json", "-o", path, "--", workload("burns"), "1", MS)
        if not has_counter:
            self.assertEqual(finished.status, 125, finished)
            self.assertRegex(finished.err, r"cannot sample CPUs by their cycles: .*hardware.*\nhint: .*--event cpu-clock needs none")
            self.assertFalse(os.path.exists(path))
            return
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual(report["profile"]["event"], "cycles")
        self.assertEqual(report["backend"], "cycles")
        self.check_sums(report)
        self.assertGreater(shares(totals(report))["spin_seventy"], 0.5)

    def test_without_a_counter_cycles_are_refused(self):
        finished = overdue("profile", "--event", "cycles", "--without", "hardware_pmu", "-a", "-d", "1s")
        self.assertEqual(finished.status, 1, finished)
        self.assertIn("cannot sample CPUs by their cycles", finished.err)
        self.assertIn("--event cpu-clock", finished.err)

    def test_wrong_words(self):
        for words in (("--event", "light"), ("-i", "1s", "-f", "json"), ("-i", "1s", "-f", "svg"), ("-F", "0"), ("-F", "1000"), ("-F", "x"), ("-f", "perfetto"), ("--by", "process"),
                      ("--user-stack-bytes", "50000")):
            self.assertEqual(overdue("profile", *words, "-a", "-d", "1s").status, 2, words)
        self.assertEqual(overdue("profile", "--").status, 2)
        made = overdue("profile", "--save", self.file, "--", "true")
        self.assertEqual(made.status, 0, made)
        for words in (("--view", "stalls"), ("--hist",), ("--by", "caller"), ("-T", "1ms"), ("-f", "perfetto")):
            self.assertEqual(overdue("report", self.file, *words).status, 2, words)

    def test_a_rate_in_step_with_ticks_is_said(self):
        for rate, is_said in ((100, True), (99, False)):
            report, _ = self.report("-F", rate, "--", "true")
            self.assertEqual(any("in step" in note for note in report["notes"]), is_said, report["notes"])

    def test_shares_are_those_of_perf(self):
        perf, rate = tool("perf"), 499
        data = f"{self.folder}/perf.data"
        recorded = run([perf, "record", "-e", "cpu-clock", "-F", str(rate), "--call-graph", "dwarf,4096", "-o", data,
                        "--", workload("burns"), "2", str(MS)], timeout=120)
        if recorded.status != 0:
            self.skipTest(f"perf record does not work here: {recorded.err[-200:]}")
        listed = run([perf, "report", "-i", data, "--no-children", "-g", "none", "--sort", "sym", "-F",
                      "sample,sym", "--stdio"], timeout=120)
        by_perf = collections.Counter()
        for count, name in re.findall(r"(?m)^\s*(\d+)\s+\[\.\] (\w+)", listed.out):
            by_perf[name] += int(count)
        report, _ = self.report("-F", rate, "--", workload("burns"), 2, MS)
        numbers = sum(by_perf[name] for name in FUNCTIONS), report["profile"]["samples"]
        self.assertGreater(min(numbers), 2 * MS * rate / 1000 * 0.5, listed)
        ours, theirs = shares(totals(report)), shares(by_perf)
        for name in FUNCTIONS:
            self.assertLess(abs(ours[name] - theirs[name]), margin(theirs[name], *numbers), (ours, theirs))

    def test_functions_of_interpreters(self):
        python, _ = self.report("--", tool("python3"), "-c", "sum(i * i for i in range(3_000_000))")
        self.assertTrue(any(one["function"] in ("_PyEval_EvalFrameDefault", "<genexpr>") for one in python["functions"]),
                        python["functions"][:5])

    def test_functions_of_generated_code(self):
        program = "function hotLoop(n) { let x = 1; for (let i = 0; i < n; i++) x = (x * 31 + i) % 65521; return x; }" \
                  "let end = process.cpuUsage().user + 1500000, r = 0;" \
                  "while (process.cpuUsage().user < end) r += hotLoop(100000); console.log(r);"
        report, _ = self.report("-F", "499", "--", tool("node"), "--perf-basic-prof", "-e", program,
                                cwd=self.folder)
        hot = sum(one["self_share"] for one in report["functions"] if "hotLoop" in one["function"])
        self.assertGreater(hot, 0.3, report["functions"][:5])


if __name__ == "__main__":
    main()
