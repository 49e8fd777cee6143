#!/usr/bin/python3
"""Trace files: a report from the file is the report of the run, and reading needs nothing else."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (LONG, NOBODY, OVERDUE, FolderTest, Live, attached, counts, long_or_short,
                          main, overdue, run, tool, workload)

VIEWS = ([], ["--by", "process"], ["--by", "thread"], ["--by", "container"], ["--by", "name,cgroup"],
         ["--by", "process,thread"], ["--hist"], ["--sort", "name", "--top", "3"], ["-e", "%file"],
         ["--discover"], ["--calls"], ["--calls", "-e", "open*"])
FORMATS = ("text", "json", "ndjson", "csv")


class RecordingTest(FolderTest):
    def read(self, path):
        with open(path, "rb") as file:
            return file.read()

    def report(self, *options, file=None):
        finished = overdue("report", file or self.file, *options)
        self.assertEqual(finished.status, 0, finished)
        return finished.out


class Equality(RecordingTest):
    def live(self, *options, program=("named_threads", 3, 100), status=0):
        name, *arguments = program
        live = f"{self.folder}/live"
        finished = overdue("syscalls", *options, "--save", self.file, "-o", live, "--",
                           workload(name), *arguments)
        self.assertEqual(finished.status, status, finished)
        return self.read(live).decode("latin-1")

    def test_report_is_byte_for_byte_the_live_one(self):
        for options in VIEWS:
            if options in (["-e", "%file"], ["--calls", "-e", "open*"], ["--discover"]):
                continue  # calls that the recording leaves out; tested below
            for form in FORMATS:
                if form == "json" and "--calls" in options:
                    continue  # a stream: NDJSON under another name
                with self.subTest(options=options, form=form):
                    live = self.live(*options, "-f", form)
                    self.assertEqual(self.report(*options, "-f", form), live)

    def test_of_a_filtered_run(self):
        for options in (["-e", "%file", "-f", "json"], ["--calls", "-e", "open*", "-f", "ndjson"]):
            live = self.live(*options)
            self.assertIn("openat", live)
            self.assertEqual(self.report(*options), live)

    def test_of_intervals(self):
        live = self.live("-i", "100ms", "-f", "ndjson", program=("nanosleep_loop", 300, 1000000))
        last = [json.loads(line) for line in live.splitlines()][-2]
        again = json.loads(self.report("-f", "json"))
        self.assertEqual(again["syscalls"], last["syscalls"])

    def test_of_errors_and_unfinished_calls(self):
        live = self.live("-d", "500ms", "-f", "json", program=("block_forever", 3, 1),
                         status=128 + 14)
        self.assertEqual(self.report("-f", "json"), live)
        self.assertEqual(len(json.loads(live)["unfinished"]), 1)


class Events(RecordingTest):
    def record(self, *options, program=("nanosleep_loop", 20, 20000000)):
        name, *arguments = program
        finished = overdue("record", "-o", self.file, *options, "--", workload(name), *arguments)
        self.assertEqual(finished.status, 0, finished)
        return finished

    def findings(self, *options):
        lines = map(json.loads, self.report("-f", "ndjson", "--idle", *options).splitlines())
        return [line for line in lines if line["type"] == "stall"]

    def test_every_call_and_the_spans_of_several_probes(self):
        self.record("--events", "syscalls,sched", "--events", "block,net,irqs", "-T", "5ms")
        report = json.loads(self.report("-f", "json"))
        self.assertEqual(counts(report)["nanosleep"], 20)
        self.assertIn("execve", counts(report), "no call is too short")
        stalls = self.findings("--view", "stalls")
        sleeps = [one for one in stalls if one["span"] == "syscall" and one["name"] == "nanosleep"]
        self.assertGreaterEqual(len(sleeps), 18)  # the kernel hides some switches
        self.assertGreaterEqual(sum(one["span"] == "offcpu" for one in stalls), 18)
        for one in sleeps:
            self.assertTrue(one["user_stack"], one)
        self.assertEqual([(one["span"], one["time_ns"]) for one in self.findings("-T", "15ms")],
                         [(one["span"], one["time_ns"]) for one in stalls if one["latency_ns"] >= 15e6])
        self.assertEqual(overdue("report", self.file, "-T", "1ms").status, 2)
        self.assertIn("the recording has no spans shorter than 5.00ms", self.report("--view", "spans"))

    def test_without_a_threshold_every_span(self):
        self.record("--events", "sched", program=("nanosleep_loop", 20, 100000))
        stalls = self.findings()
        self.assertGreaterEqual(sum(one["span"] == "offcpu" for one in stalls), 18)
        self.assertGreaterEqual(sum(one["span"] == "wakeup" for one in stalls), 18)
        table = self.report("--view", "spans")
        self.assertRegex(table, r"(?m)^offcpu +sleeping +(1[89]|2\d) ")
        self.assertNotIn("shorter than", table)
        refused = overdue("report", self.file, "--view", "summary")
        self.assertEqual((refused.status, "no system calls" in refused.err), (2, True), refused)

    def test_calls_alone_explain_no_stall(self):
        self.record()
        for options in (("--view", "stalls"), ("-T", "5ms")):
            refused = overdue("report", self.file, *options)
            self.assertEqual(refused.status, 2, refused)
            self.assertIn("nothing that explains them", refused.err)

    def test_a_user_span_beside_calls(self):
        span = "nap=begin:syscalls:sys_enter_nanosleep,end:syscalls:sys_exit_nanosleep,key:tid"
        self.record("--events", "syscalls", "--events", span, "-T", "nap=5ms")
        self.assertEqual(counts(json.loads(self.report("-f", "json")))["nanosleep"], 20)
        naps = self.findings("--view", "stalls")
        self.assertGreaterEqual(len(naps), 18)
        self.assertEqual({(one["span"], one["name"]) for one in naps}, {("pair", "nap")})

    def test_names_that_are_none(self):
        for events, says in (("bogus", "no event 'bogus'"), ("syscals", "'syscalls' or 'syscall'?"), ("", "no event ''"),
                             ("hwlatx", "no event 'hwlatx'"), ("sched:irqsoff", "no event 'sched:irqsoff'"),
                             ("x=begin:foo", "foo")):
            with self.subTest(events=events):
                refused = overdue("record", "-o", self.file, "--events", events, "--", "true")
                self.assertEqual(refused.status, 2, refused)
                self.assertIn(says, refused.err)
        refused = overdue("record", "-o", self.file, "--events", "irq", "-e", "read", "--", "true")
        self.assertEqual(refused.status, 2, refused)
        self.assertFalse(os.path.exists(self.file))


class Record(RecordingTest):
    def record(self, *command, options=()):
        finished = overdue("record", "--events", "syscalls", "-o", self.file, *options, "--",
                           *command)
        self.assertEqual(finished.status, 0, finished)

    def test_every_view_and_format_without_privileges(self):
        self.record("sh", "-c", f"{workload('named_threads')} 3 200; {workload('errors')}; ls /etc; :")
        os.chmod(self.file, 0o644)
        ours = shutil.copy(OVERDUE, f"{self.folder}/overdue")
        os.chmod(ours, 0o755)
        for options in VIEWS:
            for form in FORMATS:
                with self.subTest(options=options, form=form):
                    command = [ours, "report", self.file, *options, "-f", form]
                    finished = run([*NOBODY, *command], env={"PATH": "/usr/bin:/bin"}, cwd="/")
                    self.assertEqual(finished.status, 0, finished)
                    self.assertEqual(finished.err, "")
                    self.assertGreater(len(finished.out), 10)
                    self.assertEqual(finished.out, self.report(*options, "-f", form))

    def test_knows_containers(self):
        self.record(workload("named_threads"), 2, 50)
        with open("/proc/self/cgroup", encoding="utf-8") as file:
            ours = {line.rstrip("\n").split(":", 2)[2] for line in file}
        for row in json.loads(self.report("--by", "container", "-f", "json"))["syscalls"]:
            self.assertIn(row["container"], ours)

    def test_that_cannot_begin_leaves_the_last_one(self):
        self.record("/bin/true")
        before = self.report("-f", "json")
        for arguments in (["--", "no-such-program"], ["-p", "4194303"]):
            finished = overdue("record", "-o", self.file, *arguments)
            self.assertNotEqual(finished.status, 0, finished)
            self.assertEqual(self.report("-f", "json"), before)

    def test_to_standard_output(self):
        with Live(workload("getppid_loop"), "60s", 1) as target:
            with open(self.file, "wb") as file:
                process = subprocess.run([OVERDUE, "record", "-o", "-", "-d", "200ms", "-p",
                                          str(target.pid)], stdout=file, stderr=subprocess.PIPE,
                                         check=False)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn(b"events, ", process.stderr)
        self.assertGreater(counts(json.loads(self.report("-f", "json")))["getppid"], 0)
        self.assertEqual(overdue("record", "-o", "-", "--", "true").status, 2)

    def test_says_what_syscalls_says(self):
        self.record(workload("named_threads"), 4, 500)
        recorded = json.loads(self.report("-f", "json"))
        live = json.loads(overdue("syscalls", "-f", "json", "--stdout", "--",
                                  workload("named_threads"), 4, 500).out)
        for name in ("getppid", "clone3", "prctl", "openat", "exit", "exit_group", "execve"):
            self.assertEqual(counts(recorded)[name], counts(live)[name], name)

    def test_seen_and_lost_are_made(self):
        self.record(workload("getppid_loop"), 300000, 2, options=["--buffer", "64k"])
        report = json.loads(self.report("-f", "json", "-e", "getppid"))
        self.assertLessEqual(counts(report)["getppid"], 600000)
        self.assertGreaterEqual(counts(report)["getppid"] + report["receipt"]["lost"], 600000)

    def test_file_is_private_and_a_link_others_may_have_put_there_is_refused(self):
        self.record("/bin/true")
        self.assertEqual(os.stat(self.file).st_mode & 0o777, 0o600)
        victim = f"{self.folder}/victim"
        with open(victim, "w", encoding="ascii") as file:
            file.write("precious")
        shared = f"{self.folder}/shared"
        os.mkdir(shared)
        os.chmod(shared, 0o1777)
        os.symlink(victim, f"{shared}/link")
        finished = overdue("record", "-o", f"{shared}/link", "--", "/bin/true")
        self.assertEqual(finished.status, 125, finished)
        self.assertEqual(self.read(victim), b"precious")

    def test_hostile_names_come_back_and_never_raw(self):
        self.record(workload("hostile_comm"), 5)
        for form in ("text", "csv"):
            shown = self.report("--by", "thread", "-f", form) + self.report("--calls", "-f", form)
            self.assertNotIn("\x1b", shown)
            self.assertNotIn("\x07", shown)
        report = json.loads(self.report("--by", "thread", "-f", "json"))
        names = {row["thread"]["comm"] for row in report["syscalls"]}
        self.assertTrue(any(name.startswith("e\nvil\x1b") for name in names), names)

    def test_attached(self):
        with Live(workload("getppid_loop"), "20s") as target:
            with attached("record", "-o", self.file, "-p", target.pid) as live:
                time.sleep(0.3)
                live.signal(signal.SIGTERM)
                finished = live.finish()
                self.assertEqual(finished.status, 0, finished)
        self.assertGreater(counts(json.loads(self.report("-f", "json")))["getppid"], 1000)


class Report(RecordingTest):
    """Reports that a recording cannot give."""

    def refused(self, *options, status, says):
        finished = overdue("report", self.file, *options)
        self.assertEqual(finished.status, status, finished)
        self.assertRegex(finished.err, says)
        self.assertEqual(finished.out, "", finished)

    def test_aggregates_have_no_single_calls(self):
        overdue("syscalls", "--save", self.file, "-o", "/dev/null", "--", "/bin/true")
        for form in FORMATS:
            self.refused("--calls", "-f", form, status=1, says="no single calls")

    def test_unfinished_calls_are_below_single_calls_live_and_replayed(self):
        for form in FORMATS:
            with self.subTest(form=form):
                live = f"{self.folder}/live"
                overdue("syscalls", "--calls", "-d", "500ms", "--save", self.file, "-f", form, "-o",
                        live, "--", workload("block_forever"), 3, 1)
                text = self.read(live).decode("latin-1")
                self.assertRegex(text, r'unfinished: read|Unfinished at the end:\n +read|'
                                       r'"unfinished":\[\{"name":"read"')
                self.assertEqual(self.report("--calls", "-f", form), text)

    def test_is_not_written_over_itself_or_for_nothing(self):
        overdue("record", "-q", "-o", self.file, "--", "/bin/true")
        whole = self.read(self.file)
        linked = f"{self.folder}/linked"
        os.link(self.file, linked)
        for output in (self.file, linked):
            self.refused("-o", output, status=2, says="the recording itself")
        with open(self.file, "ab") as file:  # report FILE >> FILE
            finished = subprocess.run([OVERDUE, "report", self.file], stdout=file,
                                      stderr=subprocess.PIPE, check=False)
        self.assertEqual(finished.returncode, 2)
        self.assertEqual(self.read(self.file), whole)
        output = f"{self.folder}/output"
        with open(output, "w", encoding="ascii") as file:
            file.write("precious")
        for options in (["-f", "jsn"], ["--sort", "bogus"], ["--by", "bogus"], ["--top", "-1"],
                        ["-e", "bogus"], ["--calls", "--hist"]):
            with self.subTest(options=options):
                self.refused("-o", output, *options, status=2, says=".")
                finished = overdue("syscalls", "-a", "-d", "100ms", "-o", output, *options)
                self.assertEqual(finished.status, 2, finished)
                self.assertEqual(self.read(output), b"precious")

    def test_options_that_would_do_nothing(self):
        overdue("record", "-q", "-o", self.file, "--", "/bin/true")
        for mode in ("--calls", "--discover"):
            for other in (["--by", "thread"], ["--hist"], ["--sort", "total"], ["--top", "3"]):
                with self.subTest(mode=mode, other=other):
                    self.refused(mode, *other, status=2, says=f"{mode}.*{other[0]} does not go")
                    finished = overdue("syscalls", mode, *other, "-a", "-d", "100ms")
                    self.assertEqual(finished.status, 2, finished)
        self.refused("--calls", "--discover", status=2, says="does not go")

    def test_cost_is_that_of_the_recording_whatever_is_shown(self):
        overdue("record", "-q", "-o", self.file, "--", workload("getppid_loop"), 1000)
        costs = {re.search(r"measuring cost .*", self.report(*options))[0]
                 for options in ([], ["-e", "execve"], ["--discover"], ["--calls", "-e", "brk"])}
        self.assertEqual(len(costs), 1, costs)


class Damage(RecordingTest):
    def test_kill_9_while_recording(self):
        for attempt in range(long_or_short(40, 6)):
            with Live(workload("getppid_loop"), "60s") as target:
                with attached("record", "-o", self.file, "-p", target.pid, settle=0.1) as live:
                    time.sleep(random.uniform(0.2, 1.5))
                    live.process.kill()
                    live.process.wait()
                self.assertIsNone(target.process.poll(), "the target did not survive")
            finished = overdue("report", self.file, "-f", "json")
            self.assertEqual(finished.status, 0, f"attempt {attempt}: {finished}")
            report = json.loads(finished.out)
            self.assertIn("file_cut", report["receipt"]["lost_by"], report["receipt"])
            os.remove(self.file)

    def test_cut_anywhere(self):
        overdue("record", "-q", "-o", self.file, "--", workload("named_threads"), 3, 300)
        whole = self.read(self.file)
        cut = f"{self.folder}/cut.odt"
        places = range(0, len(whole), 1 if LONG else max(1, len(whole) // 60))
        for size in places:
            with open(cut, "wb") as file:
                file.write(whole[:size])
            finished = overdue("report", cut, "-f", "json")
            self.assertIn(finished.status, (0, 1), f"cut at {size}: {finished}")
            if finished.status == 0:
                self.assertIn("cut short", " ".join(json.loads(finished.out)["notes"]), size)
            else:
                self.assertNotEqual(finished.err, "")

    def test_flipped_bytes(self):
        """The unit test flips every byte; here a few, through the whole program."""
        overdue("record", "-q", "-o", self.file, "--", workload("named_threads"), 3, 300)
        whole = self.read(self.file)
        bad = f"{self.folder}/bad.odt"
        chosen = random.Random(4711)
        for _ in range(long_or_short(2000, 60)):
            place = chosen.randrange(len(whole))
            with open(bad, "wb") as file:
                file.write(whole[:place] + bytes([whole[place] ^ (1 << chosen.randrange(8))]) +
                           whole[place + 1:])
            finished = overdue("report", bad, "-f", "json")
            self.assertIn(finished.status, (0, 1), f"byte {place}: {finished}")

    def test_not_a_trace(self):
        for content in (b"", b"\n", b"not a trace file at all\n", bytes(4096), os.urandom(4096)):
            with open(self.file, "wb") as file:
                file.write(content)
            finished = overdue("report", self.file)
            self.assertEqual(finished.status, 1, finished)
            self.assertRegex(finished.err, "trace|recording")
            self.assertNotIn("\x1b", finished.err)
        for path in ("/no/such/file.odt", self.folder, "/dev/null"):
            finished = overdue("report", path)
            self.assertEqual(finished.status, 1, finished)
            self.assertNotEqual(finished.err, "")

    def test_disk_full(self):
        """A tmpfs of 256 KiB: recording reports the error, and the written part can be read."""
        place = f"{self.folder}/small"
        os.mkdir(place)
        mounted = run([tool("mount"), "-t", "tmpfs", "-o", "size=256k", "none", place])
        if mounted.status != 0:
            self.skipTest(f"cannot mount a tmpfs: {mounted.err}")
        self.addCleanup(lambda: run([tool("umount"), place]))
        finished = overdue("record", "-o", f"{place}/x.odt", "--", workload("getppid_loop"), 3000000)
        self.assertIn("No space left", finished.err, finished)
        self.assertNotEqual(finished.status, 0)
        report = overdue("report", f"{place}/x.odt", "-f", "json")
        self.assertEqual(report.status, 0, report)
        self.assertIn("file_cut", json.loads(report.out)["receipt"]["lost_by"])


class SeveralAtOnce(RecordingTest):
    """Measurements with commands of their own, beside other events in one file."""

    def record(self, events, *options):
        finished = overdue("record", "-o", self.file, "--events", events, *options)
        self.assertEqual(finished.status, 0, finished)
        return finished

    def view(self, name, *options):
        return json.loads(self.report("--view", name, "-f", "json", *options))

    def test_timers_and_calls(self):
        self.record("syscalls,timerlat", "-d", "1s", "--", workload("getppid_loop"), "1000")
        calls, timers = json.loads(self.report("-f", "json")), self.view("timerlat")
        self.assertEqual(counts(calls)["getppid"], 1000)
        self.assertEqual(timers["command"], "timerlat")
        measured = sum(cpu["count"] for cpu in timers["cpus"])
        self.assertGreater(measured, 0)
        self.assertGreaterEqual(timers["receipt"]["events"], measured + 1000)
        self.assertIn("thread latency (us)", self.report("--view", "timerlat"))
        self.assertIn("counted by bucket", self.report("--view", "timerlat", "--hist"))

    def test_noise_and_spans(self):
        self.record("sched,osnoise", "-a", "-d", "1500ms")
        noise, spans = self.view("osnoise"), json.loads(self.report("--view", "spans", "-f", "json"))
        self.assertGreaterEqual(sum(cpu["samples"] for cpu in noise["cpus"]), 1, noise)
        self.assertIn("offcpu", {row["span"] for row in spans["spans"]})
        self.assertEqual(self.view("osnoise", "--by", "name")["command"], "osnoise")

    def test_a_programs_own_timers_and_its_worst_wakeup(self):
        self.record("app_timers,worst,offcpu", "--", workload("nanosleep_loop"), "40", "1000000")
        rows = self.view("app_timers")["timers"]
        self.assertEqual([row["timer"] for row in rows], ["nanosleep"], rows)
        self.assertGreaterEqual(sum(row["thread"]["count"] for row in rows), 30, rows)
        [window] = self.view("worst")["worst"]
        self.assertGreater(window["latency_ns"], 0)

    def test_alone(self):
        self.record("osnoise", "-a", "-d", "1200ms")
        self.assertEqual(json.loads(self.report("-f", "json"))["command"], "osnoise", "the default view")
        for view in ("summary", "stalls", "timerlat"):
            refused = overdue("report", self.file, "--view", view)
            self.assertEqual(refused.status, 2, refused)

    def test_settings(self):
        self.record("sched,timerlat:period=2ms:priority=60", "-a", "-d", "1s")
        timers = self.view("timerlat")
        self.assertLess(max(cpu["count"] for cpu in timers["cpus"]), 700, "a period of 2 ms, not of 1 ms")
        self.assertIn("period 2.00ms, SCHED_FIFO 60", self.report("--view", "timerlat"))

    def test_hardware_and_calls(self):
        self.record("syscalls,hwlat:threshold=1us:width=100ms:window=150ms", "-d", "1s", "--",
                    workload("getppid_loop"), "1000")
        self.assertEqual(counts(json.loads(self.report("-f", "json")))["getppid"], 1000)
        hwlat = self.view("hwlat")["hwlat"]
        self.assertEqual((hwlat["threshold_ns"], hwlat["width_ns"], hwlat["window_ns"]),
                         (1_000, 100_000_000, 150_000_000))
        self.assertTrue(all(max(window["inner_ns"], window["outer_ns"]) >= 1_000 for window in hwlat["windows"]), hwlat)

    def test_sections_without_interrupts(self):
        """A workload keeps interrupts off for no known time, but each timer that expires shows a bound."""
        self.record("worst:irqsoff:threshold=1us:keep=5,sched", "-a", "-d", "3s")
        shown = self.view("worst")
        self.assertTrue(shown["worst"], shown)
        self.assertEqual({window["tracer"] for window in shown["worst"]}, {"irqsoff"})

    def test_the_longest_are_kept_while_recording(self):
        self.record("worst:keep=2,offcpu", "-a", "-d", "2s")
        latencies = [window["latency_ns"] for window in self.view("worst")["worst"]]
        self.assertEqual(len(latencies), 2, latencies)
        self.assertEqual(latencies, sorted(latencies, reverse=True))

    def test_what_is_refused(self):
        for events, said in (("timerlat,osnoise", "would measure each other"),
                             ("hwlat,osnoise", "would measure each other"),
                             ("worst,worst:wakeup_rt", "worst is there twice"),
                             ("worst:wakeup_xt", "unknown latency 'wakeup_xt'"),
                             ("worst:keep=0", "not a number of latencies"),
                             ("timerlat:priority=100", "not between 1 and 99"),
                             ("timerlat:priority=x", "is no number"),
                             ("timerlat:period=x", "timerlat:period"),
                             ("timerlat:peroid=1ms", "unknown setting 'peroid'"),
                             ("osnoise:runtime=2s", "bad runtime"),
                             ("osnoise:runtime", "'runtime' is no setting"),
                             ("hwlat:width=2s", "95 %")):
            with self.subTest(events=events):
                refused = overdue("record", "-o", self.file, "-a", "--events", events, "-d", "100ms")
                self.assertEqual(refused.status, 2, refused)
                self.assertIn(said, refused.err)
                self.assertIn("hint:", refused.err)
                self.assertFalse(os.path.exists(self.file))


if __name__ == "__main__":
    main()
