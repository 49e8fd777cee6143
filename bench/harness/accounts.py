# SPDX-License-Identifier: Apache-2.0
"""The CPU time of Overdue's BPF programs as a share of a workload's, from the kernel's BPF
statistics. Works where the times of a workload's sections differ by more than a limit."""

import random

from .process import Unavailable
from .programs import Statistics, programs, runs_between
from .requirements import at_most
from .report import table
from .stats import Figure, duration, lower_quartile, percent
from .tools import Attachment, FloorAttachment

# For a server, the CPU time of its clients counts too, and so do BPF programs that run in them.
LIMITS = (("stalls-pipe", "pipe ping-pong", 0.15), ("hackbench", "hackbench", 0.03), ("redis", "redis", 0.02),
          ("pgbench", "pgbench, at 200 ms", 0.02))
EMPTY_HOOKS = ("empty_enter", "empty_exit")
FLOOR_HOOKS = ("ledger_enter", "ledger_exit", "ledger_switch", "ledger_waking")
# The programs at the tracepoints of the empty hooks.
CALL_HOOKS = ("on_sys_enter", "on_sys_exit", "ledger_enter", "ledger_exit")


def share_taken(ours, empty, hook_ns, base_ns):
    """Returns {"share": …, "programs": {name: (runs, ns a run)}}: the time beyond two empty hooks.

    `share` is relative to `base_ns`, the untraced time of the workload. The time of an empty
    program's run, which includes the cost of the statistics, is subtracted from each run. A hook
    other than the two of system calls costs `hook_ns` more per run.
    """
    empty_runs, empty_ns = map(sum, zip(*empty.values()))
    each = {}
    for name, (runs, ns) in ours.items():
        took = ns - runs * empty_ns / empty_runs + (0 if name.startswith(CALL_HOOKS) else runs * hook_ns)
        each[name] = (runs, took / runs)
    return {"share": sum(runs * ns for runs, ns in each.values()) / base_ns, "programs": each}


def hook_cost_ns(loop, empty, sections=8):
    """The cost per call of each of two empty hooks, from sections with and without the hooks."""
    instance = loop.start()
    try:
        instance.measure()
        taken = {True: [], False: []}
        for _ in range(sections):
            for attached in random.sample([True, False], 2):
                if attached:
                    with FloorAttachment(empty):
                        taken[True] += instance.measure().values()
                else:
                    taken[False] += instance.measure().values()
        return max(0.0, (lower_quartile(taken[True]) - lower_quartile(taken[False])) / 2)
    finally:
        instance.end()


class Accounts:
    """The share_taken() of each round by workload key, for stalls (`rows`) and the floor
    (`floors`). `missing` has a reason for each workload that could not be measured."""

    def __init__(self):
        self.hook_ns = None
        self.rows = {}
        self.floors = {}
        self.missing = {}
        self.titles = {}

    def shares(self, key):
        return Figure([row["share"] for row in self.rows.get(key, [])])

    def floor_shares(self, key):
        return Figure([row["share"] for row in self.floors.get(key, [])])

    def as_json(self):
        return {"hook_ns": self.hook_ns, "rows": self.rows, "floors": self.floors, "missing": self.missing}


def cpu_of_sections_ns(instance, sections):
    begin_ns = instance.cpu_ns()
    for _ in range(sections):
        instance.measure()
    return instance.cpu_ns() - begin_ns


def take(instance, hook_ns, base_ns, sections, is_ours):
    """The share_taken() of the attached programs for which `is_ours(id, name)` is true."""
    with Statistics():
        instance.measure()
        first = programs()
        for _ in range(sections):
            instance.measure()
        spent = runs_between(first, programs())
    known = {program["name"] for number, program in first.items() if is_ours(number, program.get("name"))}
    ours = {name: taken for name, taken in spent.items() if name in known and name not in EMPTY_HOOKS}
    hooks = {name: taken for name, taken in spent.items() if name in EMPTY_HOOKS}
    if not ours or not hooks:
        raise Unavailable("the kernel keeps no statistics of our programs")
    return share_taken(ours, hooks, hook_ns, base_ns)


def take_tool(workload, instance, tool, empty, hook_ns, base_ns, directory, sections):
    others = set(programs())
    with Attachment(tool, workload.scope, instance.pid, directory), FloorAttachment(empty):
        return take(instance, hook_ns, base_ns, sections, lambda number, name: number not in others)


def take_floor(instance, floor, hook_ns, base_ns, sections):
    with FloorAttachment(floor):
        return take(instance, hook_ns, base_ns, sections, lambda number, name: name in FLOOR_HOOKS)


def measure(loop, plans, floors, rounds, directory, say):
    """`loop` is the getppid loop. `plans` is [(workload, tool, sections)]."""
    accounts = Accounts()
    for workload, tool, sections in plans:
        accounts.titles[workload.key] = f"{workload.title}, {tool.label}"
        try:
            measure_one(accounts, loop, workload, tool, sections, floors, rounds, directory, say)
        except Unavailable as problem:
            accounts.missing[workload.key] = str(problem)
    return accounts


def measure_one(accounts, loop, workload, tool, sections, floors, rounds, directory, say):
    empty, floor = floors["empty"], floors["ledgers-beside-empty"]
    reason = workload.reason_missing() or tool.reason_missing() or empty.reason_missing()
    if reason:
        raise Unavailable(reason)
    if accounts.hook_ns is None:
        accounts.hook_ns = hook_cost_ns(loop, empty)
    instance = workload.start()
    try:
        for number in range(rounds):
            say(f"by account, {workload.title}: round {number + 1} of {rounds}")
            base_ns = cpu_of_sections_ns(instance, sections)
            accounts.rows.setdefault(workload.key, []).append(
                take_tool(workload, instance, tool, empty, accounts.hook_ns, base_ns, directory, sections))
            accounts.floors.setdefault(workload.key, []).append(
                take_floor(instance, floor, accounts.hook_ns, base_ns, sections))
    finally:
        instance.end()


def judge(accounts):
    if not accounts:
        return []
    text = "what stalls' programs take beyond two empty hooks, by the kernel's account"
    return [at_most(f"account-{key}", f"{name}: {text}", limit, accounts.shares(key), percent)
            for key, name, limit in LIMITS]


def section(accounts):
    parts = ["## What the programs take, by the kernel's account",
             "CPU time of the programs of `overdue stalls`, by the kernel's statistics of each (bpf_stats_enabled), as a "
             "share of what the workload takes for as much untraced. Of each run is taken off what a run of an empty "
             "program takes at the same time, most of which are the statistics' own two readings of the clock; for a hook "
             f"other than the two of system calls, {duration(accounts.hook_ns or 0)} are added, what having an empty one "
             "costs a call. What it does not tell is what the caches lose. The floor: programs that read the clock at each "
             "call's entry and at each switch, and keep a word of each thread and of its waker, of targets and others."]
    names = sorted({name for rows in accounts.rows.values() for row in rows for name in row["programs"]})
    for key, title in accounts.titles.items():
        parts.append(f"### {title}")
        if key in accounts.missing:
            parts.append(f"Not measured: {accounts.missing[key]}.")
            continue
        rows = accounts.rows.get(key, [])
        figures = [(name, [row["programs"][name] for row in rows if name in row["programs"]]) for name in names]
        parts.append(table(["program", "runs a round", "a run"], [
            *([name, str(round(Figure([runs for runs, _ in taken]).median)), Figure([ns for _, ns in taken]).text(duration)]
              for name, taken in figures if taken),
            ["all, of the workload's CPU time", "", accounts.shares(key).text(percent)],
            ["the floor, of that", "", accounts.floor_shares(key).text(percent)]]))
    return "\n\n".join(parts)
