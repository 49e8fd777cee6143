# SPDX-License-Identifier: Apache-2.0
"""Writes docs/benchmarks.md, from the results alone."""

from .requirements import (added_beside, added_ratios, added_shares, lost_beyond, lost_shares,
                           untraced_ratios)
from .stats import Figure, added, duration, grouped, percent, points, times

METHOD = """\
Written by `bench/run.py` (`make bench`); do not edit. Figures are medians, in brackets with their 95 % confidence
intervals, from the order of the values alone (of less than six values: the least and the greatest). A limit within
such an interval is met or missed "within the noise". Ratios travel between machines, nanoseconds do not.

How it is measured: a workload's process stays alive, times its own loop with CLOCK_MONOTONIC, warms up before each
section, and is attached to between sections. Tools take turns in an order shuffled anew in every round; the untraced
workload is timed before and after each tool, and the floors in the same round (beside each tool that is judged).
A ratio is the median of the ratios inside rounds, so a drift of the machine cancels. A tool counts as attached when
the kernel shows its programs, events or ptrace at the target, plus 0.3 s. Slow tools get fewer calls in a section,
and others than Overdue run in three rounds at most.
Tools are given the target's process id where they can take one; "everything" means the whole system was traced.
Loops are pinned to the last CPU, tools are not pinned. "Added" is time on top of the untraced base. The clock floor
is two empty `tp_btf` hooks, at sys_enter and sys_exit, that each read the clock: no latency can be had for less.

`overdue stalls` has a threshold of 100 s where none is named, which nothing reaches: what is paid for being ready.
Its workloads switch threads, and one section may take a fifth more than the next: a value is the lower quartile of
several short ones, since what disturbs a section makes it longer, and there are several rows a round.
"""

CPU = " CPU"  # suffix of a series: CPU time of the server, if the workload is a server


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def requirement_table(verdicts, notes):
    rows = []
    for verdict in verdicts:
        reason = notes.get(verdict.key, "") if verdict.met is False else ""
        rows.append([verdict.text, verdict.limit, verdict.measured, verdict.word(), reason])
    return table(["requirement", "limit", "measured", "", "note"], rows)


def base_figure(samples, series):
    return Figure([row["base"][series] for rows in samples.rows.values() for row in rows])


def cost_row(samples, tool, series):
    rows = samples.rows[tool.key]
    value = Figure([row["value"][series] for row in rows])
    difference = Figure([row["value"][series] - row["base"][series] for row in rows])
    return [tool.label, tool.scope_text(samples.workload.scope), value.text(duration),
            difference.text(added), untraced_ratios(samples, tool.key, series).text(times),
            added_ratios(samples, tool.key, "clock", series).text(times)]


def cost_table(samples, series):
    """A row for each tool, in the given order; the untraced base first."""
    unit = samples.workload.unit
    base = ["untraced", "", base_figure(samples, series).text(duration), "", "", ""]
    rows = [cost_row(samples, tool, series) for tool in samples.tools if samples.rows[tool.key]]
    return table(["tool", "watches", f"per {unit}", "added", "× untraced", "× clock floor's added"],
                 [base, *rows])


def share_table(samples, series):
    """The added time as a share of the untraced, for operations that do more than system calls."""
    rows = [["untraced", "", base_figure(samples, series).text(duration), "", ""]]
    for tool in samples.tools:
        taken = samples.rows[tool.key]
        if not taken:
            continue
        beyond = Figure([]) if tool.key == "empty" else added_shares(samples, tool.key, series, "empty")
        rows.append([tool.label, tool.scope_text(samples.workload.scope),
                     Figure([row["value"][series] for row in taken]).text(duration),
                     added_shares(samples, tool.key, series).text(percent),
                     beyond.text(percent) if beyond else ""])
    what = f"{series} time per {samples.workload.unit}" if series.endswith(CPU) else f"per {samples.workload.unit}"
    return table(["tool", "watches", what, "added", "beyond two empty hooks"], rows)


def finding_table(samples):
    """A row for each tool, a column for each series; then the difference that is judged."""
    names = samples.series()
    rows = [["untraced", *(base_figure(samples, name).text(duration) for name in names)]]
    rows += [[tool.label, *(Figure([row["value"][name] for row in samples.rows[tool.key]]).text(duration)
                            for name in names)]
             for tool in samples.tools if samples.rows[tool.key]]
    rows.append(["a finding adds", *(added_beside(samples, "finding", "stalls", name).text(added)
                                     for name in names)])
    text = table(["", *(f"{name} per {samples.workload.unit}" for name in names)], rows)
    for key, reported in samples.reported.items():
        if reported["findings"]:
            label = {tool.key: tool.label for tool in samples.tools}[key]
            text += (f"\n\n{label} reported {reported['findings']} of {reported['made']} sleeps, of {reported['explained']} with "
                     f"all stacks; {reported['lost']} records were lost.")
    return text


def rates(figure):
    return Figure([1e9 / ns for ns in figure.values]).text(grouped)


def throughput_table(samples):
    names = [name for name in samples.series() if not name.endswith(CPU)]
    header = ["tool", "watches"]
    base = ["untraced", ""]
    for name in names:
        header += [f"{name} per second", f"{name} lost", "beyond two empty hooks"]
        base += [rates(base_figure(samples, name)), "", ""]
    rows = [base]
    for tool in samples.tools:
        if not samples.rows[tool.key]:
            continue
        cells = [tool.label, tool.scope_text(samples.workload.scope)]
        for name in names:
            taken = samples.rows[tool.key]
            cells.append(rates(Figure([row["value"][name] for row in taken])))
            cells.append(lost_shares(samples, tool.key, name).text(percent))
            beyond = Figure([]) if tool.floor else lost_beyond(samples, tool.key, "empty", name)
            cells.append(beyond.text(points) if beyond else "")
        rows.append(cells)
    return table(header, rows)


def workload_section(samples):
    parts = [f"## {samples.workload.title}"]
    if samples.workload.remark:
        parts.append(samples.workload.remark)
    if samples.missing:
        parts.append(f"Not measured: {samples.missing}.")
        return "\n\n".join(parts)
    kind = samples.workload.table
    if kind in ("throughput", "finding"):
        parts.append((throughput_table if kind == "throughput" else finding_table)(samples))
        parts += [share_table(samples, series) for series in samples.series()
                  if kind == "throughput" and series.endswith(CPU)]
    else:
        parts += [(share_table if kind == "shares" else cost_table)(samples, series)
                  for series in samples.series()]
    if samples.unavailable:
        labels = {tool.key: tool.label for tool in samples.tools}
        parts.append("\n".join(["Not run:", "", *(
            f"* {labels[key]}: {reason}" for key, reason in samples.unavailable.items())]))
    if samples.notes:
        parts.append("\n".join(["Marked:", "", *(f"* {note}" for note in samples.notes)]))
    return "\n\n".join(parts)


def start_section(times_by_tool, problems, labels):
    rows = [[labels[key], Figure(values).text(duration), str(len(values))]
            for key, values in times_by_tool.items() if values]
    parts = ["## Start-up", "From spawning the command to main() of the program it starts, a program that only "
             "reads the clock. Fork, exec and dynamic linking of that program are in all rows.",
             table(["command", "time", "runs"], rows)]
    if problems:
        parts.append("\n".join(["Not run:", "", *(f"* {labels[key]}: {reason}"
                                                  for key, reason in problems.items())]))
    return "\n\n".join(parts)


def sustained_section(runs):
    rows = []
    for label, run in runs:
        if isinstance(run, dict):
            size = f"{run['bytes'] / 1e6:.0f} MB" if run.get("bytes") else ""
            rows.append([label, grouped(run["rate"]), str(run["made"]), str(run["seen"]),
                         str(run["lost"]), size])
        else:
            rows.append([label, run, "", "", "", ""])
    return "\n\n".join(["## Long runs without loss", "Calls made by the paced loop (its own count), seen by the "
                        "tool, and lost by its receipt.",
                        table(["run", "calls/s reached", "made", "seen", "lost", "file"], rows)])


def document(environment, verdicts, notes, sections, remark):
    missed = [verdict for verdict in verdicts if verdict.met is False]
    unmeasured = [verdict for verdict in verdicts if verdict.met is None]
    summary = (f"{len(verdicts) - len(missed) - len(unmeasured)} met, {len(missed)} MISSED, "
               f"{len(unmeasured)} not measured.")
    return "\n\n".join([
        "# Benchmarks", METHOD.rstrip(), *([remark] if remark else []),
        "## Environment", table(["", ""], [list(pair) for pair in environment]),
        "## What must hold", summary, requirement_table(verdicts, notes), *sections]) + "\n"
