# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of Overdue, run in turn: the cost of a change."""

import dataclasses
import os
import random
import subprocess
import time

from . import measure, report, stalls, tools
from .process import Unavailable
from .stats import Figure, duration, quotient, times
from .workloads import Hackbench, Program, cpus

START_UPS = 9  # per round; one takes a few hundredths of a second
SECTIONS = 12  # short sections: a disturbance lengthens only a few


@dataclasses.dataclass
class Comparison:
    title: str
    unit: str
    these: Figure   # ns in this build, one value per round
    others: Figure  # ns in the other build
    ratios: Figure  # this build / other build, within rounds
    problem: str = ""
    added: Figure | None = None  # like `ratios`, of the time added to the untraced operation


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


def ratios_of(rows, series, added=False):
    """Per round: the time of an operation under this build, by the time under the other build.

    Each time is relative to the untraced time just before and after, so that a drift of the machine
    cancels. With `added`, only the time that each build adds to the untraced time is compared.
    """
    def by_round(key):
        return {row["round"]: row["value"][series] / row["base"][series] - added for row in rows.get(key, [])}
    this, other = by_round("this"), by_round("other")
    return [quotient(this[number], other[number]) for number in sorted(this.keys() & other.keys())]


def compare_loop(workload, form, this, other, rounds, directory, say):
    plan = measure.Plan(workload, pair(form, this, other), sections=SECTIONS)
    samples = measure.run_rounds(plan, rounds, directory, say)
    problem = samples.missing or "; ".join(samples.unavailable.values())
    series = workload.series
    values = {key: [row["value"][series] for row in samples.rows[key]] for key in ("this", "other")}
    return Comparison(f"{workload.title} under {form}", workload.unit, Figure(values["this"]), Figure(values["other"]),
                      Figure(ratios_of(samples.rows, series)), problem, Figure(ratios_of(samples.rows, series, added=True)))


def time_run(argv):
    begin_ns = time.monotonic_ns()
    finished = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60)
    took_ns = time.monotonic_ns() - begin_ns
    if finished.returncode != 0:
        raise Unavailable(tools.reason_in(finished.stderr.decode(errors="replace")))
    return took_ns


def compare_start(command, this, other, rounds, directory, say):
    """Times whole runs on a program that does nothing: only attaching and detaching remain."""
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
    """How the two builds compare."""
    def loop(name, title, unit, count):
        argv = [os.path.join(options.build, "bench", f"bench_{name}"), str(cpus()[-1])]
        return Program(name, title, unit, argv, count // 4 if options.quick else count)
    builds = options.overdue, options.against
    more = options.rounds, directory, say
    system = Hackbench(4, 100 if options.quick else 400)
    system.series = system.title = "hackbench"
    return [
        compare_loop(loop("getppid", "getppid loop", "call", 250_000), "overdue", *builds, *more),
        compare_loop(loop("pipe", "Pipe ping-pong", "round trip", 20_000), "stalls", *builds, *more),
        compare_loop(system, "overdue", *builds, *more),
        compare_loop(system, "stalls", *builds, *more),
        compare_start(["syscalls"], *builds, *more),
        compare_start(["stalls", "-T", "10ms"], *builds, *more)]


METHOD = """Written by `bench/run.py --against PATH --output FILE`; do not edit. The two builds take turns in an order
shuffled anew in every round; a loop is timed without either just before and after each. A figure of a round is the
lower quartile of twelve short sections, since what disturbs a section makes it longer. A ratio is the median of the
ratios inside rounds, so a drift of the machine cancels; in brackets, between what they lie. "Added" is time on top of
the untraced. Under `overdue` the loop is counted by `overdue syscalls`, under `stalls` watched by `overdue stalls`
with a threshold that nothing reaches; hackbench with the whole system."""


def document(comparisons, environment, rounds, other):
    rows = []
    for one in comparisons:
        if one.problem:
            rows.append([one.title, f"not measured: {one.problem}", "", "", ""])
        else:
            rows.append([one.title, one.ratios.text(times), one.added.text(times) if one.added else "",
                         f"{one.these.text(duration)} a {one.unit}", one.others.text(duration)])
    return "\n\n".join([
        "# Beside an earlier build", METHOD, f"Rounds: {rounds}. The other build: {other}.",
        "## Environment", report.table(["", ""], [list(pair) for pair in environment]),
        "## This build by the other",
        report.table(["", "in all", "added", "this build", "the other"], rows)]) + "\n"
