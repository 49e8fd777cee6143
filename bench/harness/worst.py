# SPDX-License-Identifier: Apache-2.0
"""The effect of `overdue worst` on the latency that it looks for, without and with --events."""

import json
import os
import random
import shutil

from .process import Unavailable, run
from .requirements import Verdict, at_most
from .report import table
from .stats import Figure, duration, times
from .timerlat import PERIOD_US, PRIORITY, cyclictest_command, read_cyclictest
from .workloads import cpus

WAYS = {"alone": None, "worst": [], "events": ["--events"]}


def command(program, options, path, seconds):
    cyclictest = cyclictest_command(cpus(), seconds)
    if options is None:
        return cyclictest
    return [program, "worst", "wakeup_rt", *options, "-f", "json", "-o", path, "-q", "--", *cyclictest]


def read_report(path):
    """(longest latency in µs, latencies tracked, latencies lost)"""
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    longest = max((window["latency_ns"] for window in report["worst"]), default=0) / 1000
    return longest, report["receipt"]["events"], report["receipt"]["lost"]


class Results:
    """`medians`: {"alone", "worst", "events"}, cyclictest's median in µs, per round and CPU.
    `found`: the read_report() of each run."""

    def __init__(self):
        self.missing = None
        self.medians = []
        self.found = {"worst": [], "events": []}

    def ratio(self, above, below):
        return Figure([row[above] / row[below] for row in self.medians])

    def as_json(self):
        return {"missing": self.missing, "medians": self.medians, "found": self.found}


def measure(program, rounds, seconds, directory, say):
    results = Results()
    if not shutil.which("cyclictest", path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
        results.missing = "cyclictest is not installed"
        return results
    path = os.path.join(directory, "worst.json")
    try:
        for number in range(rounds):
            say(f"worst: round {number + 1} of {rounds}")
            taken = {}
            for name in random.sample(list(WAYS), len(WAYS)):
                taken[name] = read_cyclictest(run(command(program, WAYS[name], path, seconds)), cpus())
                if name in results.found:
                    results.found[name].append(read_report(path))
            results.medians += [{name: medians[cpu] for name, medians in taken.items()} for cpu in cpus()]
    except Unavailable as problem:
        results.missing = str(problem)
    return results


def judge(results):
    if not results:
        return []
    text = "worst wakeup_rt: cyclictest's median latency with --events, in multiples of without"
    if not results.medians:
        return [Verdict("worst-detail", text, "≤ ×1.50", "n/a", None)]
    return [at_most("worst-detail", text, 1.5, results.ratio("events", "worst"), times)]


def section(results):
    parts = ["## What worst wakeup_rt does to what it looks for",
             f"cyclictest, a thread a CPU, SCHED_FIFO {PRIORITY}, every {PERIOD_US} µs, by itself and as its target, in "
             "turns: medians of a run as it measures them, from the timer to its own code. Which functions ran, the "
             "kernel's own tracers tell (`--functions`); what that does is not measured here."]
    if results.missing:
        parts.append(f"Not measured: {results.missing}.")
        return "\n\n".join(parts)
    show = lambda us: duration(us * 1000)  # noqa: E731
    rows = []
    for name, label in (("alone", "alone"), ("worst", "worst wakeup_rt"), ("events", "worst wakeup_rt --events")):
        found = results.found.get(name, [])
        rows.append([label, Figure([row[name] for row in results.medians]).text(show),
                     "" if name == "alone" else results.ratio(name, "alone").text(times),
                     Figure([longest for longest, _, _ in found]).text(show) if found else "",
                     str(sum(followed for _, followed, _ in found)) if found else "",
                     str(sum(lost for _, _, lost in found)) if found else ""])
    parts.append(table(["", "median latency", "of that alone", "longest wake-up found", "followed", "lost"], rows))
    return "\n\n".join(parts)
