#!/usr/bin/python3
"""The demos' own figures hold for every user, and nothing is left behind. No kernel needed."""
import contextlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import Live, eventually, main, run, tool, workload
from demos import DEMOS, events_of, of_type, demo, read, threads_of


class EveryDemo(unittest.TestCase):
    SHORT = {"sleep": ("--max", "5ms"), "io": ("--count", 2), "mmap": ("--size", "4M")}

    def short(self, name, *more):
        return demo(name, "-d", "300ms", *self.SHORT.get(name, ()), *more)

    def test_first_line_last_line_and_what_all_lines_have(self):
        for name in DEMOS:
            with self.subTest(name):
                events = self.short(name, "--seed", 7)
                self.assertEqual(events[0]["type"], "start")
                self.assertEqual(events[0]["demo"], f"{name}-demo")
                self.assertEqual(events[0]["seed"], 7)
                self.assertEqual(events[0]["duration_ns"], 300_000_000)
                self.assertEqual([event["type"] for event in events].index("summary"), len(events) - 1)
                for event in events:
                    self.assertGreaterEqual(event["time_ns"], events[0]["time_ns"])
                    self.assertGreater(event["tid"], 0)
                    self.assertTrue(event["thread"])
                    self.assertGreaterEqual(event.get("took_ns", 0), 0)

    def test_help(self):
        for name in DEMOS:
            with self.subTest(name):
                finished = run([workload(f"{name}-demo"), "--help"])
                self.assertEqual((finished.status, finished.err), (0, ""))
                for option in ("--seed N", "-d, --duration TIME", "-h, --help"):
                    self.assertIn(option, finished.out)
                for line in finished.out.splitlines():
                    self.assertLessEqual(len(line), 79)

    def test_wrong_command_lines(self):
        for name in DEMOS:
            for arguments, words in ((["--bogus"], "unknown option '--bogus'"), (["x"], "unknown argument 'x'"),
                                     (["--seed"], "--seed needs a value"), (["-d", "5"], "such as 5ms"),
                                     (["-d", "5furlongs"], "unknown unit 'furlongs'"), (["-d", "0s"], "out of range"),
                                     (["-d", "2h"], "unknown unit 'h'"), (["--duration=-1s"], "not a time"),
                                     (["--seed", "1.5"], "not a whole number"), (["--seed", "0x10"], "not a whole number")):
                with self.subTest(name, arguments=arguments):
                    finished = run([workload(f"{name}-demo"), *arguments])
                    self.assertEqual(finished.status, 2, finished)
                    self.assertEqual(finished.out, "")
                    self.assertIn(words, finished.err)
                    self.assertIn(f"hint: {name}-demo --help", finished.err)

    def test_contradictions(self):
        for name, arguments in (("sleep", ["--min", "5ms", "--max", "1ms"]), ("lock", ["--min", "1s"]),
                                ("cpu", ["--cpu", "0", "--all-cpus"]), ("irq", ["--cpu", "0", "--all-cpus"])):
            with self.subTest(name):
                self.assertEqual(run([workload(f"{name}-demo"), *arguments]).status, 2)

    def test_a_reader_that_goes_away_ends_it(self):
        for name in DEMOS:
            with self.subTest(name):
                command = [workload(f"{name}-demo")]
                if name == "io":  # more output than the pipe holds, so the demo still runs
                    command += ["--count", "1000000", "--size", "4K"]
                if name in ("mmap", "irq"):
                    command += ["--slow", "0s"]
                with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
                    process.stdout.readline()
                    process.stdout.close()
                    self.assertEqual(process.stderr.read(), b"")
                    self.assertEqual(process.wait(60), 1)

    def test_a_full_disk_is_told(self):
        for name in DEMOS:
            with self.subTest(name), open("/dev/full", "wb") as full:
                finished = subprocess.run([workload(f"{name}-demo"), "-d", "100ms"], stdout=full,
                                          stderr=subprocess.PIPE, check=False)
                self.assertEqual(finished.returncode, 1)
                self.assertEqual(finished.stderr.decode(),
                                 f"{name}-demo: cannot write to standard output: No space left on device\n")

    def test_functions_keep_their_names_when_stripped_and_have_no_frame_pointers(self):
        functions = {"sleep": "sleep_for_a_while", "mmap": "map_a_region", "io": "bring_to_the_disk",
                     "lock": "hold_the_lock", "cpu": "compute_in_a_burst", "irq": "send_over_udp"}
        with tempfile.TemporaryDirectory() as folder:
            for name, function in functions.items():
                with self.subTest(name):
                    stripped = os.path.join(folder, name)
                    subprocess.run([tool("strip"), "-o", stripped, workload(f"{name}-demo")], check=True)
                    symbols = run([tool("nm"), "-D", "--defined-only", stripped]).out
                    self.assertRegex(symbols, rf" T {function}\n")
                    self.assertIn(" T main\n", symbols)
                    code = run([tool("objdump"), "-d", f"--disassemble={function}", stripped]).out
                    self.assertRegex(code, rf"<{function}(@@Base)?>:")
                    self.assertNotRegex(code, r"mov +%rsp,%rbp")


class SameSeed(unittest.TestCase):
    def test_asks_for_the_same(self):
        for name, arguments, kind, key in (
                ("sleep", ("--count", 20, "--max", "2ms"), "sleep", "asked_ns"),
                ("lock", ("--rounds", 10, "--min", "1us", "--max", "1ms"), "hold", "asked_ns"),
                ("io", ("--count", 4, "--size", "64K"), "write", "bytes"),
                ("mmap", ("--threads", 1, "--count", 5, "--size", "1M", "--slow", "0s"), "mmap", "bytes")):
            with self.subTest(name):
                def asked(seed):
                    events = demo(name, "-d", "60s", "--seed", seed, *arguments)
                    return [event[key] for event in of_type(events, kind)]
                self.assertGreaterEqual(len(asked(3)), 4)
                self.assertEqual(asked(3), asked(3))
                self.assertNotEqual(asked(3), asked(4))


class Sleep(unittest.TestCase):
    def test_each_takes_at_least_what_was_asked(self):
        for threads in (0, 3):
            with self.subTest(threads=threads):
                events = demo("sleep", "--count", 30, "--threads", threads, "--min", "100us", "--max", "3ms",
                              "-d", "60s")
                sleeps = of_type(events, "sleep")
                self.assertEqual(len(sleeps), 30 * max(threads, 1))
                for sleep in sleeps:
                    self.assertGreaterEqual(sleep["took_ns"], sleep["asked_ns"])
                    self.assertGreaterEqual(sleep["asked_ns"], 100_000)
                    self.assertLessEqual(sleep["asked_ns"], 3_000_000)
                names = {f"sleeper-{i + 1}" for i in range(threads)} or {"sleep-demo"}
                self.assertEqual({sleep["thread"] for sleep in sleeps}, names)
                self.assertEqual(len({sleep["tid"] for sleep in sleeps}), len(names))
                self.assertEqual(events[-1]["sleeps"], len(sleeps))
                self.assertEqual(events[-1]["took_ns"], sum(sleep["took_ns"] for sleep in sleeps))

    def test_no_sleep_begins_that_would_end_too_late(self):
        events = demo("sleep", "--min", "50s", "--max", "60s", "-d", "10ms")
        self.assertEqual([event["type"] for event in events], ["start", "summary"])


class Lock(unittest.TestCase):
    def check(self, waiters, *arguments):
        rounds = 12
        events = demo("lock", "--waiters", waiters, "--rounds", rounds, "--min", "1ms", "--max", "10ms",
                      "-d", "60s", *arguments)
        holds, waits = of_type(events, "hold"), of_type(events, "wait")
        self.assertEqual(len(holds), rounds)
        self.assertEqual(len(waits), rounds * waiters)
        holder = {hold["tid"] for hold in holds}
        self.assertEqual(len(holder), 1)
        self.assertEqual({hold["thread"] for hold in holds}, {"holder"})
        tids = {wait["thread"]: wait["tid"] for wait in waits} | {"holder": holder.pop()}
        self.assertEqual(set(tids), {"holder", *(f"waiter-{i + 1}" for i in range(waiters))})
        for hold in holds:
            self.assertGreaterEqual(hold["took_ns"], hold["asked_ns"])
            of_round = [wait for wait in waits if wait["hold_ns"] == hold["asked_ns"]]
            self.assertEqual({wait["thread"] for wait in of_round}, set(tids) - {"holder"})
            # All threads wait before the holder's time begins, and until it ends.
            for wait in of_round:
                self.assertEqual((wait["owner"], wait["owner_tid"]), ("holder", tids["holder"]))
                self.assertEqual(wait["handed_by_tid"], tids[wait["handed_by"]])
                self.assertGreaterEqual(wait["took_ns"], hold["took_ns"])
                self.assertLess(wait["time_ns"], hold["time_ns"])
            # The lock goes from one thread to the next: each but the last hands it on once.
            givers = [wait["handed_by"] for wait in of_round]
            self.assertEqual(len(set(givers)), waiters)
            self.assertIn("holder", givers)
        self.assertEqual(events[-1]["waits"], len(waits))
        self.assertEqual(events[-1]["waited_ns"], sum(wait["took_ns"] for wait in waits))
        self.assertEqual(events[-1]["held_ns"], sum(hold["took_ns"] for hold in holds))

    def test_every_wait_is_for_the_holder_and_as_long_as_it_held(self):
        for waiters in (1, 2, 5):
            with self.subTest(waiters=waiters):
                self.check(waiters)

    def test_holder_that_computes(self):
        self.check(2, "--spin")


class Mmap(unittest.TestCase):
    def test_calls_add_up(self):
        events = demo("mmap", "--threads", 3, "--count", 10, "--size", "2M", "--slow", "0s", "-d", "60s")
        for call in of_type(events, "calls"):
            lines = of_type(events, call["call"])
            self.assertEqual(call["calls"], 30)
            self.assertEqual((call["slow"], len(lines)), (30, 30))
            self.assertEqual(call["took_ns"], sum(line["took_ns"] for line in lines))
            self.assertEqual(call["longest_ns"], max(line["took_ns"] for line in lines))
            self.assertEqual({line["thread"] for line in lines}, {"mapper-1", "mapper-2", "mapper-3"})
        self.assertEqual(events[-1]["regions"], 30)
        for event in of_type(events, "mmap"):
            self.assertEqual(event["bytes"] % 4096, 0)
            self.assertGreaterEqual(event["bytes"], 1 << 20)
            self.assertLessEqual(event["bytes"], 2 << 20)

    def test_quick_calls_are_counted_and_not_printed(self):
        events = demo("mmap", "--count", 5, "--size", "1M", "--slow", "60s", "-d", "60s")
        self.assertEqual({event["type"] for event in events}, {"start", "calls", "summary"})


class Io(unittest.TestCase):
    def setUp(self):
        self.folder = self.enterContext(tempfile.TemporaryDirectory())

    def test_files_are_written_and_gone(self):
        events = demo("io", "--dir", self.folder, "--count", 5, "--size", "300K", "-d", "60s")
        self.assertEqual(os.listdir(self.folder), [])
        self.assertEqual(os.path.dirname(events[-1]["folder"]), self.folder)
        names = {f"file-{i}" for i in range(5)}
        for kind in ("open", "write", "fsync", "unlink"):
            self.assertEqual({event["file"] for event in of_type(events, kind)}, names)
        for name in names:
            written = sum(event["bytes"] for event in of_type(events, "write") if event["file"] == name)
            self.assertGreaterEqual(written, 150 << 10)
            self.assertLessEqual(written, 300 << 10)
        for call in of_type(events, "calls"):
            lines = of_type(events, call["call"])
            self.assertEqual(call["calls"], len(lines))
            self.assertEqual(call["took_ns"], sum(line["took_ns"] for line in lines))

    def test_what_fsync_spent(self):
        """The CPU time of an fsync is not longer than the whole; no part is negative."""
        for sync in of_type(demo("io", "--dir", self.folder, "--count", 5, "-d", "60s"), "fsync"):
            self.assertGreater(sync["cpu_ns"], 0)
            self.assertLessEqual(sync["cpu_ns"], sync["took_ns"], sync)
            self.assertGreaterEqual(sync["waits"], 0)
            with open("/proc/thread-self/schedstat", encoding="ascii") as file:
                if file.read().split()[2] != "0":
                    self.assertGreaterEqual(sync["runqueue_ns"], 0)

    def test_keeps_a_hundred_files(self):
        """The demo keeps few files, so that it can remove them quickly at the end."""
        there, most = set(), 0
        for event in demo("io", "--dir", self.folder, "--count", 120, "--size", "1K", "-d", "60s"):
            if event["type"] == "open":
                there.add(event["file"])
            if event["type"] == "unlink":
                there.remove(event["file"])
            most = max(most, len(there))
        self.assertEqual((len(there), most), (0, 101))

    def test_gone_after_a_signal_that_ends_it(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(number), Live(workload("io-demo"), "--dir", self.folder, "--count", 1000000,
                                            "--size", "4K", "-d", "60s") as live:
                eventually(lambda: '"fsync"' in live.out(), what="wrote nothing")
                self.assertNotEqual(os.listdir(self.folder), [])
                live.signal(number)
                finished = live.finish()
                self.assertEqual(finished.status, -number)
                self.assertEqual(os.listdir(self.folder), [])
                self.assertEqual(events_of(finished.out)[-1]["type"], "summary")

    def test_nohup_is_kept(self):
        with Live("sh", "-c", 'trap "" HUP; exec "$@"', "sh", workload("io-demo"), "--dir", self.folder,
                  "--count", 1000000, "--size", "4K", "-d", "500ms") as live:
            eventually(lambda: '"fsync"' in live.out(), what="wrote nothing")
            live.signal(signal.SIGHUP)
            self.assertEqual(live.finish().status, 0)

    def test_gone_where_it_fails(self):
        def small_files():
            import resource
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        finished = run([workload("io-demo"), "--dir", self.folder], preexec=small_files)
        self.assertEqual(finished.status, 1, finished)
        self.assertIn("File too large", finished.err)
        self.assertEqual(os.listdir(self.folder), [])

    def test_folders(self):
        events = demo("io", "--count", 1, env=dict(os.environ, TMPDIR=self.folder))
        self.assertTrue(events[-1]["folder"].startswith(self.folder + "/io-demo."))
        # Not /tmp, which may be in memory.
        events = demo("io", "--count", 1, env={name: value for name, value in os.environ.items() if name != "TMPDIR"})
        self.assertTrue(events[-1]["folder"].startswith("/var/tmp/io-demo."))
        finished = run([workload("io-demo"), "--dir", self.folder + "/none"])
        self.assertEqual(finished.status, 1)
        self.assertRegex(finished.err, r"^io-demo: cannot create a folder in .*/none: No such file or directory\n$")


class Cpu(unittest.TestCase):
    def test_times_of_each_thread_add_up(self):
        events = demo("cpu", "--hogs", 2, "-d", "600ms", "--burst", "4ms")
        threads = {event["thread"]: event for event in of_type(events, "thread")}
        self.assertEqual(set(threads), {"victim", "hog-1", "hog-2"})
        for thread in threads.values():
            self.assertEqual(thread["wall_ns"],
                             thread["cpu_ns"] + thread["slept_ns"] + thread["runqueue_ns"])
            self.assertGreater(thread["cpu_ns"], 0)
            self.assertGreaterEqual(thread["runqueue_ns"], 0)
        bursts, sleeps = of_type(events, "burst"), of_type(events, "sleep")
        self.assertEqual({event["thread"] for event in bursts + sleeps}, {"victim"})
        for burst in bursts:
            self.assertEqual(burst["took_ns"], burst["cpu_ns"] + burst["runqueue_ns"])
        for burst in bursts[:-1]:  # the end may cut the last one
            self.assertGreaterEqual(burst["cpu_ns"], burst["asked_ns"])
        for sleep in sleeps:
            self.assertGreaterEqual(sleep["late_ns"], 0)
        self.assertEqual(threads["victim"]["slept_ns"], sum(sleep["asked_ns"] for sleep in sleeps))
        # On one CPU, no two threads run at once. (CPU and wall clocks may drift apart a little.)
        first = min(thread["time_ns"] for thread in threads.values())
        last = max(thread["time_ns"] + thread["wall_ns"] for thread in threads.values())
        self.assertLessEqual(sum(thread["cpu_ns"] for thread in threads.values()), 1.01 * (last - first))

    def test_one_cpu(self):
        allowed = sorted(os.sched_getaffinity(0))
        with Live(workload("cpu-demo"), "--cpu", allowed[-1], "-d", "20s") as live:
            eventually(lambda: threads_of(live.pid) >= {"victim", "hog-1", "hog-2", "hog-3"})
            for tid in os.listdir(f"/proc/{live.pid}/task"):
                self.assertEqual(os.sched_getaffinity(int(tid)), {allowed[-1]})
        self.assertEqual(demo("cpu", "-d", "50ms")[-1]["cpu"], allowed[0])
        self.assertEqual(demo("cpu", "-d", "50ms", "--all-cpus")[-1]["cpu"], -1)
        finished = run([workload("cpu-demo"), "--cpu", "1023"])
        self.assertEqual(finished.status, 1)
        self.assertIn("there is no CPU 1023", finished.err)


class Irq(unittest.TestCase):
    def test_what_was_sent_was_received(self):
        events = demo("irq", "-d", "500ms", "--slow", "0s")
        traffic = {event["protocol"]: event for event in of_type(events, "traffic")}
        self.assertEqual(traffic["tcp"]["sent_bytes"], traffic["tcp"]["received_bytes"])
        self.assertLessEqual(traffic["udp"]["receives"], traffic["udp"]["sends"])
        for protocol in traffic.values():
            self.assertGreater(protocol["receives"], 0)
        stolen, = of_type(events, "stolen")
        self.assertEqual(stolen["thread"], "compute")
        for thief in ("threads", "interrupts"):
            gaps = [event for event in of_type(events, "gap") if event["by"] == thief]
            self.assertEqual(stolen[f"by_{thief}"], len(gaps))
            self.assertEqual(stolen[f"by_{thief}_ns"], sum(gap["took_ns"] for gap in gaps))
        self.assertGreater(stolen["by_threads"], 0)
        self.assertLessEqual(stolen["by_threads_ns"] + stolen["by_interrupts_ns"], stolen["wall_ns"])

    def test_all_sockets_are_of_loopback(self):
        with Live(workload("irq-demo"), "-d", "20s") as live:
            eventually(lambda: "tcp-send" in threads_of(live.pid))
            inodes = set()
            for name in os.listdir(f"/proc/{live.pid}/fd"):
                with contextlib.suppress(OSError):
                    inodes |= set(re.findall(r"^socket:\[(\d+)\]$", os.readlink(f"/proc/{live.pid}/fd/{name}")))
            ends = [line.split() for family in ("udp", "tcp")
                    for line in read(f"/proc/{live.pid}/net/{family}").splitlines()[1:]]
            ours = [end for end in ends if end[9] in inodes]
            self.assertEqual(len(ours), 4)
            for end in ours:
                self.assertTrue(end[1].startswith("0100007F:"), end)
                self.assertTrue(end[2].startswith("0100007F:"), end)


if __name__ == "__main__":
    main()
