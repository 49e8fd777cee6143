#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of Overdue, beside the floor and other tools, and writes docs/benchmarks.md."""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True

from harness import accounts, against, built, environment, measure, report, requirements, stalls, timerlat, tools, worst  # noqa: E402
from harness.postgres import Postgres  # noqa: E402
from harness.process import Child, Unavailable  # noqa: E402
from harness.stats import grouped  # noqa: E402
from harness.workloads import Hackbench, Program, Redis, Storm, cpus  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PARTS = ["getppid", "getppid2", "paced", "bystander", "files", "pipe", "redis", "storm", "hackbench",
         "start", "loss", "stalls-pipe", "stalls-hackbench", "stalls-redis", "stalls-pgbench", "why-redis",
         "why-hackbench", "offcpu-pipe", "profile", "finding", "accounts", "timerlat", "worst"]
TRACEFS = "/sys/kernel/tracing"


def parse_arguments():
    parser = argparse.ArgumentParser(
        prog="bench/run.py", description=__doc__,
        epilog="A full run takes up to 25 minutes and wants a quiet machine; --quick takes about four and is "
               "printed, not written to the document, unless --output is given.")
    parser.add_argument("--quick", action="store_true", help="fewer rounds, shorter sections, fewer tools")
    parser.add_argument("--only", metavar="NAME,…", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds per workload (default 5; quick: 3)")
    parser.add_argument("--output", metavar="FILE", help="default for a full run: docs/benchmarks.md")
    parser.add_argument("--build", metavar="DIR", default=os.path.join(SOURCE, "build", "release"),
                        help="build directory with bench/ in it, default build/release; raw figures go to "
                             "bench-results.json there")
    parser.add_argument("--overdue", metavar="PATH", help="default: overdue in the build directory")
    parser.add_argument("--against", metavar="PATH",
                        help="compares with the overdue there instead, in turn: a getppid loop and hackbench under "
                             "syscalls, a pipe and hackbench under stalls, both commands around a program that does "
                             "nothing; printed, and written where --output says")
    options = parser.parse_args()
    options.only = options.only.split(",") if options.only else PARTS
    unknown = [name for name in options.only if name not in PARTS]
    if unknown:
        parser.error(f"unknown workload {', '.join(unknown)}: choose from {', '.join(PARTS)}")
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    options.rounds = options.rounds or (3 if options.quick else 5)
    options.overdue = os.path.abspath(options.overdue or os.path.join(options.build, "overdue"))
    if options.against:
        options.against = os.path.abspath(options.against)
        if not os.access(options.against, os.X_OK):
            parser.error(f"{options.against} is no program")
    if not options.output and not options.quick and not options.against and options.only == PARTS:
        options.output = os.path.join(SOURCE, "docs", "benchmarks.md")
    return options


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


class Bench:
    """One run: the available tools, the plan of each workload, and the results."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.loader = tools.FloorLoader(self.program("floor"))
        self.floors = {tool.key: tool for tool in tools.floors(self.loader)}
        self.overdue = {tool.key: tool for tool in [*tools.overdue_forms(options.overdue),
                                                    *stalls.forms(options.overdue)]}
        self.peers = tools.peers()
        self.results, self.failed = {}, []
        self.load_at_start = os.getloadavg()[0]

    def program(self, name):
        return os.path.join(self.options.build, "bench", f"bench_{name}")

    def pick(self, floors="", overdue="", peers=True):
        """Tools by key, in the order of the report's rows."""
        chosen = [self.floors[key] for key in floors.split()]
        chosen += [self.overdue[key] for key in overdue.split()]
        return chosen + (self.peers if peers else [])

    def loop(self, key, title, *where, **more):
        """A getppid loop on the CPUs given."""
        count = 500_000 if self.options.quick else 2_000_000
        argv = [self.program("getppid"), *map(str, where)]
        return Program(key, title, "call", argv, more.pop("count", count), series="getppid", **more)

    def paced(self, rate, key="paced"):
        seconds = 0.5 if self.options.quick else 1
        workload = self.loop(key, f"getppid at {grouped(rate)} calls/s", cpus()[-1], rate=rate,
                             count=int(rate * seconds))
        workload.record_divisor = 1
        workload.remark = ("Calls come in bursts of 50, the loop spins between bursts without a system call, and "
                           "only the bursts are timed: what a call costs while none is lost.")
        return workload

    def plan_getppid(self):
        workload = self.loop("getppid", "getppid loop, one thread", cpus()[-1])
        chosen = self.pick("empty clock array", "overdue by-thread two-phase calls record")
        return measure.Plan(workload, chosen, judged=["overdue", "by-thread"],
                            beside=[self.floors["empty"], self.floors["clock"]])

    def plan_getppid2(self):
        workload = self.loop("getppid2", "getppid loop, two threads on two CPUs", cpus()[0], cpus()[-1])
        return measure.Plan(workload, self.usual())

    def plan_paced(self):
        return measure.Plan(self.paced(500_000), self.pick("empty clock", "overdue calls record", peers=False),
                            judged=["calls", "record"], beside=[self.floors["clock"]])

    def plan_bystander(self):
        workload = self.loop("bystander", "Bystander: a getppid loop while the tool watches another process",
                             cpus()[-1], idle=self.program("idle"))
        workload.slow_divisor = 1 if self.options.quick else 10
        workload.remark = ("The tool's target polls every 5 ms and is otherwise idle. The foreign tracepoint is "
                           "pivot_root's, which no process calls.")
        chosen = self.pick("empty clock foreign foreign-pair", "overdue by-thread two-phase",
                           peers=not self.options.quick)
        return measure.Plan(workload, chosen, judged=["overdue", "two-phase"],
                            beside=[self.floors["empty"], self.floors["foreign"]], repeats=2)

    def plan_files(self):
        count = 100_000 if self.options.quick else 300_000
        return measure.Plan(Program("files", "open, read, close loop", "round of three calls",
                                    [self.program("files"), str(cpus()[-1])], count, slow_divisor=50),
                            self.usual())

    def plan_pipe(self):
        count = 30_000 if self.options.quick else 100_000
        workload = Program("pipe", "Pipe ping-pong between two threads", "round trip",
                           [self.program("pipe"), str(cpus()[-1])], count, slow_divisor=50)
        workload.remark = "Both threads are pinned to the same CPU: a wake-up across CPUs would hide the rest."
        return measure.Plan(workload, self.usual())

    def plan_redis(self):
        workload = Redis(20_000 if self.options.quick else 60_000, self.directory)
        workload.remark = ("50 clients on a unix socket, redis-server (the target) pinned to the first CPU, "
                           "redis-benchmark to the last.")
        return measure.Plan(workload, self.usual(), judged=["overdue"], beside=[self.floors["empty"]],
                            repeats=2)

    def plan_storm(self):
        workload = Storm(self.program("storm"), 300 if self.options.quick else 1000, self.directory)
        workload.remark = ("A job is fork, exec of a dynamically linked program, 40 failing stats, 12 files read, "
                           "one written and removed. As many jobs at once as CPUs. Tools that do not follow "
                           "children trace the whole system instead.")
        return measure.Plan(workload, self.usual())

    def plan_hackbench(self):
        workload = Hackbench(4, 1000 if self.options.quick else 2000)
        workload.remark = "4 groups of 40 processes through pipes."
        chosen = self.pick("empty clock array", "overdue by-thread", peers=not self.options.quick)
        return measure.Plan(workload, chosen, judged=["overdue"], beside=[])

    def plan_stalls_pipe(self):
        workload = Program("stalls-pipe", "Pipe ping-pong under overdue stalls", "round trip",
                           [self.program("pipe"), str(cpus()[-1]), "20"], 20_000,
                           series="pipe", slow_divisor=50)
        workload.table = "shares"
        workload.remark = ("As above: four calls and two switches a round trip, on one CPU; but SCHED_FIFO, so that no "
                           "thread that has nothing to do with it comes in between.")
        chosen = self.pick("clock", "stalls overdue", peers=False)
        if not self.options.quick:
            chosen += stalls.peers(self.peers)
        return measure.Plan(workload, chosen, judged=["stalls"],
                            beside=[*self.stalls_floors(), self.floors["ledgers"], self.overdue["stalls-offcpu"]],
                            repeats=self.more(4), sections=16)

    def plan_stalls_hackbench(self):
        workload = Hackbench(4, 500)
        workload.title = "hackbench under overdue stalls, the whole system"
        workload.table = "shares"
        return measure.Plan(workload, self.pick("", "stalls", peers=False), judged=["stalls"],
                            beside=[*self.stalls_floors(), self.floors["ledgers"]], repeats=self.more(4), sections=5)

    def plan_stalls_redis(self):
        workload = Redis(10_000, self.directory)
        workload.title = "redis-benchmark under overdue stalls"
        return measure.Plan(workload, self.pick("", "stalls", peers=False), judged=["stalls"],
                            beside=self.stalls_floors(), repeats=self.more(4), sections=5)

    def plan_why_redis(self):
        workload = Redis(10_000, self.directory)
        workload.title = "redis-benchmark under overdue why"
        return measure.Plan(workload, self.pick("", "why", peers=False), judged=["why"],
                            beside=[*self.stalls_floors(), self.overdue["stalls"]], repeats=self.more(4), sections=5)

    def plan_why_hackbench(self):
        workload = Hackbench(4, 500)
        workload.title = "hackbench under overdue why, the whole system"
        workload.table = "shares"
        return measure.Plan(workload, self.pick("", "why", peers=False), judged=["why"],
                            beside=[*self.stalls_floors(), self.overdue["stalls"]], repeats=self.more(2), sections=5)

    def plan_offcpu_pipe(self):
        workload = Program("offcpu-pipe", "Pipe ping-pong under overdue offcpu", "round trip",
                           [self.program("pipe"), str(cpus()[-1]), "20"], 20_000, series="pipe", slow_divisor=50)
        workload.table = "shares"
        workload.remark = ("As above, with SCHED_FIFO. Four waits of some microseconds a round trip: `--stacks-over 1us` "
                           "has a stack for each of them, as offcputime has, and `1ms` for none.")
        chosen = self.pick("", "offcpu offcpu-long offcpu-all", peers=False)
        if not self.options.quick:
            chosen += stalls.scheduler_peers()
        return measure.Plan(workload, chosen, judged=["offcpu"], beside=[self.floors["switches"]],
                            repeats=self.more(4), sections=16)

    def plan_profile(self):
        workload = self.loop("profile", "getppid loop under overdue profile", cpus()[-1])
        workload.table = "shares"
        return measure.Plan(workload, self.pick("", "profile", peers=False), judged=["profile"], beside=[],
                            repeats=self.more(4), sections=16)

    def postgres(self, lengths):
        return Postgres("pgbench", "pgbench under overdue stalls", lengths, self.directory)

    def plan_stalls_pgbench(self):
        workload = self.postgres({"read": ["-T", "1"], "write": ["-T", "1"]})
        workload.remark = (
            "A PostgreSQL of our own, pinned to the first CPU, fsync=off; pgbench -c 2 -j 1 on the last: read is its "
            "select-only script, write its default one. The target is the server, whose backends are forked anew "
            "for each section.")
        return measure.Plan(workload, self.pick("", "stalls-200ms", peers=False), judged=["stalls-200ms"],
                            beside=[*self.stalls_floors(), self.overdue["stalls-200ms-raw"]],
                            repeats=self.more(2), sections=4)

    def plan_finding(self):
        workload = stalls.Finding(self.program("finding"), cpus()[-1], 500 if self.options.quick else 1000, 1000)
        workload.remark = (
            "A sleep of 200 µs, 1000 times a second, at the end of 40 frames of 512 bytes, so that all 16 KiB of user "
            "stack are copied, and with kernel stacks of the wait and of its waker. CPU time is the thread's own, "
            "over that one call.")
        return measure.Plan(workload, self.pick("", "finding", peers=False), judged=["finding"],
                            beside=[self.overdue["stalls"]])

    def stalls_floors(self):
        return [self.floors["empty"], self.floors["switches"]]

    def more(self, repeats):
        return 1 if self.options.quick else repeats

    def usual(self):
        quick = self.options.quick
        return self.pick("empty clock", "overdue" if quick else "overdue by-thread calls record", peers=not quick)

    def run(self):
        for name in self.options.only:
            begin = time.monotonic()
            try:
                getattr(self, f"run_{name}", lambda name=name: self.run_rounds(name))()
            except Exception:  # a failed part must not lose the results of the others
                traceback.print_exc()
                self.failed.append(name)
            say(f"{name}: took {time.monotonic() - begin:.0f} s")

    def run_rounds(self, name):
        plan = getattr(self, f"plan_{name.replace('-', '_')}")()
        self.results[name] = measure.run_rounds(plan, self.options.rounds, self.directory, say)

    def run_start(self):
        overdue = self.options.overdue
        commands = {
            "none": [],
            "overdue": [overdue, "syscalls", "-o", "@path", "--"],
            "overdue-calls": [overdue, "syscalls", "--calls", "-f", "ndjson", "-o", "@path", "--"],
            "strace": ["strace", "-f", "-c", "-o", "@path"],
            "perf-trace": ["perf", "trace", "-s", "-o", "@path"],
        }
        self.results["start"], self.results["start-problems"] = measure.start_up(
            self.program("started"), commands, 7 if self.options.quick else 21, self.directory, say)

    def run_loss(self):
        quick = self.options.quick
        runs = {"loss": ("overdue", 1_000_000, 5 if quick else 60),
                "calls-loss": ("calls", 500_000, 3 if quick else 5),
                "record-loss": ("record", 500_000, 3 if quick else 5)}
        for key, (tool, rate, seconds) in runs.items():
            reason = self.overdue[tool].reason_missing()
            try:
                self.results[key] = reason or measure.sustained(
                    self.paced(rate, key), self.overdue[tool], seconds, self.directory, say)
            except Unavailable as problem:
                self.results[key] = str(problem)

    def run_accounts(self):
        loop = self.loop("hook", "getppid loop", cpus()[-1], count=500_000)
        plans = [(self.plan_stalls_pipe().workload, self.overdue["stalls"], 16),
                 (self.plan_stalls_hackbench().workload, self.overdue["stalls"], 10),
                 (self.plan_stalls_redis().workload, self.overdue["stalls"], 10),
                 (self.postgres({"read": ["-t", "8000"], "write": ["-t", "1200"]}), self.overdue["stalls-200ms"], 4)]
        rounds = 1 if self.options.quick else self.options.rounds
        self.results["accounts"] = accounts.measure(loop, plans, self.floors, rounds, self.directory, say)

    def run_timerlat(self):
        seconds = 2 if self.options.quick else 5
        self.results["timerlat"] = timerlat.measure(self.options.overdue, self.options.rounds, seconds, say)

    def run_worst(self):
        seconds = 2 if self.options.quick else 5
        self.results["worst"] = worst.measure(self.options.overdue, self.options.rounds, seconds, self.directory, say)

    def document(self, facts):
        with open(os.path.join(SOURCE, "bench", "notes.json"), encoding="utf-8") as file:
            notes = json.load(file)
        sections = [report.workload_section(self.results[name]) for name in PARTS
                    if isinstance(self.results.get(name), measure.Samples)]
        if "start" in self.results:
            labels = {"none": "untraced", "overdue": "overdue syscalls", "strace": "strace -f -c",
                      "overdue-calls": "overdue syscalls --calls", "perf-trace": "perf trace -s"}
            sections.append(report.start_section(self.results["start"], self.results["start-problems"], labels))
        if "loss" in self.results:
            sections.append(report.sustained_section([
                ("overdue syscalls", self.results["loss"]),
                ("overdue syscalls --calls, NDJSON file", self.results["calls-loss"]),
                ("overdue record --events syscalls", self.results["record-loss"])]))
        if "accounts" in self.results:
            sections.append(accounts.section(self.results["accounts"]))
        if "timerlat" in self.results:
            sections.append(timerlat.section(self.results["timerlat"]))
        if "worst" in self.results:
            sections.append(worst.section(self.results["worst"]))
        remark = f"Rounds: {self.options.rounds}." + (
            " This was a quick run: few rounds, short sections, not all tools." if self.options.quick else "")
        if self.load_at_start > 0.5:
            remark += (f" **The machine was not quiet** (load average {self.load_at_start:.1f} at the start): "
                       "the figures are rough.")
        return report.document(facts, self.verdicts(), notes, sections, remark)

    def verdicts(self):
        """All verdicts; for a run of some parts, only the verdicts that these parts measured."""
        verdicts = [*requirements.judge(self.results, self.peers), *accounts.judge(self.results.get("accounts")),
                    *timerlat.judge(self.results.get("timerlat")), *worst.judge(self.results.get("worst"))]
        if self.options.only == PARTS:
            return verdicts
        return [verdict for verdict in verdicts if verdict.met is not None or verdict.measured != "n/a"]

    def raw(self, facts):
        plain = {key: value.as_json() if hasattr(value, "as_json") else value
                 for key, value in self.results.items()}
        return json.dumps({"environment": dict(facts), "results": plain}, indent=1) + "\n"


def write(path, text):
    """Gives the file to the user behind sudo, who owns the checkout."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    if "SUDO_UID" in os.environ and "SUDO_GID" in os.environ:
        os.chown(path, int(os.environ["SUDO_UID"]), int(os.environ["SUDO_GID"]))


def mount_tracefs():
    """Returns whether this call mounted tracefs, which per-call tracepoints and the peers need."""
    if os.path.exists(os.path.join(TRACEFS, "events")) or not os.path.isdir(TRACEFS):
        return False
    return subprocess.run(["mount", "-t", "tracefs", "nodev", TRACEFS], check=False).returncode == 0


def stop(*_):
    raise KeyboardInterrupt


def compare(options, directory, facts):
    comparisons = against.compare(options, directory, say)
    text = against.document(comparisons, facts, options.rounds, environment.commit(os.path.dirname(options.against)))
    if options.output:
        write(options.output, text)
    print(text)
    return not any(one.problem for one in comparisons)


def measure_all(options):
    """Returns whether every part could be measured."""
    directory = tempfile.mkdtemp(prefix="overdue-bench-")
    os.chmod(directory, 0o755)  # redis-server runs as nobody inside it
    mounted = mount_tracefs()
    try:
        facts = environment.describe(options.overdue, SOURCE)
        for name, value in facts:
            say(f"{name}: {value}")
        if options.against:
            return compare(options, directory, facts)
        begin = time.monotonic()
        bench = Bench(options, directory)
        bench.run()
        write(os.path.join(options.build, "bench-results.json"), bench.raw(facts))
        text = bench.document(facts)
        if options.output:
            write(options.output, text)
        print(text)
        say(f"took {time.monotonic() - begin:.0f} s; " + (
            f"written to {options.output}" if options.output else "not written to the document"))
        if bench.failed:
            say(f"failed, and so not in it: {', '.join(bench.failed)}")
        return not bench.failed
    finally:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second ^C must not leave anything behind
        Child.end_all()
        shutil.rmtree(directory, ignore_errors=True)
        if mounted:
            subprocess.run(["umount", TRACEFS], check=False)


def main():
    options = parse_arguments()
    if os.geteuid() != 0:
        print("bench: loading BPF programs and tracing others needs root: run it with sudo", file=sys.stderr)
        return 1
    if missing := built.what_is_missing(options):
        print(f"bench: {missing}", file=sys.stderr)
        return 1
    signal.signal(signal.SIGINT, stop)  # even if the parent shell ignored it
    signal.signal(signal.SIGTERM, stop)
    try:
        return 0 if measure_all(options) else 1
    except KeyboardInterrupt:
        say("stopped; nothing written")
        return 130


if __name__ == "__main__":
    sys.exit(main())
