# SPDX-License-Identifier: Apache-2.0
"""The compared tools: how each is started, and how the harness knows that it is attached."""

import glob
import json
import os
import shutil
import signal
import subprocess
import time

from .process import Child, Unavailable, last_line, wait_until

# Added time after the kernel shows a tool as attached: Overdue arms after attaching, and perf
# enables its events after opening them. The kernel shows neither.
SETTLE_S = 0.3
ATTACH_TIMEOUT_S = 20.0
TWO_PHASE_TIMEOUT_S = 10.0


def bpf_tracepoints(pid):
    """Names of the tracepoints at which this process has BPF programs attached."""
    shown = subprocess.run(["bpftool", "-j", "perf", "show"], capture_output=True, check=False,
                           env={**os.environ, "PATH": os.environ.get("PATH", "") + ":/usr/sbin:/sbin"})
    try:
        entries = json.loads(shown.stdout or b"[]")
    except ValueError:
        return set()
    return {entry.get("tracepoint") for entry in entries if entry.get("pid") == pid}


def has_syscall_hooks(child, target):
    return {"sys_enter", "sys_exit"} <= bpf_tracepoints(child.pid)


def has_per_call_hooks(child):
    return any(name and name.startswith("sys_exit_") for name in bpf_tracepoints(child.pid))


def has_perf_events(child, target):
    for fd in glob.glob(f"/proc/{child.pid}/fd/*"):
        try:
            if "perf_event" in os.readlink(fd):
                return True
        except OSError:
            continue
    return False


def traces_all_threads(child, target):
    for path in glob.glob(f"/proc/{target}/task/*/status"):
        try:
            with open(path, encoding="utf-8", errors="replace") as status:
                if f"TracerPid:\t{child.pid}\n" not in status.read():
                    return False
        except OSError:
            continue
    return True


class Tool:
    """One way of tracing. `command(pid, path)` is the argv for a target (None: the whole system)
    and an output file. With `spawns`, the tool can only start its target: the argv is a prefix.
    """

    spawns = False
    floor = False
    peer = True  # a tool of another project

    def __init__(self, key, label, program, command, attached, *, slow=False, follows=False,
                 system_wide=False, spawns=False, stop=signal.SIGINT):
        self.key = key
        self.label = label
        self.program = program
        self.command = command
        self.attached = attached
        self.slow = slow                 # costs microseconds per call, so it gets fewer calls
        self.records = False             # writes a record per call, so it gets somewhat fewer calls
        self.follows = follows           # follows children of its target
        self.system_wide = system_wide   # can trace the whole system
        self.spawns = spawns
        self.stop = stop

    def reason_missing(self):
        if os.path.sep in self.program:
            return None if os.access(self.program, os.X_OK) else f"{self.program} is not there"
        found = shutil.which(self.program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        return None if found else f"{self.program} is not installed"

    def reason_unfit(self, scope, attach_only=False):
        """Why the tool cannot trace this workload; None if it can."""
        if attach_only and self.spawns:
            return "cannot attach to a process that runs already"
        if scope == "system" and not self.system_wide:
            return "cannot watch the whole system"
        if scope == "tree" and not (self.follows or self.spawns or self.system_wide):
            return "follows no children and cannot watch the whole system"
        return None

    def target_of(self, scope, pid):
        """The pid to give the tool; None for the whole system."""
        whole = scope == "system" or (scope == "tree" and not self.follows)
        return None if whole else pid

    def scope_text(self, scope):
        if self.floor:
            return "everything"
        if self.spawns:
            return "starts the target, follows" if scope == "tree" else "starts the target"
        return "everything" if self.target_of(scope, 1) is None else "the target"

    def finished(self, path):
        """Reads the tool's output. Returns facts for the report."""
        return {}

    def exercise_until(self, child, exercise):
        """For tools that attach fully only after the target has made calls."""


class Attachment:
    """A tool attached to a target during a `with` block. `facts` is filled at its end."""

    def __init__(self, tool, scope, pid, directory, exercise=None):
        self.tool = tool
        self.target = tool.target_of(scope, pid)
        self.pid = pid
        self.exercise = exercise
        self.path = os.path.join(directory, f"{tool.key}-{time.monotonic_ns()}")
        self.facts = {}

    def __enter__(self):
        self.child = Child(self.tool.command(self.target, self.path))
        try:
            done = wait_until(
                lambda: not self.child.running() or self.tool.attached(self.child, self.target),
                ATTACH_TIMEOUT_S)
            if not self.child.running():
                raise Unavailable(f"{self.tool.program}: {reason_in(self.child.said())}")
            if not done:
                raise Unavailable(f"not attached after {ATTACH_TIMEOUT_S:.0f} s")
            time.sleep(SETTLE_S)
            self.tool.exercise_until(self.child, self.exercise)
        except BaseException:
            self.child.end(self.tool.stop)
            remove(self.path)
            raise
        return self

    def __exit__(self, kind, *_):
        status = self.child.end(self.tool.stop)
        try:
            if kind is None:
                if status not in (0, -self.tool.stop, 128 + self.tool.stop):
                    raise Unavailable(
                        f"{self.tool.label} ended with status {status}: {reason_in(self.child.errors())}")
                self.facts = self.tool.finished(self.path)
        finally:
            remove(self.path)


def remove(path):
    try:
        os.unlink(path)
    except FileNotFoundError:
        pass


def reason_in(errors):
    """The most useful line of a tool's errors: the first that names the problem, else the last."""
    for line in errors.splitlines():
        if any(word in line.lower() for word in ("unable to", "cannot", "failed", "error:")):
            return line.strip()[:200]
    return last_line(errors) or "ended without a word"


class Overdue(Tool):
    """One form of overdue. `arguments` follow the target; `form` is the format of the output."""

    peer = False

    def __init__(self, key, label, program, arguments, *, command="syscalls", form="json", two_phase=False,
                 attached=has_syscall_hooks):
        def argv(pid, path):
            target = ["--all"] if pid is None else ["--pid", str(pid)]
            return [program, command, *target, *arguments, "-o", path]
        super().__init__(key, label, program, argv, attached, follows=True, system_wide=True)
        self.records = command == "record" or "--calls" in arguments
        self.form = form
        self.two_phase = two_phase

    def exercise_until(self, child, exercise):
        if not self.two_phase:
            return
        def narrowed():
            if exercise:
                exercise()
            return has_per_call_hooks(child)
        if not wait_until(narrowed, TWO_PHASE_TIMEOUT_S, step_s=0.1):
            raise Unavailable(f"no per-call tracepoint attached after {TWO_PHASE_TIMEOUT_S:.0f} s")
        time.sleep(SETTLE_S)

    def finished(self, path):
        """{"lost": n, "counts": {call: n}}"""
        if self.form == "ndjson":
            return read_calls(path)
        if self.form == "trace":
            shown = subprocess.run([self.program, "report", path, "-f", "json"], capture_output=True,
                                   check=False)
            if shown.returncode != 0:
                raise Unavailable(f"overdue report: {reason_in(shown.stderr.decode(errors='replace'))}")
            report = json.loads(shown.stdout)
        else:
            with open(path, encoding="utf-8") as file:
                report = json.load(file)
        counts = {}
        for row in report["syscalls"]:
            counts[row["name"]] = counts.get(row["name"], 0) + row["calls"]
        return {"lost": report["receipt"]["lost"], "counts": counts}


def read_calls(path):
    """Counts call records by substring, because parsing millions of lines would take minutes."""
    calls, receipt, rest = 0, None, b""
    with open(path, "rb") as file:
        while block := file.read(1 << 22):
            block = rest + block
            cut = block.rfind(b"\n") + 1
            block, rest = block[:cut], block[cut:]
            calls += block.count(b'"name":"getppid"') + block.count(b'"name": "getppid"')
            if block.strip():
                receipt = block.rstrip(b"\n").rsplit(b"\n", 1)[-1]
    last = json.loads(receipt or b"{}")
    if last.get("type") != "receipt":
        raise Unavailable("the last line of the NDJSON file is no receipt")
    return {"lost": last["lost"], "counts": {"getppid": calls}, "bytes": os.path.getsize(path)}


class Floor(Tool):
    """A variant of bench_floor. The loader keeps running; only the attached programs change."""

    floor = True
    peer = False

    def __init__(self, key, label, loader, variant):
        super().__init__(key, label, loader.program, None, None, follows=True, system_wide=True)
        self.loader = loader
        self.variant = variant

    def reason_missing(self):
        return self.loader.reason_missing()


class FloorLoader:
    """The bench_floor process."""

    def __init__(self, program):
        self.program = program
        self.child = None
        self.problem = None
        try:
            self.child = Child([program])
            self.child.expect(20, lambda line: line == "ready")
        except Unavailable as problem:
            self.problem = str(problem)

    def reason_missing(self):
        return self.problem

    def attach(self, variant):
        self.child.send(variant)
        answer = self.child.expect(20, lambda line: line.startswith(("attached", "failed")))
        if not answer.startswith("attached"):
            raise Unavailable(answer)


class FloorAttachment:
    """Has the interface of Attachment."""

    def __init__(self, floor):
        self.floor = floor
        self.facts = {}

    def __enter__(self):
        self.floor.loader.attach(self.floor.variant)
        return self

    def __exit__(self, *_):
        self.floor.loader.attach("none")


BPFTRACE = ("tracepoint:raw_syscalls:sys_enter %s { @start[tid] = nsecs; } "
            "tracepoint:raw_syscalls:sys_exit /@start[tid]/ { @calls[args->id] = count(); "
            "@ns[args->id] = hist(nsecs - @start[tid]); delete(@start[tid]); }")


def bpftrace_argv(pid, path):
    return ["bpftrace", "-o", path, "-e", BPFTRACE % ("" if pid is None else f"/pid == {pid}/")]


def pid_option(pid):
    return [] if pid is None else ["-p", str(pid)]


def floors(loader):
    return [
        Floor("empty", "two empty hooks", loader, "empty"),
        Floor("clock", "two hooks reading the clock", loader, "clock"),
        Floor("array", "two hooks, clock and arrays", loader, "array"),
        Floor("switches", "the clock at a call's entry and at each switch", loader, "switches"),
        Floor("ledgers", "the same, with a word kept of each thread", loader, "ledgers"),
        Floor("ledgers-beside-empty", "the same, and two empty hooks", loader, "ledgers-beside-empty"),
        Floor("foreign", "one foreign per-call tracepoint", loader, "foreign"),
        Floor("foreign-pair", "a foreign pair of them, enter and exit", loader, "foreign-pair"),
    ]


def overdue_forms(program):
    return [
        Overdue("overdue", "overdue syscalls", program, ["-f", "json"]),
        Overdue("by-thread", "overdue syscalls --by thread", program, ["--by", "thread", "-f", "json"]),
        Overdue("two-phase", "overdue syscalls --two-phase", program, ["--two-phase", "-f", "json"],
                two_phase=True),
        Overdue("calls", "overdue syscalls --calls, NDJSON file", program,
                ["--calls", "-f", "ndjson"], form="ndjson"),
        Overdue("record", "overdue record --events syscalls", program, ["--events", "syscalls"],
                command="record", form="trace"),
    ]


def peers():
    return [
        Tool("strace", "strace -f -c", "strace",
             lambda pid, path: ["strace", "-f", "-c", "-o", path, "-p", str(pid)], traces_all_threads,
             slow=True, follows=True),
        # --seccomp-bpf needs a set of calls and must start its target itself. All calls but one is
        # the set closest to the other tools.
        Tool("strace-seccomp", "strace -f -c --seccomp-bpf -e '!uname'", "strace",
             lambda pid, path: ["strace", "-f", "-c", "--seccomp-bpf", "-e", "trace=!uname", "-o", path],
             None, slow=True, follows=True, spawns=True),
        Tool("perf-trace", "perf trace -s", "perf",
             lambda pid, path: ["perf", "trace", "-s", "-o", path, *(pid_option(pid) or ["-a"])],
             has_perf_events, slow=True, system_wide=True),
        Tool("bpftrace", "bpftrace @count, @hist", "bpftrace", bpftrace_argv, has_syscall_hooks,
             system_wide=True),
        Tool("bcc", "bcc syscount -L", "syscount-bpfcc",
             lambda pid, path: ["syscount-bpfcc", "-L", *pid_option(pid)], has_syscall_hooks,
             system_wide=True),
        Tool("libbpf-tools", "libbpf-tools syscount -L", "syscount",
             lambda pid, path: ["syscount", "-L", *pid_option(pid)], has_syscall_hooks, system_wide=True),
    ]
