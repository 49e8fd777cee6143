# SPDX-License-Identifier: Apache-2.0
"""Measures in rounds over all tools, and outside of rounds: start-up, and loss in long runs."""

import contextlib
import os
import random
import signal
import subprocess
import tempfile
import time

from .process import Unavailable
from .stats import lower_quartile
from .tools import Attachment, FloorAttachment, remove


# Below these shares of findings, and of findings with all stacks, a median means little. On a busy
# machine, a kernel that does not report every switch loses one finding in a hundred.
FINDINGS_SHARE_MIN = 0.99
EXPLAINED_SHARE_MIN = 0.95
PEER_ROUNDS = 3  # rounds of other projects' tools, which have no limit to keep


def attach(tool, scope, instance, directory, exercise=None):
    if tool.floor:
        return FloorAttachment(tool)
    return Attachment(tool, scope, instance.pid, directory, exercise)


def mean(first, second):
    return {series: (first[series] + second[series]) / 2 for series in first}


class Samples:
    """The results of one workload. rows[tool key] is a list with a dictionary per round."""

    def __init__(self, workload, tools):
        self.workload = workload
        self.tools = tools
        self.rows = {tool.key: [] for tool in tools}
        self.unavailable = {}   # tool key → reason
        self.missing = None     # why the workload did not run at all
        self.notes = []
        self.reported = {}          # tool key → {"made", "findings", "explained", "lost"}, for findings
        self.miscounted = set() # keys of tools that missed calls: their cost proves nothing

    def series(self):
        for rows in self.rows.values():
            for row in rows:
                return list(row["base"])
        return []

    def as_json(self):
        return {"missing": self.missing, "unavailable": self.unavailable, "notes": self.notes,
                "reported": self.reported, "rounds": self.rows}


class Plan:
    """How one workload is run. The `judged` tools run `repeats` times per round, each time along
    with the tools `beside` them, mostly floors. A figure is the lower quartile of `sections`
    consecutive sections, because a disturbance can only lengthen a section.
    """

    def __init__(self, workload, tools, *, judged=(), beside=(), repeats=1, sections=1):
        self.workload = workload
        self.tools = tools
        self.judged = set(judged)
        self.beside = list(beside)
        self.repeats = repeats
        self.sections = sections

    def parts_beside(self, tool):
        if tool.key not in self.judged:
            return []
        return [part for part in self.beside if not part.reason_missing()]

    def order(self, usable, number):
        times = [tool for tool in usable if not tool.peer or number < PEER_ROUNDS
                 for _ in range(self.repeats if tool.key in self.judged else 1)]
        return random.sample(times, len(times))


def run_rounds(plan, rounds, directory, say):
    """Times the plan's workload under every tool in every round, in shuffled order.

    A row of a tool is {"round", "base", "value", key of each tool beside it: {series: ns}}. The
    untraced workload is timed just before and after the tool and the tools beside it, so that a
    drift of the machine cancels in ratios. Rows without floors take the floors of their round.
    """
    workload, tools = plan.workload, plan.tools
    samples = Samples(workload, tools)
    samples.missing = workload.reason_missing()
    usable = []
    for tool in tools:
        reason = tool.reason_missing() or tool.reason_unfit(workload.scope, workload.attach_only)
        if reason:
            samples.unavailable[tool.key] = reason
        else:
            usable.append(tool)
    if samples.missing or not usable:
        return samples
    try:
        instance = workload.start()
    except Unavailable as problem:
        samples.missing = str(problem)
        return samples
    try:
        instance.measure()  # the first section of a process is slower than all others
        for number in range(rounds):
            say(f"{workload.title}: round {number + 1} of {rounds}")
            for tool in plan.order(usable, number):
                if tool.key in samples.unavailable:
                    continue
                try:
                    row = measure_block(plan, instance, tool, directory, samples)
                    samples.rows[tool.key].append({"round": number, **row})
                except Unavailable as problem:
                    samples.unavailable[tool.key] = str(problem)
            share_floors(samples, number)
    except Unavailable as problem:  # the workload itself failed
        samples.missing = str(problem)
    finally:
        instance.end()
    show_what_was_beside(plan, samples)
    return samples


def show_what_was_beside(plan, samples):
    """Adds rows for the tools of `beside` that have none, from the rows of the judged tools."""
    for part in plan.beside:
        if part.key in samples.rows:
            continue
        samples.rows[part.key] = [{**row, "value": row[part.key]} for key in sorted(plan.judged)
                                  for row in samples.rows.get(key, []) if part.key in row]
        place = 0 if part.floor else sum(not tool.peer for tool in samples.tools)
        samples.tools = [*samples.tools[:place], part, *samples.tools[place:]]


def measure_block(plan, instance, tool, directory, samples):
    before = quiet_sections(instance, plan.sections)
    parts = plan.parts_beside(tool)
    row = {}
    for part in random.sample([tool, *parts], 1 + len(parts)):
        key = "value" if part is tool else part.key
        row[key] = measure_tool(plan, instance, part, directory, samples)
    row["base"] = mean(before, quiet_sections(instance, plan.sections))
    return row


def quiet_sections(instance, sections, divisor=1):
    """The lower quartile of `sections` sections, separately for each series."""
    taken = [instance.measure(divisor) for _ in range(sections)]
    return {series: lower_quartile([section[series] for section in taken]) for series in taken[0]}


def measure_tool(plan, instance, tool, directory, samples):
    workload = plan.workload
    divisor = workload.divisor(tool)
    if tool.spawns:
        path = os.path.join(directory, f"{tool.key}-{time.monotonic_ns()}")
        own = workload.start(tool.command(None, path))
        try:
            return quiet_sections(own, plan.sections, divisor)
        finally:
            own.end()
            remove(path)
    instance.take_made()
    attachment = attach(tool, workload.scope, instance, directory,
                        exercise=lambda: instance.measure(1000))
    with attachment:
        value = quiet_sections(instance, plan.sections, divisor)
        made = instance.take_made()
    check_counts(tool, attachment.facts, made, getattr(instance, "series", None), samples)
    return value


def check_counts(tool, facts, made, series, samples):
    """Notes missed calls: a tool that is fast because it misses calls proves nothing."""
    if facts.get("lost"):
        samples.notes.append(f"{tool.label}: {facts['lost']} of its records were lost in one round")
    if "findings" in facts and series == "finding":
        count_findings(tool, facts, made, samples)
    elif "counts" in facts and series == "getppid" and not tool.records:
        seen = facts["counts"].get("getppid", 0)
        if seen != made and not getattr(tool, "two_phase", False):
            samples.miscounted.add(tool.key)
            samples.notes.append(f"{tool.label}: counted {seen} getppid calls of {made} in one round")


def count_findings(tool, facts, made, samples):
    """Checks the findings: none if the threshold is out of reach, else nearly all, with stacks."""
    reported = samples.reported.setdefault(tool.key, {"made": 0, "findings": 0, "explained": 0, "lost": 0})
    for name, count in (("made", made), *((name, facts[name]) for name in ("findings", "explained", "lost"))):
        reported[name] += count
    wanted = made if tool.finds else 0
    if (not FINDINGS_SHARE_MIN * wanted <= facts["findings"] <= wanted
            or facts["explained"] < EXPLAINED_SHARE_MIN * wanted):
        samples.miscounted.add(tool.key)
        samples.notes.append(f"{tool.label}: reported {facts['findings']} sleeps of {wanted} in one round, "
                             f"of {facts['explained']} with all stacks")


def share_floors(samples, number):
    floors = {tool.key: row for tool in samples.tools if tool.floor
              for row in samples.rows[tool.key] if row["round"] == number}
    for rows in samples.rows.values():
        for row in rows:
            if row["round"] != number:
                continue
            for key, floor in floors.items():
                row.setdefault(key, scaled_to(row["base"], floor))


def scaled_to(base, row):
    """A floor's values, scaled to this base."""
    return {series: value * base[series] / row["base"][series] for series, value in row["value"].items()}


def start_up(program, prefixes, rounds, directory, say):
    """{tool key: [ns from spawning the command to main() of the program it starts]}"""
    times = {key: [] for key in prefixes}
    problems = {}
    say("start-up")
    for _ in range(rounds):
        for key in random.sample(list(prefixes), len(prefixes)):
            if key in problems:
                continue
            path = os.path.join(directory, f"start-{time.monotonic_ns()}")
            argv = [*(path if part == "@path" else part for part in prefixes[key]), program]
            try:
                times[key].append(time_start(argv))
            except Unavailable as problem:
                problems[key] = str(problem)
            finally:
                remove(path)
    return times, problems


def time_start(argv):
    """Does without Child, whose preexec function slows down the spawning itself."""
    with tempfile.TemporaryFile() as errors:
        begin_ns = time.monotonic_ns()
        try:
            child = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=errors)
        except OSError as error:
            raise Unavailable(f"cannot run {argv[0]}: {error.strerror}") from error
        try:
            output = child.communicate(timeout=60)[0]
        except BaseException as problem:
            child.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(5)
            child.kill()
            child.wait()
            if isinstance(problem, subprocess.TimeoutExpired):
                raise Unavailable(f"{argv[0]} did not end within 60 s") from problem
            raise
        if child.returncode != 0 or not output.strip().isdigit():
            errors.seek(0)
            text = errors.read().decode(errors="replace").strip()
            raise Unavailable(text.splitlines()[-1][:200] if text else f"status {child.returncode}")
        return int(output) - begin_ns


def sustained(workload, tool, seconds, directory, say):
    """One long paced run under one tool: calls made, seen and lost, and the rate reached."""
    say(f"{workload.title}, {tool.label}: {seconds:.0f} s")
    instance = workload.start()
    try:
        instance.take_made()
        attachment = attach(tool, workload.scope, instance, directory)
        with attachment:
            instance.measure(count=int(workload.rate * seconds))
            made = instance.take_made()
            reached = instance.calls_per_second
        seen = attachment.facts["counts"].get("getppid", 0)
        return {"made": made, "seen": seen, "lost": attachment.facts["lost"], "rate": reached,
                "bytes": attachment.facts.get("bytes")}
    finally:
        instance.end()
