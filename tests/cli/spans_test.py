#!/usr/bin/python3
"""`overdue stalls --span`: every kind of span, of a workload with such spans, and user spans."""
import json
import os
import re
import shutil
import signal
import statistics
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (SLOWER, Live, attached, disk_folder, main, overdue, read_ndjson, require_root, run, tool,
                          workload)

MS = 1_000_000
KINDS = ["syscall", "offcpu", "wakeup", "block", "block_queued", "irq", "softirq", "softirq_raise", "vector", "timer",
         "work", "work_queued", "lock", "pagefault", "tcp_connect", "tcp_answer", "unix_answer"]


def stalls(*arguments, **options):
    """Runs `overdue stalls -f ndjson -o FILE ARGUMENTS…`; returns (findings, last report, Finished)."""
    with tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "stalls.ndjson")
        finished = overdue("stalls", "-f", "ndjson", "-o", path, *arguments, **options)
        if not os.path.exists(path):
            raise AssertionError(f"no report: {finished}")
        lines = read_ndjson(path)
    assert lines[-1]["type"] == "receipt", lines[-1]
    return [line for line in lines if line["type"] in ("stall", "hang")], lines[-2], finished


def python(text, *arguments):
    return [tool("python3"), "-c", text, *map(str, arguments)]


def of(findings, kind):
    return [one for one in findings if one["span"] == kind]


def ended(findings):
    return [one for one in findings if one["type"] == "stall"]


class Quick(unittest.TestCase):
    """Spans that are not late are no findings, but are measured all the same."""

    def setUp(self):
        require_root()

    def events(self, kind, *arguments):
        with tempfile.TemporaryDirectory() as made:
            path = os.path.join(made, "stalls.ndjson")
            finished = overdue("stalls", "--span", kind, "-T", "10s", "-f", "ndjson", "-o", path, *arguments)
            self.assertEqual(finished.status, 0, finished)
            *others, receipt = read_ndjson(path)
        self.assertNotIn("stall", {line["type"] for line in others})
        return receipt["events"]

    def test_are_counted(self):
        """Spans of the whole machine: a tick has a timer, an interrupt and a softirq."""
        for kind in ("timer", "vector", "softirq"):
            with self.subTest(kind=kind):
                self.assertGreaterEqual(self.events(kind, "-a", "-d", "500ms"), 30)

    def test_of_a_disk_are_counted(self):
        """Each of dd's writes is a request of its own, which ends with an interrupt."""
        writes = 50
        for kind, least in (("block", writes), ("irq", writes / 2)):  # one interrupt may end several requests
            with self.subTest(kind=kind), tempfile.TemporaryDirectory(dir=disk_folder()) as folder:
                with attached("stalls", "--span", kind, "-T", "10s", "-a", "-f", "ndjson") as live:
                    made = run([tool("dd"), "if=/dev/zero", f"of={folder}/x", "bs=64k", f"count={writes}",
                                "oflag=dsync", "status=none"])
                    self.assertEqual(made.status, 0, made)
                    live.signal(signal.SIGINT)
                    finished = live.finish()
                *others, receipt = map(json.loads, finished.out.splitlines())
                self.assertGreaterEqual(receipt["events"], least, finished)
                self.assertEqual([line for line in others if line["type"] == "stall"], [])

    def test_of_the_target_only(self):
        naps = 'import time\nfor i in range(30): time.sleep(0.01)'
        events = self.events("timer", "--", *python(naps))
        # A hardened kernel hides an event now and then: here one expiry in some 1,000.
        self.assertGreaterEqual(events, 28)
        self.assertLess(events, 60)


class WrongCommandLines(unittest.TestCase):
    def refused(self, *arguments):
        finished = overdue("stalls", *arguments)
        self.assertEqual(finished.status, 2, finished)
        return finished.err

    def test_a_kind_that_is_none(self):
        said = self.refused("--span", "blok", "-T", "1ms", "-a")
        self.assertIn("no kind of span 'blok'; 'block'?", said)
        for kind in KINDS:
            self.assertIn(kind, said)
        self.refused("--span", "", "-T", "1ms", "-a")
        self.refused("--span", "pair", "-T", "1ms", "-a")

    def test_a_span_without_a_threshold_and_the_other_way_round(self):
        self.assertIn("no threshold for block", self.refused("--span", "irq,block", "-T", "irq=1ms", "-a"))
        self.assertIn("threshold for block, which is not looked for", self.refused("-T", "1ms,block=1ms", "-a"))
        self.assertIn("--span syscall", self.refused("--span", "irq", "-T", "1ms,futex=1s", "-a"))
        own = "x=begin:sched:sched_process_fork,end:sched:sched_process_exit,key:child->pid,end-key:p->pid"
        self.assertIn("no threshold for x", self.refused("--span", own, "--span", "irq", "-T", "irq=1ms", "-a"))
        self.assertIn("neither a system call nor a kind of span nor one of yours",
                      self.refused("--span", own, "-T", "1s,y=1ms", "-a"))
        self.assertIn("which threads?", self.refused("-T", "thread:=1ms", "-a"))
        self.assertIn("longer than a name", self.refused("-T", "thread:a-name-of-twenty-cha=1ms", "-a"))

    def test_what_is_for_system_calls_only(self):
        self.assertIn("-e is about system calls", self.refused("--span", "irq", "-T", "1ms", "-e", "read", "-a"))
        self.assertIn("--keep-under is", self.refused("--span", "irq", "-T", "1ms", "--keep-under", "main", "-a"))

    def test_spans_of_ones_own(self):
        fork = "begin:sched:sched_process_fork,end:sched:sched_process_exit"
        self.assertIn("this is no event", self.refused("--span", "x=begin:foo,end:bar,key:tid", "-T", "1ms", "-a"))
        self.assertIn("kind of span already", self.refused("--span", f"irq={fork},key:tid", "-T", "1ms", "-a"))
        self.assertIn("two spans are called 'x'",
                      self.refused("--span", f"x={fork},key:tid", "--span", f"x={fork},key:tid", "-T", "1ms", "-a"))
        require_root()
        self.assertIn("has no field `child_pid`",
                      self.refused("--span", f"x={fork},key:child_pid", "-T", "1ms", "-a"))

    def test_the_page_has_all_kinds(self):
        page = overdue("stalls", "--help").out
        section = page[page.index("\nSpans\n"):page.index("\nIdle waits\n")]
        for kind in KINDS:
            self.assertRegex(section, rf"(?m)^ +([a-z_]+, )?{kind}(,|$)", kind)


class Spans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_root()

    def test_offcpu_and_wakeup(self):
        text = ("import threading,time\n"
                "def nap():\n for _ in range(4): time.sleep(0.03)\n"
                "threads=[threading.Thread(target=nap) for _ in range(2)]\n"
                "[t.start() for t in threads]; [t.join() for t in threads]")
        findings, _, _ = stalls("--idle", "--span", "offcpu,wakeup", "-T", "offcpu=10ms,wakeup=1ns", "--", *python(text))

        def is_nap(one):
            """Not a wait for Python's lock, which may be as long on a busy machine."""
            stack = one["waits"][0]["kernel_stack"]
            slept = any("nanosleep" in frame["name"] for frame in stack) or not stack
            return one["name"] == "sleeping" and one["tid"] != one["pid"] and slept

        naps = [one for one in of(findings, "offcpu") if is_nap(one)]
        self.assertEqual(len(naps), 8, [one["latency_ns"] for one in naps])
        seen_whole = 0
        for nap in naps:
            self.assertEqual((nap["name"], nap["comm"]), ("sleeping", "python3"))
            # Less than 30 ms if the thread is preempted between setting its timer and going to
            # sleep, which may take long on an emulated machine.
            self.assertGreaterEqual(nap["latency_ns"], 10 * MS)
            parts = nap["breakdown"]
            self.assertEqual(parts["blocked_ns"] + parts["runqueue_ns"], nap["latency_ns"])
            # A hardened kernel does not report every switch (with its stack) and every wake-up.
            wait = nap["waits"][0]
            seen_whole += (any("nanosleep" in frame["name"] for frame in wait["kernel_stack"]) and
                           "timer" in wait.get("waker", {}).get("context", "").lower())
        self.assertGreaterEqual(seen_whole, 6, naps)
        wakeups = of(findings, "wakeup")
        self.assertGreaterEqual(len(wakeups), 8)
        for wakeup in wakeups:
            self.assertEqual(wakeup["breakdown"]["runqueue_ns"], wakeup["latency_ns"])
        by_end = {(one["tid"], one["time_ns"]): one for one in wakeups}
        for nap in naps:  # each nap ends in a wake-up span, its time in the run queue
            if nap["breakdown"]["runqueue_ns"]:  # else the kernel did not report the wake-up
                self.assertEqual(by_end[nap["tid"], nap["time_ns"]]["latency_ns"], nap["breakdown"]["runqueue_ns"])
        self.assertFalse(of(findings, "syscall"))

    def test_late_wakeups_are_seen_however_short_the_wait(self):
        findings, _, _ = stalls("--span", "wakeup", "-T", "1ns", "--", workload("pipe_pingpong"), 200)
        threads = {one["tid"] for one in findings if one["comm"] == "pipe_pingpong"}
        by_each_other = [one for one in findings if one["name"] == "thread" and one["waits"][0]["waker"]["tid"] in threads]
        self.assertGreater(len(by_each_other), 100)
        self.assertEqual({one["waits"][0]["waker"]["comm"] for one in by_each_other}, {"pipe_pingpong"})

    def test_a_thread_that_is_kept_off_the_cpu(self):
        text = "import time\nend=time.monotonic()+1\nwhile time.monotonic()<end: pass"
        cpu = min(os.sched_getaffinity(0))
        pinned = ["taskset", "-c", str(cpu)]
        # With real-time priority, the hog takes the CPU whatever else the machine does.
        hog_text = ("import os,time\nos.sched_setscheduler(0,os.SCHED_FIFO,os.sched_param(1))\n"
                    "while True:\n end=time.monotonic()+0.005\n"
                    " while time.monotonic()<end: pass\n time.sleep(0.015)")
        with Live(*pinned, *python(hog_text)) as hog:
            findings, _, _ = stalls("--span", "offcpu", "-T", "1ms", "--", *pinned, *python(text))
            preempted = [one for one in findings if one["name"] == "preempted"]
            self.assertTrue(preempted)
            self.assertIn(hog.pid, {one["waits"][0].get("displaced_by", {}).get("tid") for one in preempted})
        for one in preempted:
            self.assertEqual(one["breakdown"]["preempted_ns"], one["latency_ns"])

    def test_idle_waits_are_left_out_of_offcpu(self):
        text = ("import os,threading,time\nends=os.pipe()\n"
                "def answer(): time.sleep(0.3); os.write(ends[1],b'x')\n"
                "threading.Thread(target=answer).start(); os.read(ends[0],1)")
        findings, report, _ = stalls("--span", "offcpu", "-T", "40ms", "--", *python(text))
        self.assertFalse([one for one in findings if one["name"] == "sleeping"])
        for reason in ("waits that may be for work", "sleeps no longer than requested"):
            self.assertTrue([note for note in report["notes"] if f"{reason} are not shown: offcpu 1 " in note], report)
        findings, _, _ = stalls("--span", "offcpu", "-T", "40ms", "--idle", "--", *python(text))
        self.assertEqual(len([one for one in findings if one["name"] == "sleeping"]), 2)

    def test_block(self):
        bytes_written = 8 << 20
        text = ("import os,sys\n"
                "f=os.open(sys.argv[1],os.O_CREAT|os.O_WRONLY|os.O_DIRECT)\n"
                "import mmap\nm=mmap.mmap(-1,1<<20)\n"
                "for _ in range(8): os.write(f,m)\n"
                "os.fsync(f)")
        with tempfile.TemporaryDirectory(dir=disk_folder()) as folder:
            findings, _, _ = stalls("--span", "block,block_queued", "-T", "1ns", "--",
                                    *python(text, os.path.join(folder, "file")))
        issued, queued = of(findings, "block"), of(findings, "block_queued")
        writes = [one for one in issued if one["args"][0] == "write"]
        self.assertTrue(writes)
        units = {"B": 1, "KB": 1 << 10, "MB": 1 << 20}
        sizes = [one["args"][1].split() for one in writes]
        self.assertGreaterEqual(sum(float(size) * units[unit] for size, unit in sizes), 0.99 * bytes_written)
        for one in writes:
            self.assertRegex(one["args"][2], r"^sector \d+$")
            self.assertTrue(os.path.exists(f"/sys/class/block/{one['name']}"), one["name"])
        self.assertIn("python3", {one["comm"] for one in writes})
        for one in queued:  # the request spends no less in queue and device than in the device
            same = [other for other in issued if (other["time_ns"], other["args"]) == (one["time_ns"], one["args"])]
            self.assertTrue(same, one)
            self.assertGreaterEqual(one["latency_ns"], min(other["latency_ns"] for other in same))

    def test_interrupts_of_everything(self):
        text = ("import socket\n"
                "a=socket.socket(type=socket.SOCK_DGRAM); a.bind(('127.0.0.1',0))\n"
                "b=socket.socket(type=socket.SOCK_DGRAM)\n"
                "for _ in range(200): b.sendto(b'x',a.getsockname()); a.recv(9)\n")
        kinds = "softirq,softirq_raise,vector,timer,work,work_queued"
        with Live(*python("while True:\n" + "".join(f" {line}\n" for line in text.splitlines()))):
            findings, _, _ = stalls("--span", kinds, "-T", "1ns", "-a", "-d", "1s")
        names = {kind: {one["name"] for one in of(findings, kind)} for kind in kinds.split(",")}
        self.assertIn("NET_RX", names["softirq"])
        self.assertIn("TIMER", names["softirq_raise"])
        self.assertIn("local_timer", names["vector"])
        self.assertTrue(names["timer"])
        self.assertTrue(names["work"])
        self.assertTrue(names["work_queued"])
        for one in findings:
            self.assertFalse(one["name"].startswith("0x"), one)
            self.assertLess(one["latency_ns"], 10_000 * MS)

    def test_irq_of_a_disk(self):
        text = ("import os,sys\nf=os.open(sys.argv[1],os.O_CREAT|os.O_WRONLY)\n"
                "for _ in range(20): os.write(f,b'x'*4096); os.fsync(f)")
        with tempfile.TemporaryDirectory(dir=disk_folder()) as folder:
            with Live(*python("while True:\n" + "".join(f" {line}\n" for line in text.splitlines()),
                              os.path.join(folder, "file"))):
                findings, _, _ = stalls("--span", "irq", "-T", "1ns", "-a", "-d", "1s")
        with open("/proc/interrupts", encoding="latin-1") as file:
            table = file.read()
        self.assertTrue(findings)
        for one in findings:
            self.assertRegex(table, rf"(?m)^ *{one['args'][0]}:.*{re.escape(one['name'])}")

    def test_only_the_targets_own(self):
        # Only the own timers of a program that sleeps.
        findings, _, finished = stalls("--span", "timer", "-T", "1ns", "--", workload("nanosleep_loop"), 20, 2 * MS)
        tids = {one["tid"] for one in findings}
        self.assertEqual(len(tids), 1)
        self.assertGreaterEqual(len(findings), 15)
        for one in findings:
            self.assertEqual((one["name"], one["comm"]), ("hrtimer_wakeup", "nanosleep_loop"))
        self.assertEqual(finished.status, 0)

    def test_tcp_connect(self):
        text = ("import socket\n"
                "s=socket.socket(); s.bind(('127.0.0.1',0)); s.listen()\n"
                "c=socket.socket(); c.connect(s.getsockname()); print(s.getsockname()[1])\n"
                "n=socket.socket(); n.bind(('127.0.0.1',0)); port=n.getsockname()[1]; print(port)\n"
                "try: socket.socket().connect(('127.0.0.1',port))\n"
                "except ConnectionRefusedError: pass\n")
        findings, _, finished = stalls("--span", "tcp_connect", "-T", "1ns", "--", *python(text))
        port, closed = finished.out.split()
        by_name = {one["name"]: one for one in findings}
        self.assertEqual(set(by_name), {f"127.0.0.1:{port}", f"127.0.0.1:{closed}"})
        self.assertNotIn("error", by_name[f"127.0.0.1:{port}"])
        self.assertEqual(by_name[f"127.0.0.1:{closed}"]["error"], "ECONNREFUSED")
        self.assertEqual({one["comm"] for one in findings}, {"python3"})
        finished = overdue("stalls", "--span", "tcp_connect", "-T", "1ns", "--", *python(text))
        self.assertRegex(finished.err, r"tcp connect 127\.0\.0\.1:\d+ refused  python3\[\d+\]")

    def test_lock(self):
        findings, _, _ = stalls("--span", "lock", "-T", "1us", "--", workload("mmap-demo"), "-d", "1s", "--size", "8M")
        # With PREEMPT_RT, these are one kind of lock.
        locks = [one for one in findings if one["name"].startswith(("rwsem", "rwlock or rwsem"))]
        self.assertTrue(locks)
        self.assertTrue(any(re.search("rwsem_down|rwbase_", frame["name"])
                            for one in locks for frame in one["kernel_stack"]))
        self.assertTrue(all(one["comm"].startswith(("mapper-", "mmap-demo")) for one in locks))
        woken = [wait["waker"].get("comm", "") for one in locks for wait in one["waits"] if "waker" in wait]
        self.assertTrue([name for name in woken if name.startswith("mapper-")], "who let go of it")

    def test_all_and_only_what_is_asked_for_is_loaded(self):
        finished = overdue("stalls", "-v", "--span", "tcp_connect", "-T", "1s", "-a", "-d", "100ms")
        attached = {line.split()[-1] for line in finished.err.splitlines() if "attached" in line}
        self.assertTrue([name for name in attached if "set_state" in name], finished)
        self.assertFalse([name for name in attached if "sys_enter" in name or "switch" in name], attached)
        finished = overdue("stalls", "--span", "all", "-T", "10s", "-a", "-d", "100ms")
        self.assertEqual(finished.status, 0, finished)


class Recordings(unittest.TestCase):
    def test_a_recording_shows_the_same(self):
        require_root()
        own = "nap=begin:syscalls:sys_enter_nanosleep,end:syscalls:sys_exit_nanosleep,key:tid"
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "saved.odt")
            live, _, _ = stalls("--idle", "--save", path, "--span", "offcpu,wakeup,timer,vector", "--span", own, "-T",
                                "1us,offcpu=2ms,nap=3ms", "--", workload("nanosleep_loop"), 5, 4 * MS)
            again = [line for line in map(json.loads, overdue("report", "--idle", "-f", "ndjson", path).out.splitlines())
                     if line["type"] in ("stall", "hang")]

        def reported(findings):
            return sorted((one["span"], one["name"], one["tid"], one["time_ns"], one["latency_ns"],
                           one.get("threshold_ns")) for one in findings)
        self.assertEqual(reported(again), reported(live))
        self.assertGreaterEqual({one["span"] for one in live}, {"offcpu", "wakeup", "timer", "pair"})


class Thresholds(unittest.TestCase):
    NAMED = ("import ctypes,os,threading,time\n"
             "libc=ctypes.CDLL(None)\n"
             "def nap(name,ms):\n libc.prctl(15,name,0,0,0); begin=time.monotonic_ns(); time.sleep(ms/1e3)\n"
             " os.write(1,b'%d %d %d\\n'%(threading.get_native_id(),ms*1000000,time.monotonic_ns()-begin))\n"
             "threads=[threading.Thread(target=nap,args=a) for a in\n"
             " [(b'dw-1',400),(b'dw-2',20),(b'other',400),(b'other',1200)]]\n"
             "[t.start() for t in threads]; [t.join() for t in threads]")

    @classmethod
    def setUpClass(cls):
        require_root()

    def naps(self, thresholds, *more):
        """The naps that asked for at least their threshold: others are late on a busy machine."""
        findings, _, finished = stalls("-T", thresholds, "-e", "clock_nanosleep", *more, "--", *python(self.NAMED))
        naps = {tid: (asked_ns, took_ns) for tid, asked_ns, took_ns in
                (map(int, line.split()) for line in finished.out.splitlines())}
        found = []
        for one in of(findings, "syscall"):
            asked_ns, took_ns = naps[one["tid"]]
            self.assertGreaterEqual(one["latency_ns"], one["threshold_ns"])
            self.assertLessEqual(one["latency_ns"], took_ns)
            if asked_ns >= one["threshold_ns"]:
                found.append((one["comm"], one["threshold_ns"] // MS))
        return sorted(found)

    def test_of_threads_goes_before_the_bare_one(self):
        self.assertEqual(self.naps("1s,thread:dw-*=200ms"), [("dw-1", 200), ("other", 1000)])

    def test_of_the_call_goes_before_that_of_the_thread(self):
        self.assertEqual(self.naps("10s,thread:dw-*=1ms,clock_nanosleep=200ms"),
                         [("dw-1", 200), ("other", 200), ("other", 200)])

    def test_of_threads_alone_means_those_only(self):
        self.assertEqual(self.naps("thread:dw-[0-9]=10ms"), [("dw-1", 10), ("dw-2", 10)])

    def test_of_threads_holds_for_offcpu(self):
        findings, _, _ = stalls("--idle", "--span", "offcpu", "-T", "1s,thread:dw-1=200ms", "--", *python(self.NAMED))
        self.assertEqual(sorted(one["comm"] for one in findings if one["comm"] in ("dw-1", "dw-2", "other")),
                         ["dw-1", "other"])

    def test_of_spans(self):
        text = "import time\ntime.sleep(0.05)\ntime.sleep(2)"
        findings, _, _ = stalls("--idle", "--span", "syscall,offcpu", "-T", "offcpu=1900ms,syscall=40ms", "--", *python(text))
        naps = [one for one in of(findings, "syscall") if one["name"] == "clock_nanosleep"]
        self.assertEqual(len(naps), 2)
        slept = [one for one in of(findings, "offcpu") if one["name"] == "sleeping"]
        self.assertEqual([one["threshold_ns"] for one in slept], [1900 * MS])


class OwnSpans(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_root()

    def test_lives_of_processes(self):
        life = "life=begin:sched:sched_process_fork,end:sched:sched_process_exit,key:child->pid,end-key:p->pid"
        text = ("import subprocess,time\n"
                "for s in ('0.01','0.6','0.6'):\n"
                " begin=time.monotonic_ns(); p=subprocess.Popen(['sleep',s]); p.wait()\n"
                " print(p.pid,time.monotonic_ns()-begin)")
        findings, _, finished = stalls("--span", life, "-T", "life=500ms", "--", *python(text))
        took_ns = {pid: int(ns) for pid, ns in (line.split() for line in finished.out.splitlines())}
        quick, *pids = took_ns
        # A busy machine may make the quick one late.
        lives = [one for one in ended(findings) if one["args"] != [quick] or took_ns[quick] < 500 * MS]
        self.assertEqual([one["args"] for one in lives], [[pid] for pid in pids])
        for one in lives:
            self.assertEqual((one["span"], one["name"], one["comm"]), ("pair", "life", "python3"))
            self.assertEqual((str(one["ended_by"]["tid"]), one["ended_by"]["comm"]), (one["args"][0], "sleep"))
            self.assertGreaterEqual(one["latency_ns"], 600 * MS)
            self.assertLessEqual(one["latency_ns"], took_ns[one["args"][0]])
        finished = overdue("stalls", "--span", life, "-T", "500ms", "--", *python(text))
        self.assertRegex(finished.err, r"(?m)^#1 .*  life key \d+  python3\[\d+\]")

    def test_the_same_as_the_built_in_one(self):
        """A user span over the call's tracepoints and the built-in span see the same sleeps."""
        nap = ("nap=begin:syscalls:sys_enter_nanosleep,end:syscalls:sys_exit_nanosleep,key:tid")
        findings, _, finished = stalls("--span", nap, "--span", "syscall", "-T", "2ms,syscall=10s,nanosleep=2ms", "--",
                                       workload("nanosleep_loop"), 30, 3 * MS)
        total, shortest, longest = map(int, finished.out.split())
        naps = [one for one in findings if one["name"] == "nap"]
        calls = [one for one in findings if one["name"] == "nanosleep"]
        self.assertEqual((len(naps), len(calls)), (30, 30))
        self.assertEqual({one["tid"] for one in naps}, {one["tid"] for one in calls})
        for nap in naps:
            self.assertGreaterEqual(nap["latency_ns"], 3 * MS)
            self.assertLessEqual(nap["latency_ns"], longest)
        # The nap's own waits explain it. (A hardened kernel does not report every wait.)
        self.assertGreaterEqual(sum(bool(nap["waits"]) for nap in naps), 27, naps)
        # The parts of the thread's time add up, as for calls, and most of the time was sleep. (Where the kernel
        # does not report a switch, the time is unknown.)
        for nap in naps:
            parts = nap["breakdown"]
            self.assertEqual(sum(parts.values()), nap["latency_ns"], nap)
        slept = [nap["breakdown"]["blocked_ns"] / nap["latency_ns"] for nap in naps]
        self.assertGreater(statistics.median(slept), 0.8, naps)
        unknown = [nap["breakdown"]["unknown_ns"] / nap["latency_ns"] for nap in naps]
        self.assertLess(statistics.median(unknown), 0.02, naps)
        apart = [abs(nap["latency_ns"] - call["latency_ns"]) for nap, call in zip(naps, calls)]
        self.assertLess(statistics.median(apart), MS)
        self.assertLessEqual(sum(one["latency_ns"] for one in naps), total)
        self.assertGreaterEqual(min(one["latency_ns"] for one in naps), 0.9 * shortest)

    def test_a_function_of_libc(self):
        libc = next((path for path in ("/lib/x86_64-linux-gnu/libc.so.6", "/lib64/libc.so.6") if os.path.exists(path)),
                    None)
        if not libc:
            self.skipTest("no libc where it usually is")
        nap = f"nap=begin:uprobe:{libc}:usleep,end:uretprobe:{libc}:usleep,key:tid,filter:arg0 == 30000"
        text = ("import ctypes\nlibc=ctypes.CDLL(None)\n"
                "for us in (1000,30000,30000,30000): libc.usleep(us)")
        findings, _, _ = stalls("--span", nap, "-T", "20ms", "--", *python(text))
        self.assertEqual([one["name"] for one in findings], ["nap"] * 3)
        for one in findings:
            self.assertGreaterEqual(one["latency_ns"], 30 * MS)
            self.assertEqual(one["args"], [str(one["tid"])])
            self.assertEqual(sum(one["breakdown"].values()), one["latency_ns"], one)

    def test_who_computes_is_on_the_cpu(self):
        work = "turn=begin:syscalls:sys_exit_getsid,end:syscalls:sys_enter_getsid,key:tid"
        text = ("import os,time\n"
                "for _ in range(5):\n"
                " os.getsid(0); end=time.thread_time_ns()+20_000_000\n"
                " while time.thread_time_ns()<end: pass\n"
                "os.getsid(0); os._exit(0)")
        findings, _, _ = stalls("--span", work, "-T", "15ms", "--first", 0, "--", *python(text))
        # The sixth turn never ends: on a slow machine, it is late when the session ends. A hardened
        # kernel may not report that the thread was switched in: its parts are then unknown.
        findings = [one for one in findings if "breakdown" in one]
        self.assertIn([one["name"] for one in findings], (["turn"] * 4, ["turn"] * 5))
        for one in findings:
            parts = one["breakdown"]
            self.assertEqual(sum(parts.values()), one["latency_ns"], one)
            known = parts["oncpu_ns"] + parts["irq_ns"] + parts["softirq_ns"] + parts["unknown_ns"]
            # The thread's clock and ours are read at two moments of a switch. An emulator may stand still between
            # them, here for up to 0.7 ms.
            self.assertGreaterEqual(known, 0.98 * 20 * MS - (MS if SLOWER > 1 else 0), one)
        self.assertLess(min(one["breakdown"]["unknown_ns"] / one["latency_ns"] for one in findings), 0.02, findings)

    def test_usdt_probes_of_python(self):
        program = os.path.realpath(tool("python3"))
        if not shutil.which("readelf") or "gc__start" not in run(["readelf", "-n", program]).out:
            self.skipTest("this python3 has no USDT probes")
        gc = f"gc=begin:usdt:{program}:python:gc__start,end:usdt:{program}:python:gc__done,key:tid"
        text = "import gc\ngc.disable()\nx=[[] for _ in range(300000)]\nfor _ in range(3): gc.collect()"
        findings, _, _ = stalls("--span", gc, "-T", "1us", "--", program, "-c", text)
        self.assertGreaterEqual(len(findings), 3, findings)
        self.assertEqual({one["name"] for one in findings}, {"gc"})

    def test_what_the_kernel_refuses(self):
        doctor = overdue("doctor", "-f", "json")
        report = json.loads(doctor.out)
        if "fentry" not in json.dumps(report):
            self.skipTest("doctor does not say")
        span = "x=begin:fentry:do_exit,end:fexit:do_exit,key:tid"
        finished = overdue("stalls", "--span", span, "-T", "1ms", "-a", "-d", "100ms")
        if finished.status == 0:
            self.skipTest("this kernel allows fentry")
        self.assertEqual(finished.status, 1, finished)
        self.assertIn("cannot", finished.err)
        self.assertIn("hint:", finished.err)


class Schema(unittest.TestCase):
    def setUp(self):
        require_root()
        try:
            import jsonschema
        except ImportError:
            self.skipTest("python3-jsonschema is not installed")
        self.validator = jsonschema.Draft202012Validator(json.loads(overdue("schema").out))

    def assert_as_the_schema_says(self, lines):
        for one in lines:
            errors = sorted(self.validator.iter_errors(one), key=str)
            self.assertFalse(errors, f"{json.dumps(one)[:2000]}: {errors[:1]}")

    def test_findings(self):
        findings, report, _ = stalls("--span", "all", "-T", "1us", "--", *python("import time\ntime.sleep(0.01)"))
        self.assertTrue(findings)
        by_kind = {}
        for one in findings:
            by_kind.setdefault((one["span"], one["type"], bool(one["chain"])), one)
        # Steps have more fields if they waited for a CPU, or if their call was late too.
        steps = [one for one in findings if any("runqueue_ns" in link or "user_stack" in link for link in one["chain"])]
        self.assert_as_the_schema_says([*by_kind.values(), *steps[:20], report])

    def test_hangs(self):
        finished = overdue("stalls", "--idle", "-f", "ndjson", "--timeout", "100ms", "-T", "100ms", "--", workload("hang"), "sleep", 1)
        lines = [json.loads(line) for line in finished.err.splitlines() if line.startswith("{")]
        self.assertLessEqual({"hang", "stall"}, {line["type"] for line in lines}, finished)
        self.assert_as_the_schema_says(lines)


if __name__ == "__main__":
    main()
