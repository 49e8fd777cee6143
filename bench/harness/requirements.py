# SPDX-License-Identifier: Apache-2.0
"""The requirements, checked against the measurements."""

import dataclasses
import typing

from .stats import Figure, duration, grouped, percent, points, quotient, times


@dataclasses.dataclass
class Verdict:
    key: str                    # key of its note in notes.json
    text: str
    limit: str
    measured: str
    met: typing.Optional[bool]  # None: not measured
    decided: bool = True        # the limit lies outside the figure's interval

    def word(self):
        word = {True: "met", False: "MISSED", None: "not measured"}[self.met]
        return word if self.decided else word + ", within the noise"


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


def added_shares(samples, tool, series, beyond=None):
    """Per row: the time that `tool` added, less the time that the floor `beyond` added, as a share
    of the untraced base."""
    return Figure([
        (row["value"][series] - row[beyond or "base"][series]) / row["base"][series]
        for row in (samples.rows.get(tool, []) if samples else []) if not beyond or beyond in row])


def lost_shares(samples, tool, series):
    return Figure([throughput_lost(row["base"][series], row["value"][series])
                   for row in (samples.rows.get(tool, []) if samples else [])])


def added_beside(samples, tool, beside, series):
    """Per row: nanoseconds more than under `beside`."""
    return Figure([row["value"][series] - row[beside][series]
                   for row in (samples.rows.get(tool, []) if samples else []) if beside in row])


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
    low, high = figure.interval if figure else (limit, limit)
    decided = not figure or miscounted or not low <= limit < high
    return Verdict(key, text, f"≤ {show(limit)}", measured, met, decided)


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
    """`run` is the result of measure.sustained(), None, or the reason of a failure."""
    if not isinstance(run, dict):
        return Verdict(key, text, "0 lost, all counted", run or "n/a", None)
    measured = (f"{run['lost']} lost, {run['seen']} of {run['made']} counted, "
                f"at {grouped(run['rate'])} calls/s")
    met = run["lost"] == 0 and run["seen"] == run["made"]
    # A workload that ran below its rate proves nothing.
    if met and run["rate"] < 0.98 * wanted_rate:
        met = None
    return Verdict(key, text, "0 lost, all counted", measured, met)


def accounted(key, text, run):
    if not isinstance(run, dict):
        return Verdict(key, text, "seen + lost = made", run or "n/a", None)
    return Verdict(key, text, "seen + lost = made",
                   f"{run['seen']} + {run['lost']} of {run['made']}",
                   run["seen"] + run["lost"] == run["made"])


# What a limit below the cost of the clock is measured from: the floor `switches`.
BEYOND_CLOCKS = "beyond the clock at each call's entry and at each switch"


def judge_stalls(results):
    """The cost of a threshold out of reach, and of a finding."""
    pipe, pgbench = results.get("stalls-pipe"), results.get("stalls-pgbench")
    finding = results.get("finding")
    seed = (("with resolving", "stalls-200ms", 0.15), ("without resolving", "stalls-200ms-raw", 0.06))
    return [
        at_most("stalls-pipe-beyond", "pipe ping-pong: stalls adds, of the untraced, beyond what two empty hooks add",
                0.15, added_shares(pipe, "stalls", "pipe", "empty"), percent),
        at_most("stalls-pipe", "pipe ping-pong: stalls adds in all", 0.45, added_shares(pipe, "stalls", "pipe"),
                percent),
        at_most("stalls-offcpu", "pipe ping-pong: stalls --span offcpu adds in all", 0.15,
                added_shares(pipe, "stalls-offcpu", "pipe"), percent),
        at_most("stalls-hackbench", f"hackbench: stalls -a adds, of the untraced, {BEYOND_CLOCKS}",
                0.10, added_shares(results.get("stalls-hackbench"), "stalls", "hackbench", "switches"), percent),
        *(at_most("stalls-redis", f"redis {name}: CPU time of the server that stalls adds, {BEYOND_CLOCKS}", 0.02,
                  added_shares(results.get("stalls-redis"), "stalls", f"{name} CPU", "switches"), percent)
          for name in ("GET", "SET")),
        *(at_most("stalls-pgbench", f"pgbench {name}: likewise, at 200 ms and {how}", 0.02,
                  added_shares(pgbench, tool, f"{name} CPU", "switches"), percent)
          for how, tool, _ in seed for name in ("read", "write")),
        *(at_most("stalls-pgbench-all", f"pgbench write: throughput lost in all, {how}, as the seed lost", limit,
                  lost_shares(pgbench, tool, "write"), percent) for how, tool, limit in seed),
        *(at_most("finding", f"a finding with all its stacks: {series} of the traced thread", 25e3,
                  added_beside(finding, "finding", "stalls", series), duration,
                  finding is not None and bool(finding.miscounted)) for series in ("CPU time", "wall time")),
    ]


def judge_why(results):
    """What an answer costs the target, with sampling on."""
    redis = results.get("why-redis")
    return [
        *(at_most("why-redis", f"redis {name}: throughput that why takes beyond two empty hooks", 0.05,
                  lost_beyond(redis, "why", "empty", name), points) for name in ("GET", "SET")),
        at_most("why-hackbench", f"hackbench: why -a adds, of the untraced, {BEYOND_CLOCKS}", 0.10,
                added_shares(results.get("why-hackbench"), "why", "hackbench", "switches"), percent),
    ]


def judge_offcpu(results):
    """What sums, stacks and samples cost the target."""
    pipe = results.get("offcpu-pipe")
    stacks = untraced_ratios(pipe, "offcpu-all", "pipe")
    peer = min((figure for key in ("offcputime", "offcputime-bcc")
                if (figure := untraced_ratios(pipe, key, "pipe"))), key=lambda figure: figure.median, default=None)
    limits = (("offcpu", "sums and displacers", 1.12), ("offcpu-long", "stacks of waits of 1 ms and more", 1.15))
    return [
        *(at_most(key, f"pipe ping-pong: offcpu, {what}: time, in multiples of the untraced", limit,
                  untraced_ratios(pipe, key, "pipe"), times) for key, what, limit in limits),
        Verdict("offcpu-all", "pipe ping-pong: offcpu, a stack of every wait: likewise",
                f"≤ {times(peer.median)} (offcputime)" if peer else "≤ offcputime",
                stacks.text(times), stacks.median <= peer.median if stacks and peer else None),
        at_most("profile", "getppid loop: profile -F 99: likewise", 1.01,
                untraced_ratios(results.get("profile"), "profile", "getppid"), times),
    ]


def judge(results, peers):
    """`results` is run.py's dictionary: Samples by workload key, and the other measurements."""
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
        *judge_stalls(results),
        *judge_why(results),
        *judge_offcpu(results),
    ]

