# SPDX-License-Identifier: Apache-2.0
"""`overdue timerlat` beside cyclictest, and the cost of its bookkeeping per activation."""

import json
import os
import random
import re
import shutil
import time

from .process import Child, Unavailable, output_of, run
from .programs import Statistics, programs, runs_between
from .requirements import Verdict, at_most
from .report import table
from .stats import Figure, duration, times
from .workloads import cpus

PERIOD_US = 1000
PRIORITY = 95
BUCKETS = 400  # of one microsecond, as in cyclictest
NOISE_HOOK = "noise_"  # name prefix of the bookkeeping programs


def median_of_buckets(buckets):
    """The median in µs of [(lower bound in µs, count)]. Buckets are one microsecond wide; values
    are taken to be evenly spread inside a bucket."""
    half, before = sum(count for _, count in buckets) / 2, 0
    for lower, count in sorted(buckets):
        if before + count >= half and count:
            return lower + (half - before) / count
        before += count
    raise Unavailable("no latency was measured")


def cyclictest_command(places, seconds):
    listed = ",".join(map(str, places))
    return ["cyclictest", "-q", "-m", "-p", str(PRIORITY), "-i", str(PERIOD_US), "-d", "0", "-a", listed,
            "-t", str(len(places)), "-D", str(seconds), "-h", str(BUCKETS)]


def read_cyclictest(text, places):
    """{CPU: median in µs} from the histogram: a line per microsecond, a column per thread."""
    counts = {cpu: [] for cpu in places}
    for line in text.splitlines():
        fields = re.fullmatch(r"(\d{6})((?:\s+\d+)+)\s*", line)
        if fields:
            for cpu, count in zip(places, fields[2].split()):
                counts[cpu].append((int(fields[1]), int(count)))
    return {cpu: median_of_buckets(buckets) for cpu, buckets in counts.items()}


def overdue_command(program, places, seconds):
    return [program, "timerlat", "--cpu", ",".join(map(str, places)), "-p", str(PERIOD_US), "-P", str(PRIORITY),
            "--dma-latency", "0", "-d", f"{seconds}s", "-f", "json", "--hist", "-E", str(BUCKETS), "-q"]


def read_overdue(text, part="thread"):
    return {cpu["cpu"]: median_of_buckets([(lower / 1000, count) for lower, _, count in cpu[part]["histogram"]])
            for cpu in json.loads(text)["cpus"]}


class Results:
    """`alternating`: {"cyclictest", "thread"} in µs, per CPU and round. `together`: {"there",
    "here"} in µs, per round with both at once. `bookkeeping`: the cost of the hooks."""

    def __init__(self):
        self.missing = None
        self.alternating = []
        self.together = []
        self.bookkeeping = []  # {hook: ns per activation}

    def ratios(self, rows, above, below):
        return Figure([row[above] / row[below] for row in rows])

    def as_json(self):
        return {"missing": self.missing, "alternating": self.alternating, "together": self.together,
                "bookkeeping": self.bookkeeping}


def measure(program, rounds, seconds, say):
    results = Results()
    for needed in ("cyclictest", "bpftool"):
        if not shutil.which(needed, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            results.missing = f"{needed} is not installed"
            return results
    try:
        for number in range(rounds):
            say(f"timerlat: round {number + 1} of {rounds}")
            alternate(results, program, seconds)
            if len(cpus()) > 1:
                at_once(results, program, seconds, number)
            results.bookkeeping.append(book(program, seconds))
    except Unavailable as problem:
        results.missing = str(problem)
    return results


def alternate(results, program, seconds):
    places, taken = cpus(), {}
    ways = [("cyclictest", lambda: read_cyclictest(run(cyclictest_command(places, seconds)), places)),
            ("thread", lambda: read_overdue(run(overdue_command(program, places, seconds))))]
    for name, take in random.sample(ways, 2):
        taken[name] = take()
    results.alternating += [{name: medians[cpu] for name, medians in taken.items()} for cpu in places]


def at_once(results, program, seconds, number):
    """Runs both at once, each on its own CPU. They swap CPUs from round to round."""
    here, there = cpus()[number % 2], cpus()[1 - number % 2]
    other = Child(cyclictest_command([there], seconds))
    ours = read_overdue(run(overdue_command(program, [here], seconds)))[here]
    theirs = read_cyclictest(output_of(other, "cyclictest", seconds + 10), [there])[there]
    results.together.append({"here": ours, "there": theirs})


def book(program, seconds):
    """The cost per activation of each of the probe's hooks, from the kernel's BPF statistics.
    Includes the clock reads of the statistics."""
    before = set(programs())
    with Statistics():
        child = Child(overdue_command(program, cpus(), seconds + 2))
        try:
            time.sleep(1.5)
            first, begin = programs(), time.monotonic()
            time.sleep(seconds)
            last, elapsed_s = programs(), time.monotonic() - begin
        finally:
            child.end(None, timeout_s=seconds + 10)
    activations = elapsed_s * 1e6 / PERIOD_US * len(cpus())
    ours = {number: each for number, each in first.items() if number not in before}
    spent = {name: ns / activations for name, (_, ns) in runs_between(ours, last).items()
             if name.startswith((NOISE_HOOK, "lat_"))}
    if not spent:
        raise Unavailable("the kernel keeps no statistics of our programs")
    return spent


def kept_books(spent):
    return sum(ns for name, ns in spent.items() if name.startswith(NOISE_HOOK))


def no_further_apart(key, text, limit, ratios):
    """The ratios must lie within `limit` on either side of 1."""
    if not ratios:
        return Verdict(key, text, f"≤ {limit:.0%}", "n/a", None)
    within = [abs(ratio - 1) <= limit for ratio in (*ratios.interval, ratios.median)]
    return Verdict(key, text, f"≤ {limit:.0%}", ratios.text(times), within[-1], len(set(within)) == 1)


def judge(results):
    if not results:
        return []
    alternating = results.ratios(results.alternating, "thread", "cyclictest")
    return [
        at_most("timerlat-thread", "timerlat: median thread latency, in multiples of cyclictest's in alternation", 1.1,
                alternating, times),
        no_further_apart("timerlat-together", "timerlat and cyclictest at once on two CPUs: medians are apart", 0.15,
                         results.ratios(results.together, "here", "there")),
        at_most("timerlat-books", "timerlat: bookkeeping of noise, an activation", 1000,
                Figure([kept_books(spent) for spent in results.bookkeeping]), duration),
    ]


def section(results):
    parts = ["## timerlat beside cyclictest",
             f"A thread a CPU, SCHED_FIFO {PRIORITY}, every {PERIOD_US} µs, no deep sleep (/dev/cpu_dma_latency). "
             "Medians of a run, interpolated inside of buckets of a microsecond; they take turns, then each has a CPU "
             "of its own, and they change those from round to round."]
    if results.missing:
        parts.append(f"Not measured: {results.missing}.")
        return "\n\n".join(parts)
    show = lambda us: duration(us * 1000)  # noqa: E731
    rows = [["in alternation", *(Figure([row[name] for row in results.alternating]).text(show)
                                 for name in ("cyclictest", "thread")),
             results.ratios(results.alternating, "thread", "cyclictest").text(times)]]
    if results.together:
        rows.append(["at once", *(Figure([row[name] for row in results.together]).text(show)
                                  for name in ("there", "here")),
                     results.ratios(results.together, "here", "there").text(times)])
    parts.append(table(["", "cyclictest", "overdue timerlat", "ratio"], rows))
    names = sorted({name for spent in results.bookkeeping for name in spent})
    rows = [[name, Figure([spent.get(name, 0) for spent in results.bookkeeping]).text(duration)] for name in names]
    rows.append([f"all {NOISE_HOOK}…", Figure([kept_books(spent) for spent in results.bookkeeping]).text(duration)])
    parts.append("What each hook takes, an activation, by the kernel's statistics (bpf_stats_enabled), the clock that "
                 f"these read included. {NOISE_HOOK}… keep books of what has the CPU; lat_… are the measurement itself, "
                 "and lat_switch, which also records each activation, notes the thread that left.")
    parts.append(table(["hook", "an activation"], rows))
    return "\n\n".join(parts)
