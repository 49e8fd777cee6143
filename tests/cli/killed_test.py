#!/usr/bin/python3
"""kill -9, at any time, of commands with real-time threads, tracers, settings or
/dev/cpu_dma_latency.

Nothing is left behind. OVERDUE_LONG=1 kills each command a hundred times.
"""
import contextlib
import os
import random
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import OSNOISE, children_of, has_tracer, read, settings
from overdue_test import OVERDUE, TRACEFS, Footprint, Live, eventually, long_or_short, main, require_root
from overdue_test import wait_until_measuring

DMA_LATENCY = "/dev/cpu_dma_latency"
OF_THE_MACHINE = ["/proc/sys/kernel/sched_rt_runtime_us", "/proc/sys/kernel/sched_rt_period_us",
                  "/proc/sys/kernel/bpf_stats_enabled",
                  *(f"{TRACEFS}/{name}" for name in ("current_tracer", "tracing_on", "trace_clock", "trace_options",
                                                     "tracing_thresh", "tracing_max_latency", "events/enable",
                                                     "hwlat_detector/width", "hwlat_detector/window",
                                                     "hwlat_detector/mode"))]


def holders_of_dma_latency():
    found = set()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    if os.readlink(f"/proc/{pid}/fd/{fd}") == DMA_LATENCY:
                        found.add(int(pid))
    return found


def real_time_threads(pid):
    found = []
    for task in map(int, os.listdir(f"/proc/{pid}/task") if os.path.exists(f"/proc/{pid}/task") else []):
        with contextlib.suppress(OSError):
            if os.sched_getscheduler(task) in (os.SCHED_FIFO, os.SCHED_RR):
                found.append(task)
    return found


def state():
    """The machine's state, as far as only Overdue changes it."""
    values = {path: read(path) for path in OF_THE_MACHINE}
    values["instances"] = sorted(os.listdir(f"{TRACEFS}/instances")) if os.path.exists(f"{TRACEFS}/instances") else []
    if os.path.exists(OSNOISE):
        values["osnoise"] = settings()
    return values


class Killed(unittest.TestCase):
    def setUp(self):
        require_root()

    def kill(self, *arguments, holds_programs=True, real_time=True, latest=1.2):
        before = state()
        measured = had_threads = held_latency = 0
        for attempt in range(long_or_short(100, 5)):
            with Live(OVERDUE, *arguments, "-v") as live:
                if attempt == 0 and holds_programs:  # one kill comes after the whole set-up
                    wait_until_measuring(live)
                elif attempt == 0:
                    eventually(lambda: state()["instances"] != before["instances"], 20, "it makes no instance")
                time.sleep(random.uniform(0.02, latest))
                os.kill(live.pid, signal.SIGSTOP)
                footprint, threads, children = Footprint(live.pid), real_time_threads(live.pid), children_of(live.pid)
                measured += not footprint.empty()
                had_threads += bool(threads)
                held_latency += live.pid in holders_of_dma_latency()
                live.process.kill()
                live.process.wait()
            eventually(lambda: state() == before, 20, f"{before} has become {state()}")
            footprint.assert_gone()
            for left in (*threads, *children):
                eventually(lambda: not os.path.exists(f"/proc/{left}"), 20, f"{left} is left")
            self.assertEqual(holders_of_dma_latency(), set())
        if holds_programs:
            self.assertGreater(measured, 0)
        if real_time:
            self.assertGreater(had_threads, 0)
        if "--dma-latency" in arguments:
            self.assertGreater(held_latency, 0)

    def kill_the_kernels(self, tracer, *arguments):
        if not has_tracer(tracer):
            self.skipTest(f"this kernel has no {tracer} tracer")
        self.kill(*arguments, "--backend", "kernel", holds_programs=False, real_time=False, latest=2)

    def test_timerlat(self):
        self.kill("timerlat", "--dma-latency", "0")

    def test_osnoise(self):
        self.kill("osnoise", "-p", "50ms", "-P", "10")

    def test_worst_wakeup(self):
        self.kill("worst", "wakeup", "--events", real_time=False)

    def test_worst_wakeup_rt(self):
        self.kill("worst", "wakeup_rt", real_time=False)

    def test_worst_irqsoff(self):
        self.kill("worst", "irqsoff", "--backend", "bpf", real_time=False)

    def test_worst_hwlat(self):
        self.kill("worst", "hwlat", "--backend", "bpf", real_time=False)

    def test_timerlat_of_the_kernels(self):
        self.kill_the_kernels("timerlat", "timerlat", "--dma-latency", "0", "-p", "2ms")

    def test_osnoise_of_the_kernels(self):
        self.kill_the_kernels("osnoise", "osnoise", "-p", "2s", "-t", "50")

    def test_wakeup_rt_of_the_kernels(self):
        self.kill_the_kernels("wakeup_rt", "worst", "wakeup_rt", "--events")

    def test_hwlat_of_the_kernels(self):
        self.kill_the_kernels("hwlat", "worst", "hwlat")


if __name__ == "__main__":
    main()
