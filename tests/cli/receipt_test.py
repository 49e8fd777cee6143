#!/usr/bin/python3
"""The cost of measuring in a receipt, beside the kernel's own account of it."""
import contextlib
import ctypes
import json
import os
import signal
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, SLOWER, Live, main, overdue, require_root, wait_until_measuring, workload

SYS_BPF, BPF_ENABLE_STATS, BPF_STATS_RUN_TIME = 321, 32, 0
MOMENT = 2  # seconds of load
# A run that times itself reads the clock twice. The kernel's account includes one reading, and a
# part of the way to the program. src/bpf/run_cost.bpf.h has this figure of a reading.
READING_NS = 33

LOAD, ANOTHER = ["-n", "pipe_pingpong"], ["-p", str(os.getpid())]
# Every kind of hook that costs something.
MEASURED = {
    "syscalls of the load": (["syscalls"], LOAD),
    "syscalls of another": (["syscalls"], ANOTHER),
    "stalls of the load": (["stalls", "-T", "10s"], LOAD),
    "stalls of another": (["stalls", "-T", "10s"], ANOTHER),
    "spans of the whole machine": (["stalls", "-T", "10s", "--span", "offcpu,wakeup,softirq,timer"], ["-a"]),
    "worst": (["worst", "wakeup"], []),
    "osnoise": (["osnoise"], []),
}


class BpfStats:
    """Has the kernel measure the time of BPF programs during a `with` block."""

    def __enter__(self):
        libc = ctypes.CDLL(None, use_errno=True)
        attributes = ctypes.create_string_buffer(bytes([BPF_STATS_RUN_TIME]) + bytes(127), 128)
        self.fd = libc.syscall(SYS_BPF, BPF_ENABLE_STATS, attributes, 128)
        if self.fd < 0:
            raise unittest.SkipTest(f"the kernel measures no BPF programs for us: {os.strerror(ctypes.get_errno())}")
        return self

    def __exit__(self, *_):
        os.close(self.fd)


def kernels_account(pid):
    """{program id: (runs, ns)} of a process's BPF programs, by the kernel."""
    account = {}
    for descriptor in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{descriptor}", encoding="ascii") as file:
                fields = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
        except FileNotFoundError:
            continue
        if "run_time_ns" in fields:
            account[fields["prog_id"]] = int(fields["run_cnt"]), int(fields["run_time_ns"])
    return account


class Load(Live):
    """Two processes that pass a byte to and fro until they are ended."""

    def __init__(self):
        super().__init__(workload("pipe_pingpong"), 1_000_000_000, start_new_session=True)

    def end(self):
        if self.process.poll() is None:
            os.killpg(self.pid, signal.SIGKILL)  # the second one, too: it would wait for ever
            self.process.wait()

    def __exit__(self, *exception):
        self.end()
        super().__exit__(*exception)


class Cost(unittest.TestCase):
    def setUp(self):
        require_root()

    def measured(self, title, stats_are_on_from):
        """(Receipt of a run under load, the kernel's (runs, ns) of the last MOMENT seconds)."""
        command, target = MEASURED[title]
        with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stats:
            path = os.path.join(folder, "report")
            if stats_are_on_from == "the beginning":
                stats.enter_context(BpfStats())
            with Live(OVERDUE, *command, *target, "-v", "-f", "json", "-o", path) as live:
                wait_until_measuring(live)
                before = kernels_account(live.process.pid)
                with Load() as load:
                    if stats_are_on_from == "the middle":
                        time.sleep(MOMENT / 2)
                        stats.enter_context(BpfStats())
                    time.sleep(MOMENT)
                    load.end()
                after = kernels_account(live.process.pid)
                live.signal(signal.SIGINT)
                finished = live.finish()
            self.assertEqual(finished.status, 0, finished)
            with open(path, encoding="utf-8") as file:
                lines = file.read()
        report = json.loads(lines if not lines.startswith('{"type"') else lines.splitlines()[-1])
        spent = [(after[one][0] - before.get(one, (0, 0))[0], after[one][1] - before.get(one, (0, 0))[1])
                 for one in after]
        return report.get("receipt", report), tuple(map(sum, zip(*spent)))

    def test_agrees_with_the_kernels_account(self):
        for title in MEASURED:
            with self.subTest(title):
                receipt, (runs, ns) = self.measured(title, "the beginning")
                print(f"{title}: {receipt['probe_runs']} runs, {receipt['probe_ns']} ns; by the kernel {runs}, {ns} ns")
                self.assertGreater(runs, 10_000)
                self.assertLess(abs(receipt["probe_runs"] - runs), 0.1 * runs)
                self.assertLess(abs(receipt["probe_ns"] - ns), 0.2 * ns)

    def test_runs_that_time_themselves_agree_with_it(self):
        """The kernel measures only a part of the session. A busy machine spreads both figures: the host of a virtual
        machine that takes the CPU within a few runs doubles the kernel's, so one of three comparisons must agree."""
        for title in MEASURED:
            with self.subTest(title):
                apart = []
                while len(apart) < 3 and not any(one < 0 for one in apart):
                    receipt, (runs, ns) = self.measured(title, "the middle")
                    ours, theirs = receipt["probe_ns"] / receipt["probe_runs"], ns / runs
                    error = receipt["probe_error_ns"] / receipt["probe_runs"]
                    print(f"{title}: {ours:.0f} ns a run, give or take {error:.0f}; by the kernel {theirs:.0f} ns")
                    self.assertGreater(receipt["probe_runs"], runs, "also what the kernel did not measure")
                    self.assertGreater(receipt["probe_error_ns"], 0)
                    apart.append(abs(ours - theirs) - (0.4 * theirs + error + READING_NS))
                self.assertLess(min(apart), 0)

    def test_what_runs_for_others_counts(self):
        """An idle target on a busy machine."""
        with Load() as load:
            for command in (["syscalls"], ["stalls", "-T", "1s"]):
                receipt = json.loads(overdue(*command, "-p", os.getpid(), "-d", f"{SLOWER}s", "-f", "ndjson").out
                                     .splitlines()[-1])
                self.assertGreater(receipt["probe_runs"], 10_000, command)
                self.assertGreater(receipt["probe_ns"], 10 * receipt["probe_runs"], command)
                self.assertLess(receipt["probe_target_ns"], 0.5 * receipt["probe_ns"], command)

    def test_the_targets_share_is_the_loads(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "report")
            finished = overdue("syscalls", "-f", "json", "-o", path, "--", workload("getppid_loop"), 1_000_000)
            self.assertEqual(finished.status, 0, finished)
            with open(path, encoding="utf-8") as file:
                receipt = json.load(file)["receipt"]
        self.assertGreater(receipt["probe_runs"], 2_000_000)
        self.assertGreater(receipt["probe_target_ns"], 0.5 * receipt["probe_ns"])
        self.assertLessEqual(receipt["probe_target_ns"], receipt["probe_ns"])
        self.assertAlmostEqual(receipt["overhead_ratio"], receipt["probe_target_ns"] / receipt["target_cpu_ns"], 4)


class OwnUse(unittest.TestCase):
    def setUp(self):
        require_root()

    def test_every_receipt_has_it(self):
        for command in (["syscalls", "-a"], ["stalls", "-a", "-T", "10s"], ["timerlat"], ["osnoise"],
                        ["worst", "wakeup"], ["worst", "preemptoff", "--backend", "bpf"],
                        ["worst", "hwlat", "--backend", "bpf", "--width", "10ms", "--window", "50ms"]):
            with self.subTest(command):
                finished = overdue(*command, "-d", "300ms")
                if finished.status == 1 and "cannot" in finished.err:
                    continue
                self.assertEqual(finished.status, 0, finished)
                spread = r" \(give or take [\d.]+[num]?s\)"
                if SLOWER > 1:
                    spread = f"({spread})?"  # an emulated CPU may take the same time for each run
                self.assertRegex(finished.out, rf"measuring cost [\d.]+[num]?s{spread} in [\d,]+ runs? of BPF programs, "
                                               r"[\d.]+[num]?s each")
                self.assertRegex(finished.out, r"Overdue itself used [\d.]+[num]?s of CPU time, [\d.]+ MiB of memory, "
                                               r"[\d.]+ MiB of the kernel's")

    def test_is_no_more_than_the_kernel_says(self):
        """The CPU time is that of all of Overdue's processes, without the target's."""
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "lines")
            pid = os.posix_spawn(OVERDUE, [OVERDUE, "stalls", "-T", "1us", "-f", "ndjson", "-o", path, "--",
                                           workload("getppid_loop"), "2000000"], os.environ)
            _, status, used = os.wait4(pid, 0)
            self.assertEqual(status, 0)
            with open(path, encoding="utf-8") as file:
                receipt = json.loads(file.read().splitlines()[-1])
        everything = int((used.ru_utime + used.ru_stime) * 1e9)
        ours = everything - receipt["target_cpu_ns"]
        print(f"{receipt['own_cpu_ns']} ns of {ours} ns until the end; "
              f"{receipt['own_memory_bytes'] >> 10} KiB, the largest process {used.ru_maxrss} KiB")
        # The receipt lacks the very end; and the kernel's accounts of the target differ by a tick.
        self.assertLess(receipt["own_cpu_ns"], ours + 20_000_000)
        self.assertGreater(receipt["own_cpu_ns"], 0.3 * ours)
        self.assertGreater(receipt["own_memory_bytes"], 4 << 20)


if __name__ == "__main__":
    main()
