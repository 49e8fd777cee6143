# SPDX-License-Identifier: Apache-2.0
"""The workloads, each as an object that runs timed sections: measure(divisor) → {series: ns per operation}."""

import os
import resource
import shutil
import signal
import subprocess
import time

from .process import Child, Unavailable, run, wait_until

SECTION_TIMEOUT_S = 180.0


def cpus():
    return sorted(os.sched_getaffinity(0))


class Workload:
    """`scope` is what a tool must trace: "process", "tree" (with children) or "system"."""

    scope = "process"
    slow_divisor = 100     # divisor of the operations under a slow tool
    record_divisor = 10    # divisor of the operations under a tool that writes a record per call
    attach_only = False    # True: only tools that can attach to a running process
    table = "cost"         # table in the report: cost, shares, throughput, finding (report.py)
    remark = ""            # a sentence for the report

    def __init__(self, key, title, unit):
        self.key = key
        self.title = title
        self.unit = unit

    def reason_missing(self):
        return None

    def divisor(self, tool):
        return self.slow_divisor if tool.slow else self.record_divisor if tool.records else 1

    def start(self, prefix=()):
        """Returns a running instance. A `prefix` is the argv of the tool that starts it."""
        raise NotImplementedError


class Section:
    """A workload process that obeys lines on its stdin (bench/workloads/section.h)."""

    def __init__(self, argv, series, count, rate=0, target=None):
        self.child = Child(argv)
        self.series = series
        self.count = count
        self.rate = rate
        self.made = 0           # operations since the last take_made()
        self.calls_per_second = 0.0
        try:
            self.child.expect(20, lambda line: line == "ready")
        except BaseException:
            self.child.end(signal.SIGTERM, timeout_s=2)
            raise
        self.pid = target or self.child.pid

    def measure(self, divisor=1, count=None):
        count = max(1, (count or self.count) // divisor)
        self.child.send(f"{count} {self.rate}")
        fields = dict(part.split("=") for part in self.child.expect(SECTION_TIMEOUT_S).split())
        self.made += int(fields["made"])
        self.calls_per_second = count * 1e9 / max(1, int(fields["elapsed_ns"]))
        return self.figures(fields)

    def figures(self, fields):
        return {self.series: float(fields["ns"])}

    def take_made(self):
        made, self.made = self.made, 0
        return made

    def cpu_ns(self):
        return cpu_ns(self.pid)

    def end(self):
        self.child.end(None, timeout_s=10)


class Program(Workload):
    """One of bench/workloads/*.c. `idle`: program of an idle process to trace instead."""

    def __init__(self, key, title, unit, argv, count, *, series=None, scope="process", rate=0,
                 slow_divisor=100, idle=None):
        super().__init__(key, title, unit)
        self.argv = argv
        self.count = count
        self.series = series or key
        self.scope = scope
        self.rate = rate
        self.slow_divisor = slow_divisor
        self.idle = idle
        self.attach_only = idle is not None

    def reason_missing(self):
        return None if os.access(self.argv[0], os.X_OK) else f"{self.argv[0]} is not built"

    def start(self, prefix=()):
        section = Section([*prefix, *self.argv], self.series, self.count, self.rate)
        return Bystander(section, self.idle) if self.idle else section


class Bystander:
    """A timed section beside an idle process, which is the target."""

    def __init__(self, section, idle_program):
        self.section = section
        try:
            self.idle = Child([idle_program])
            self.idle.expect(20, lambda line: line == "ready")
        except BaseException:
            section.end()
            raise
        self.pid = self.idle.pid

    def measure(self, divisor=1, count=None):
        return self.section.measure(divisor, count)

    def take_made(self):
        return 0

    def end(self):
        self.section.end()
        self.idle.end(None, timeout_s=10)


class Storm(Program):
    """The fork/exec storm, with a directory for its outputs."""

    def __init__(self, program, count, directory):
        path = os.path.join(directory, "storm")
        os.makedirs(path, exist_ok=True)
        super().__init__("storm", "Fork/exec storm, like a build", "job", [program, path], count,
                         scope="tree", slow_divisor=5)
        self.record_divisor = 1


def cpu_ns(pid):
    """The run time of all threads of a process. Excludes waits and stolen time, so on a busy
    machine it varies less than any rate.
    """
    total = 0
    for tid in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{tid}/schedstat", encoding="ascii") as file:
                total += int(file.read().split()[0])
        except FileNotFoundError:
            continue
    return total


def cpu_of_clients_ns():
    """The CPU time of all ended children of this process, and of the children's ended children."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return round((usage.ru_utime + usage.ru_stime) * 1e9)


class Redis(Workload):
    """redis-benchmark against a redis-server of its own on a unix socket."""

    table = "throughput"
    slow_divisor = 10
    record_divisor = 1

    def __init__(self, count, directory):
        super().__init__("redis", "redis-benchmark, GET and SET without pipelining", "request")
        self.count = count
        self.directory = directory

    def reason_missing(self):
        for program in ("redis-server", "redis-benchmark", "redis-cli", "setpriv", "taskset"):
            if not shutil.which(program):
                return f"{program} is not installed"
        return None

    def start(self, prefix=()):
        return RedisServer(prefix, self.directory, self.count)


class RedisServer:
    """redis-server as user nobody on the first CPU, clients on the last."""

    def __init__(self, prefix, directory, count):
        self.count = count
        self.home = os.path.join(directory, f"redis-{time.monotonic_ns()}")
        self.socket = os.path.join(self.home, "socket")
        os.mkdir(self.home, 0o700)
        shutil.chown(self.home, "nobody", "nogroup")
        # setpriv twice: a change of user clears the parent-death signal.
        self.child = Child([
            *prefix, "setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups",
            "setpriv", "--pdeathsig", "KILL", "taskset", "-c", str(cpus()[0]),
            "redis-server", "--port", "0", "--unixsocket", self.socket, "--dir", self.home,
            "--save", "", "--appendonly", "no", "--daemonize", "no"])
        self.pid = self.child.pid
        try:
            if not wait_until(lambda: os.path.exists(self.socket) or not self.child.running(), 20):
                raise Unavailable("redis-server opened no socket within 20 s")
            self.pid = self._server_pid()
        except BaseException:
            self.end()
            raise

    def _server_pid(self):
        for line in run(["redis-cli", "-s", self.socket, "info", "server"]).splitlines():
            if line.startswith("process_id:"):
                return int(line.split(":")[1])
        raise Unavailable("redis-server does not tell its process id")

    def measure(self, divisor=1, count=None):
        count = max(1000, (count or self.count) // divisor)
        series = {}
        for name in ("GET", "SET"):
            before_ns = cpu_ns(self.pid)
            series[name] = 1e9 / self._requests_per_second(name, count)
            series[f"{name} CPU"] = (cpu_ns(self.pid) - before_ns) / count
        return series

    def _requests_per_second(self, name, count):
        shown = run(["taskset", "-c", str(cpus()[-1]), "redis-benchmark", "-s", self.socket,
                     "-t", name.lower(), "-n", str(count), "-c", "50", "-P", "1", "--csv"],
                    SECTION_TIMEOUT_S)
        for line in shown.splitlines():
            fields = [field.strip('"') for field in line.split(",")]
            if fields[0] == name:
                return float(fields[1])
        raise Unavailable(f"redis-benchmark printed {shown[:100]!r}")

    def take_made(self):
        return 0

    def cpu_ns(self):
        return cpu_ns(self.pid) + cpu_of_clients_ns()

    def end(self):
        subprocess.run(["redis-cli", "-s", self.socket, "shutdown", "nosave"], capture_output=True,
                       check=False, timeout=20)
        wait_until(lambda: not self.child.running(), 5)
        self.child.end(signal.SIGTERM, timeout_s=5)
        shutil.rmtree(self.home, ignore_errors=True)


class Hackbench(Workload):
    """rt-tests' hackbench through pipes; the tool traces the whole system."""

    scope = "system"
    slow_divisor = 10
    record_divisor = 1

    def __init__(self, groups, loops):
        super().__init__("hackbench", "hackbench, the whole system traced", "run")
        self.groups = groups
        self.loops = loops
        self.pid = None

    def reason_missing(self):
        return None if shutil.which("hackbench") else "hackbench (package rt-tests) is not installed"

    def start(self, prefix=()):
        return self

    def measure(self, divisor=1, count=None):
        loops = max(10, self.loops // divisor)
        shown = run(["hackbench", "-p", "-g", str(self.groups), "-l", str(loops)], SECTION_TIMEOUT_S)
        for line in shown.splitlines():
            if line.startswith("Time:"):
                return {"hackbench": float(line.split()[1]) * 1e9 * divisor}
        raise Unavailable(f"hackbench printed {shown[:100]!r}")

    def take_made(self):
        return 0

    def cpu_ns(self):
        return cpu_of_clients_ns()

    def end(self):
        pass
