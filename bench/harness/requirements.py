# SPDX-License-Identifier: Apache-2.0
"""What must hold, checked against what was measured."""

import dataclasses
import typing

from .stats import Figure, duration, grouped, points, quotient, times


@dataclasses.dataclass
class Verdict:
    key: str                    # names its note in notes.json
    text: str
    limit: str
    measured: str
    met: typing.Optional[bool]  # None: not measured
    unanimous: bool = True      # every round by itself says the same

    def word(self):
        word = {True: "met", False: "MISSED", None: "not measured"}[self.met]
        return word if self.unanimous else word + ", but not in every round"


def added_ratios(samples, tool, floor, series=None):
    """Per row: what `tool` added to the untraced base, over what `floor` added in the same row."""
    ratios = []
    for row in samples.rows.get(tool, []) if samples else []:
        if floor not in row:
            continue
        for name in [series] if series else row["base"]:
            base = row["base"][name]
            ratios.append(quotient(row["value"][name] - base, row[floor][name] - base))
    return Figure(ratios)


def untraced_ratios(samples, tool, series):
    return Figure([row["value"][series] / row["base"][series]
                   for row in (samples.rows.get(tool, []) if samples else [])])


def throughput_lost(base_ns, value_ns):
    """The share of throughput gone when an operation takes value_ns instead of base_ns."""
    return 1 - base_ns / value_ns


def lost_beyond(samples, tool, floor, series):
    """Per row: the throughput `tool` lost minus what `floor` lost."""
    return Figure([
        throughput_lost(row["base"][series], row["value"][series])
        - throughput_lost(row["base"][series], row[floor][series])
        for row in (samples.rows.get(tool, []) if samples else []) if floor in row])


def at_most(key, text, limit, figure, show, miscounted=False):
    met = figure.median <= limit and not miscounted if figure else None
    measured = figure.text(show) + (", but it did not count every call" if miscounted else "")
    unanimous = not figure or miscounted or all((value <= limit) == met for value in figure.values)
    return Verdict(key, text, f"≤ {show(limit)}", measured, met, unanimous)


def cost_at_most(key, text, limit, samples, tool, floor):
    miscounted = samples is not None and tool in samples.miscounted
    return at_most(key, text, limit, added_ratios(samples, tool, floor), times, miscounted)


def cheaper_than_peers(samples, peers):
    text = "getppid loop: default form cheaper than every peer"
    ours = added_ratios(samples, "overdue", "clock")
    others = {peer.label: added_ratios(samples, peer.key, "clock") for peer in peers}
    others = {label: figure.median for label, figure in others.items() if figure}
    if not ours or not others:
        return Verdict("cheapest", text, "< every peer", "n/a", None)
    label, least = min(others.items(), key=lambda item: item[1])
    return Verdict("cheapest", text, f"< {times(least)} of the clock floor ({label})",
                   ours.text(times), ours.median < least)


def no_loss(key, text, run, wanted_rate):
    """`run` is what measure.sustained returned, None or the reason it failed."""
    if not isinstance(run, dict):
        return Verdict(key, text, "0 lost, all counted", run or "n/a", None)
    measured = (f"{run['lost']} lost, {run['seen']} of {run['made']} counted, "
                f"at {grouped(run['rate'])} calls/s")
    met = run["lost"] == 0 and run["seen"] == run["made"]
    # A workload held back below its rate has not put the question.
    if met and run["rate"] < 0.98 * wanted_rate:
        met = None
    return Verdict(key, text, "0 lost, all counted", measured, met)


def accounted(key, text, run):
    if not isinstance(run, dict):
        return Verdict(key, text, "seen + lost = made", run or "n/a", None)
    return Verdict(key, text, "seen + lost = made",
                   f"{run['seen']} + {run['lost']} of {run['made']}",
                   run["seen"] + run["lost"] == run["made"])


def judge(results, peers):
    """`results` is run.py's dictionary: workload key → Samples, and the measurements that are no rounds."""
    getppid, paced = results.get("getppid"), results.get("paced")
    bystander, redis = results.get("bystander"), results.get("redis")
    starts = Figure(results.get("start", {}).get("overdue", []))
    return [
        cost_at_most("default", "getppid loop: default form adds, in multiples of the clock floor", 1.25,
                     getppid, "overdue", "clock"),
        cost_at_most("by-thread", "getppid loop: --by thread, likewise", 1.35, getppid, "by-thread", "clock"),
        cheaper_than_peers(getppid, peers),
        cost_at_most("calls", "500 000 calls/s: --calls into an NDJSON file, likewise", 2.5,
                     paced, "calls", "clock"),
        cost_at_most("record", "500 000 calls/s: record into a trace file, likewise", 2.5,
                     paced, "record", "clock"),
        no_loss("calls-loss", "500 000 calls/s: --calls loses nothing", results.get("calls-loss"), 500e3),
        accounted("calls-account", "500 000 calls/s: --calls accounts for every call",
                  results.get("calls-loss")),
        no_loss("record-loss", "500 000 calls/s: record loses nothing", results.get("record-loss"), 500e3),
        no_loss("loss", "1 000 000 calls/s: default form loses nothing", results.get("loss"), 1e6),
        cost_at_most("bystander", "a bystander pays, in multiples of two empty hooks", 1.2,
                     bystander, "overdue", "empty"),
        cost_at_most("bystander-two-phase",
                     "a bystander in two-phase mode, in multiples of one foreign per-call tracepoint", 1.5,
                     bystander, "two-phase", "foreign"),
        *(at_most("redis", f"redis {name}: throughput lost beyond what two empty hooks cost", 0.015,
                  lost_beyond(redis, "overdue", "empty", name), points) for name in ("GET", "SET")),
        at_most("hackbench", "hackbench, whole system: time, in multiples of the untraced", 1.65,
                untraced_ratios(results.get("hackbench"), "overdue", "hackbench"), times),
        at_most("start", "start-up: command line to the traced program's main()", 150e6, starts, duration),
    ]

