#!/usr/bin/python3
"""How often `overdue timerlat` names a known cause: tests/trials/run.py [--trials N] [CAUSE…].

A trial delays the real-time thread of a CPU in a known way until the limit stops the run, and
checks the reported cause. Prints a line per cause, and every trial with a wrong cause. Needs root
and a build with tests; a trial takes about a second. If stolen time is more than half of the
latency, the known delay was not the cause: the trial is repeated, and counted separately. Not a
test of the suite: other delays of the CPUs are reported just as correctly, but count as wrong here.
"""
import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
FOREVER_MS = 60_000


class Cause:
    def __init__(self, limit_us, program, arguments, is_told, says_ready=False):
        self.limit_us, self.program, self.arguments = limit_us, program, arguments
        self.is_told, self.says_ready = is_told, says_ready


def largest(cause):
    return max(cause["parts"], key=lambda part: part["ns"], default={"kind": "", "name": ""})


def stack_has(cause, function):
    return any(frame["name"] == function for frame in cause["stack"])


def causes(cpu):
    return {
        # A higher-priority thread, for 2 ms of every 52 ms.
        "thread": Cause(1_000, "tests/workloads/fifo_hog", [cpu, 97, 2, 100_000],
                        lambda cause: (cause["verdict"], cause["who"]) == ("interference", "fifo_hog")),
        # Packets to 10000 sockets each: softirqs of several milliseconds.
        "softirq": Cause(2_000, "tests/workloads/udp_flood", [cpu, FOREVER_MS, 10_000],
                         lambda cause: largest(cause)["kind"] == "softirq" and largest(cause)["name"] == "NET_RX", True),
        # Thousands of timers in one interrupt.
        "irq": Cause(600, "tests/workloads/timer_flood", [cpu, 8_000, 100],
                     lambda cause: largest(cause)["kind"] == "irq" and largest(cause)["name"] == "local_timer", True),
        "preemption": Cause(3_000, "src/probes/trials_spin", ["preemption", cpu, 6_000, 40],
                            lambda cause: cause["verdict"] == "preemption_off" and stack_has(cause, "kernel_clone"),
                            True),
        "interrupts": Cause(3_000, "src/probes/trials_spin", ["interrupts", cpu, 6_000, 40],
                            lambda cause: cause["verdict"] == "irqs_off" and stack_has(cause, "do_nanosleep"), True),
    }


def was_stolen(reported):
    return reported is not None and reported["steal_ns"] > reported["latency_ns"] // 2


def trial(build, cause, cpu):
    """The reported cause; None if the limit was not reached within 20 s."""
    command = [str(build / cause.program), *map(str, cause.arguments)]
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        with subprocess.Popen(command, stdout=subprocess.PIPE) as delays:
            try:
                if cause.says_ready:
                    delays.stdout.readline()
                time.sleep(0.05)
                subprocess.run([build / "overdue", "timerlat", "--cpu", str(cpu), "-T", str(cause.limit_us), "-d", "20s",
                                "-f", "json", "-o", report], check=False, stdout=subprocess.DEVNULL)
            finally:
                delays.kill()
        with open(report, encoding="utf-8") as file:
            return json.load(file)["cause"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("causes", nargs="*", metavar="CAUSE", help=f"of {', '.join(causes(0))}")
    parser.add_argument("--trials", type=int, default=100, help="of each cause; default %(default)s")
    parser.add_argument("--cpu", type=int, default=0)
    parser.add_argument("--build", type=pathlib.Path, default=SOURCE / "build" / "release")
    options = parser.parse_args()
    known = causes(options.cpu)
    for name in options.causes or known:
        if name not in known:
            parser.error(f"unknown cause {name}: choose from {', '.join(known)}")
        wrong, stolen, made = collections.Counter(), 0, 0
        while made < options.trials and stolen < options.trials:
            reported = trial(options.build, known[name], options.cpu)
            if was_stolen(reported):
                stolen += 1
                continue
            made += 1
            if reported is None:
                wrong["nothing, in 20 s"] += 1
            elif not known[name].is_told(reported):
                wrong[reported["explanation"][:110]] += 1
        print(f"{name:12} {made - wrong.total()} of {made}; beside them, {stolen} the hypervisor's", flush=True)
        for text, times in wrong.most_common():
            print(f"{'':12} {times} × {text}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
