#!/usr/bin/python3
"""Attaching to running processes: exactly the target's calls, with later threads and children."""
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import children_of
from overdue_test import (Live, OnDemand, attached, counts, main, overdue, read_ndjson, require_root,
                          syscalls_report, workload)

V2_ROOTS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
V1_ROOTS = ("/sys/fs/cgroup/pids", "/sys/fs/cgroup/memory", "/sys/fs/cgroup/cpu")


class Attach(unittest.TestCase):
    def setUp(self):
        require_root()
        self.stack = contextlib.ExitStack()
        self.addCleanup(self.stack.close)

    def start(self, **options):
        return self.stack.enter_context(OnDemand(**options))

    def measure(self, *arguments, during):
        """The report of `overdue syscalls ARGUMENTS…`, which measures while during() runs."""
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/report.json"
            with attached("syscalls", "-f", "json", "-o", path, *arguments, settle=0) as live:
                self.overdue_pid = live.pid
                during()
                live.signal(signal.SIGINT)
                finished = live.finish(20)
                self.assertEqual(finished.status, 0, finished)
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        self.assertEqual(report["receipt"]["lost"], 0)
        return report

    def getppids(self, *arguments, during):
        return counts(self.measure(*arguments, during=during)).get("getppid", 0)


class Processes(Attach):
    def test_pid_all_threads_later_threads_and_children(self):
        target, bystander = self.start(), self.start()
        target.tell("main 1000000")  # before the session: not counted

        def work():
            bystander.tell("main 100000")
            target.tell("main 1")
            target.tell("thread 20")
            target.tell("new 300")
            target.tell("fork 4000")
        self.assertEqual(self.getppids("-p", target.pid, during=work), 4321)

    def test_several_pids(self):
        one, two, three = self.start(), self.start(), self.start()

        def work():
            one.tell("main 1")
            two.tell("new 20")
            three.tell("main 300")
        self.assertEqual(self.getppids("-p", f"{one.pid},{two.pid}", during=work), 21)
        self.assertEqual(self.getppids("-p", one.pid, "-p", three.pid, during=work), 301)

    def test_name_longer_than_the_kernel_keeps(self):
        name = "a-name-of-more-than-fifteen"
        with tempfile.TemporaryDirectory() as folder:
            path = shutil.copy(workload("on_demand"), f"{folder}/{name}")
            target = self.start(program=path)
            self.assertEqual(self.getppids("-n", name, during=lambda: target.tell("main 123")), 123)

    def test_no_follow(self):
        target = self.start()

        def work():
            target.tell("main 1")
            target.tell("thread 20")
            target.tell("fork 4000")
        self.assertEqual(self.getppids("-p", target.pid, "--no-follow", during=work), 21)

    def test_no_follow_of_a_spawned_program(self):
        report, _ = syscalls_report("--no-follow", "--", "sh", "-c",
                                    f"{workload('getppid_loop')} 40; {workload('getppid_loop')} 2; :")
        self.assertEqual(counts(report).get("getppid", 0), 1 if counts(report).get("getppid") else 0)
        self.assertEqual(counts(report)["execve"], 1)

    def test_tid(self):
        target = self.start()
        other = next(int(tid) for tid in os.listdir(f"/proc/{target.pid}/task")
                     if int(tid) != target.pid)

        def work():
            target.tell("main 1")
            target.tell("thread 20")
        self.assertEqual(self.getppids("-t", other, during=work), 20)
        self.assertEqual(self.getppids("-t", target.pid, during=work), 1)

    def test_name(self):
        target = self.start()
        self.stack.enter_context(Live("/bin/sleep", "60"))
        later = []

        def work():
            target.tell("main 1")
            target.tell("thread 20")
            later.append(self.start())
            later[0].tell("main 300")
        self.assertEqual(self.getppids("-n", "on_deman?", during=work), 321)

    def test_globs(self):
        target = self.start()
        for glob, expected in (("on_demand", 5), ("*", 5), ("on*", 5), ("*demand", 5), ("*n*e*a*d", 5),
                               ("on?demand", 5), ("???demand", 5), ("no-such,on_*", 5),
                               ("on_demand*", 5), ("?", 0), ("demand", 0), ("on_deman", 0),
                               ("*x*", 0), ("on_demand?", 0), ("?*?*?*?*?*?*?*?*?*?*?", 0)):
            with self.subTest(glob=glob):
                found = self.measure("-n", glob, "--by", "process", 
                                     during=lambda: target.tell("main 5"))
                calls = sum(row["calls"] for row in found["syscalls"] if row["name"] == "getppid"
                            and row["process"]["pid"] == target.pid)
                self.assertEqual(calls, expected)

    def test_exec_of_an_attached_process(self):
        target = self.start()

        def work():
            target.tell("main 5")
            target.tell(f"exec {workload('getppid_loop')}", wait=False)  # calls 100 times
            target.process.wait(10)
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/report.json"
            with attached("syscalls", "-f", "json", "-o", path, "-p", target.pid) as live:
                work()
                self.assertEqual(live.finish(20).status, 0)  # the session ends with its target
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        self.assertEqual(counts(report)["getppid"], 105)
        self.assertEqual(counts(report)["execve"], 1)

    def test_cpu(self):
        on_0 = self.start(preexec_fn=lambda: os.sched_setaffinity(0, {0}))
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("one CPU only")
        on_1 = self.start(preexec_fn=lambda: os.sched_setaffinity(0, {1}))

        def work():
            on_0.tell("main 1")
            on_1.tell("main 20")
        both = f"{on_0.pid},{on_1.pid}"
        self.assertEqual(self.getppids("-p", both, "--cpu", "0", during=work), 1)
        self.assertEqual(self.getppids("-p", both, "--cpu", "1", during=work), 20)
        self.assertEqual(self.getppids("-p", both, "--cpu", "0-1", during=work), 21)

    def test_all_but_not_ourselves(self):
        one, two = self.start(), self.start()

        def work():
            one.tell("main 1000")
            two.tell("fork 20000")
        report = self.measure("-a", "--by", "process", during=work)
        mine = {row["process"]["pid"]: row["calls"] for row in report["syscalls"]
                if row["name"] == "getppid"}
        self.assertEqual(mine.get(one.pid), 1000)
        self.assertEqual(mine.get(two.pid, 0) + sum(
            calls for pid, calls in mine.items() if calls == 20000), 20000)
        self.assertNotIn(self.overdue_pid, {row["process"]["pid"] for row in report["syscalls"]})

    def test_all_but_what_reads_stacks_for_us(self):
        """Not the resolver's processes, which are busy with many findings, nor commands of --on."""
        for span in ("syscall", "offcpu"):
            with self.subTest(span=span), tempfile.TemporaryDirectory() as folder:
                path, ours = f"{folder}/stalls.ndjson", set()
                with Live(workload("nanosleep_loop"), "2000", "1000000") as naps, attached(
                        "stalls", "-f", "ndjson", "-o", path, "-a", "--span", span, "-T", "20us", "-d", "1s",
                        "--on", "exec:/bin/true") as live:
                    while live.process.poll() is None:
                        children = children_of(live.pid)
                        ours.update([live.pid], children, *map(children_of, children))
                    self.assertEqual(live.finish(20).status, 0)
                    pids = {finding["pid"] for finding in read_ndjson(path) if finding["type"] == "stall"}
                    self.assertIn(naps.pid, pids)
                    self.assertGreater(len(ours), 2)
                    self.assertEqual(pids & ours, set())

    def test_all_on_one_cpu(self):
        on_0 = self.start(preexec_fn=lambda: os.sched_setaffinity(0, {0}))
        report = self.measure("--cpu", "0", "--by", "process", during=lambda: on_0.tell("main 77"))
        self.assertIn((on_0.pid, 77), {(row["process"]["pid"], row["calls"])
                                       for row in report["syscalls"] if row["name"] == "getppid"})


class Cgroups(Attach):
    def cgroup(self, roots, *names):
        """A new cgroup below the first of `roots` that is a writable cgroup file system."""
        for root in roots:
            path = os.path.join(root, *names)
            if not os.path.exists(os.path.join(root, "cgroup.procs")):
                continue
            made = root
            for name in names:
                made = os.path.join(made, name)
                if not os.path.exists(made):
                    os.mkdir(made)
                    self.stack.callback(self.remove, made)
            return path
        self.skipTest(f"no cgroup hierarchy at {' or '.join(roots)}")
        return None

    def remove(self, path):
        for below in os.scandir(path) if os.path.exists(path) else ():
            if below.is_dir():
                self.remove(below.path)
        with contextlib.suppress(OSError):
            with open(f"{path}/cgroup.procs", encoding="ascii") as file:
                for pid in file.read().split():
                    with open(f"{os.path.dirname(path)}/cgroup.procs", "w", encoding="ascii") as up:
                        up.write(pid)
            os.rmdir(path)

    @staticmethod
    def enter(path):
        """For preexec_fn: the process starts in this cgroup."""
        def join():
            with open(f"{path}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))
        return join

    @staticmethod
    def move(pid, path):
        with open(f"{path}/cgroup.procs", "w", encoding="ascii") as file:
            file.write(str(pid))

    def members_and_later_children(self, path):
        inside = self.start(preexec_fn=self.enter(path))
        outside, late = self.start(), self.start()

        def work():
            inside.tell("main 1")
            inside.tell("fork 20")
            outside.tell("main 100000")
            child = os.path.join(path, "made-later")
            os.mkdir(child)
            below = self.start(preexec_fn=self.enter(child))
            below.tell("main 300")
            late.tell("main 200000")  # not yet in the cgroup
            self.move(late.pid, path)
            late.tell("main 4000")
        self.assertEqual(self.getppids("-c", path, during=work), 4321)

    def test_v2(self):
        self.members_and_later_children(self.cgroup(V2_ROOTS, f"odt-test-{os.getpid()}"))

    def test_v1(self):
        self.members_and_later_children(self.cgroup(V1_ROOTS, f"odt-test-{os.getpid()}"))

    def test_by_container(self):
        """The container is in every hierarchy, as engines do it: Overdue may look at any."""
        digits = f"{os.getpid():064x}"
        roots = [root for root in V1_ROOTS if os.path.exists(f"{root}/cgroup.procs")]
        hierarchies = [[root] for root in roots] + [V2_ROOTS]
        paths = [self.cgroup(hierarchy, "docker", digits) for hierarchy in hierarchies]
        inside, outside = self.start(), self.start()
        for path in paths:
            self.move(inside.pid, path)

        def work():
            inside.tell("main 30")
            outside.tell("main 7")
        report = self.measure("-p", f"{inside.pid},{outside.pid}", "--by", "container", during=work)
        found = {row["calls"]: row["container"] for row in report["syscalls"]
                 if row["name"] == "getppid"}
        self.assertEqual(set(found), {30, 7})
        self.assertIn(digits[:12], found[30])
        self.assertNotIn(digits[:12], found[7])

    def test_container_by_prefix(self):
        digits = f"{os.getpid():x}".ljust(64, "c")
        path = self.cgroup(V2_ROOTS, "docker", digits)
        inside, outside = self.start(preexec_fn=self.enter(path)), self.start()

        def work():
            inside.tell("main 30")
            outside.tell("main 7")
        self.assertEqual(self.getppids("--container", digits[:12], during=work), 30)

    def test_cgroup_that_is_removed_meanwhile(self):
        path = self.cgroup(V2_ROOTS, f"odt-gone-{os.getpid()}")
        inside = self.start(preexec_fn=self.enter(path))

        def work():
            inside.tell("main 9")
            inside.end()
            os.rmdir(path)
        self.assertEqual(self.getppids("-c", path, during=work), 9)

    def test_bad_cgroups(self):
        for name in ("/sys/fs/cgroup/no-such-group-anywhere", "no-such-group-anywhere",
                     "/sys/fs/cgroup/unified/../..", "../etc", "/etc", ""):
            with self.subTest(name=name):
                finished = overdue("syscalls", "-c", name, "-d", "100ms")
                self.assertIn(finished.status, (1, 2), finished)
                self.assertIn("cgroup", finished.err)


if __name__ == "__main__":
    main()
