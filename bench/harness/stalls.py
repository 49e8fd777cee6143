# SPDX-License-Identifier: Apache-2.0
"""The forms of `overdue stalls`, `offcpu` and `profile`, similar tools, and a workload of late calls."""

import json

from .process import Unavailable
from .tools import Overdue, Tool, bpf_tracepoints, pid_option
from .workloads import Program, Section


FRAMES_SEEN_MIN = 20  # of bench_finding's 40: at most 16 KiB of the stack are copied


class Stalls(Overdue):
    """A form of `overdue stalls`. `finds`: the workload's calls reach its threshold."""

    def __init__(self, key, label, program, arguments, hooks=("sys_enter", "sys_exit", "sched_switch"),
                 finds=False):
        super().__init__(key, label, program, [*arguments, "-f", "json"], command="stalls",
                         attached=lambda child, target: set(hooks) <= bpf_tracepoints(child.pid))
        self.finds = finds

    def finished(self, path):
        return read_findings(path)


def read_findings(path):
    """{"lost": n, "findings": late sleeps, "explained": late sleeps with all their stacks}.

    Counts by substring, because parsing thousands of stacks takes long.
    """
    found, explained, last = 0, 0, b""
    with open(path, "rb") as file:
        for line in file:
            last = line
            if b'"type":"stall"' not in line or b'"name":"clock_nanosleep"' not in line:
                continue
            found += 1
            explained += (line.count(b'"name":"go_deep') >= FRAMES_SEEN_MIN and b'"hrtimer_nanosleep"' in line
                          and b'"hrtimer_wakeup"' in line)
    try:
        receipt = json.loads(last)
    except ValueError:  # cut short, or empty
        receipt = {}
    if receipt.get("type") != "receipt":
        raise Unavailable("the last line of the report is no receipt")
    return {"lost": receipt["lost"], "findings": found, "explained": explained}


class Reporting(Overdue):
    """A command with a report in JSON, once its hooks are attached."""

    def __init__(self, key, label, program, command, arguments, hooks):
        super().__init__(key, label, program, [*arguments, "-d", "1h", "-f", "json"], command=command,
                         attached=lambda child, target: set(hooks) <= bpf_tracepoints(child.pid))

    def finished(self, path):
        with open(path, encoding="utf-8") as file:
            receipt = json.load(file)["receipt"]
        return {"lost": receipt["lost"]}


def forms(program):
    """No call reaches a threshold of 100 s."""
    return [
        Reporting("why", "overdue why", program, "why", [], ("sys_enter", "sched_switch")),
        Reporting("offcpu", "overdue offcpu", program, "offcpu", [], ("sched_switch",)),
        Reporting("offcpu-long", "overdue offcpu --by stack --stacks-over 1ms", program, "offcpu",
                  ["--by", "stack", "--stacks-over", "1ms"], ("sched_switch",)),
        Reporting("offcpu-all", "overdue offcpu --by stack --stacks-over 1us", program, "offcpu",
                  ["--by", "stack", "--stacks-over", "1us"], ("sched_switch",)),
        Reporting("profile", "overdue profile -F 99", program, "profile", ["-F", "99"], ("sched_process_fork",)),
        Stalls("stalls", "overdue stalls", program, ["-T", "100s"]),
        Stalls("stalls-offcpu", "overdue stalls --span offcpu", program, ["--span", "offcpu", "-T", "100s"],
               hooks=("sched_switch",)),
        Stalls("stalls-200ms", "overdue stalls -T 200ms", program, ["-T", "200ms"]),
        Stalls("stalls-200ms-raw", "overdue stalls -T 200ms --no-resolve", program,
               ["-T", "200ms", "--no-resolve"]),
        Stalls("finding", "overdue stalls -T 10us", program, ["-T", "10us"], finds=True),
    ]


class SystemTool(Tool):
    """Traces the whole system, whatever the target."""

    def target_of(self, scope, pid):
        return None


def has_switch_hook(child, target):
    return "sched_switch" in bpf_tracepoints(child.pid)


def scheduler_peers():
    """The tools of bcc compile at start; libbpf-tools has the same tools compiled ahead."""
    return [
        SystemTool("runqlat-bcc", "bcc runqlat", "runqlat-bpfcc", lambda pid, path: ["runqlat-bpfcc"],
                   has_switch_hook, system_wide=True),
        SystemTool("runqlat", "libbpf-tools runqlat", "runqlat", lambda pid, path: ["runqlat"],
                   has_switch_hook, system_wide=True),
        Tool("offcputime-bcc", "bcc offcputime -p", "offcputime-bpfcc",
             lambda pid, path: ["offcputime-bpfcc", *pid_option(pid)], has_switch_hook, system_wide=True),
        Tool("offcputime", "libbpf-tools offcputime -p", "offcputime",
             lambda pid, path: ["offcputime", *pid_option(pid)], has_switch_hook, system_wide=True),
    ]


def peers(tracers):
    """Tools that trace the scheduler, and the two of `tracers` (tools.peers()) whose cost is known."""
    known = {tool.key: tool for tool in tracers}
    return [*scheduler_peers(), known["perf-trace"], known["strace"]]


class FindingSection(Section):
    """Late sleeps, deep in the stack: the cost of each to its thread."""

    def figures(self, fields):
        return {"CPU time": float(fields["ns"]), "99th percentile": float(fields["cpu_p99"]),
                "wall time": float(fields["wall"])}


class Finding(Program):
    """Sleeps of 200 µs, at a rate that the reader keeps up with."""

    table = "finding"

    def __init__(self, program, cpu, count, rate):
        super().__init__("finding", "What a finding costs the traced thread", "sleep", [program, str(cpu)], count,
                         rate=rate)

    def start(self, prefix=()):
        return FindingSection([*prefix, *self.argv], self.series, self.count, self.rate)
