# SPDX-License-Identifier: Apache-2.0
"""Two builds of Overdue beside each other, in turn: what a change to it costs."""

import dataclasses
import os
import random
import subprocess
import time

from . import measure, stalls, tools
from .process import Unavailable
from .stats import Figure, duration, quotient, times
from .workloads import Program, cpus

START_UPS = 9  # in a round: one takes a few hundredths of a second


@dataclasses.dataclass
class Comparison:
    title: str
    unit: str
    these: Figure   # ns, by round
    others: Figure  # of the other build
    ratios: Figure  # this build by the other, inside rounds
    problem: str = ""


def forms_of(path):
    return {tool.key: tool for tool in [*tools.overdue_forms(path), *stalls.forms(path)]}


def pair(form, this, other):
    """The same form of two builds, as two tools of one run."""
    found = []
    for key, path in (("this", this), ("other", other)):
        tool = forms_of(path)[form]
        tool.key = key
        found.append(tool)
    return found


def ratios_of(rows, series):
    """Per round: what an operation takes under one build by what it takes under the other, each by the untraced
    operation just before and after, so that a drift of the machine cancels.
    """
    def by_round(key):
        return {row["round"]: row["value"][series] / row["base"][series] for row in rows.get(key, [])}
    this, other = by_round("this"), by_round("other")
    return [quotient(this[number], other[number]) for number in sorted(this.keys() & other.keys())]


def compare_loop(workload, form, this, other, rounds, directory, say):
    samples = measure.run_rounds(measure.Plan(workload, pair(form, this, other)), rounds, directory, say)
    problem = samples.missing or "; ".join(samples.unavailable.values())
    series = workload.series
    values = {key: [row["value"][series] for row in samples.rows[key]] for key in ("this", "other")}
    return Comparison(f"{workload.title} under {form}", workload.unit, Figure(values["this"]), Figure(values["other"]),
                      Figure(ratios_of(samples.rows, series)), problem)


def time_run(argv):
    begin_ns = time.monotonic_ns()
    finished = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    took_ns = time.monotonic_ns() - begin_ns
    if finished.returncode != 0:
        raise Unavailable(tools.reason_in(finished.stderr.decode(errors="replace")))
    return took_ns


def compare_start(command, this, other, rounds, directory, say):
    """Of a program that does nothing: attaching and detaching is all there is."""
    title = f"{' '.join(command)} -- true, from begin to end"
    say(title)
    took = {"this": [], "other": []}
    ratios, problem = [], ""
    path = os.path.join(directory, "started")
    builds = {"this": this, "other": other}
    try:
        for _ in range(rounds):
            sums = dict.fromkeys(builds, 0)
            for key in random.sample(list(builds) * START_UPS, 2 * START_UPS):
                sums[key] += time_run([builds[key], *command, "-o", path, "--", "true"])
            for key, ns in sums.items():
                took[key].append(ns / START_UPS)
            ratios.append(quotient(sums["this"], sums["other"]))
    except (Unavailable, OSError, subprocess.TimeoutExpired) as reason:
        problem = str(reason)
    tools.remove(path)
    return Comparison(title, "run", Figure(took["this"]), Figure(took["other"]), Figure(ratios), problem)


def compare(options, directory, say):
    """Prints how the two builds compare. Whether all of it could be measured."""
    def loop(name, title, unit, count):
        argv = [os.path.join(options.build, "bench", f"bench_{name}"), str(cpus()[-1])]
        return Program(name, title, unit, argv, count // 4 if options.quick else count)
    builds = options.overdue, options.against
    more = options.rounds, directory, say
    comparisons = [
        compare_loop(loop("getppid", "getppid loop", "call", 2_000_000), "overdue", *builds, *more),
        compare_loop(loop("pipe", "Pipe ping-pong", "round trip", 100_000), "stalls", *builds, *more),
        compare_start(["syscalls"], *builds, *more),
        compare_start(["stalls", "-T", "10ms"], *builds, *more)]
    print(text(comparisons, *builds))
    return not any(one.problem for one in comparisons)


def text(comparisons, this, other):
    lines = [f"{this} by {other}: medians of the ratios inside rounds, and between what they lie", ""]
    for one in comparisons:
        if one.problem:
            lines.append(f"{one.title}: not measured: {one.problem}")
        else:
            lines.append(f"{one.title}: {one.ratios.text(times)}; a {one.unit} takes {one.these.text(duration)}, "
                         f"with the other {one.others.text(duration)}")
    return "\n".join(lines)
