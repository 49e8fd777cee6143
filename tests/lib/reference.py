"""Two other counts of system calls: strace's log, and the kernel's own tracer on the very same run."""
import collections
import contextlib
import os
import re
import tempfile
import unittest

from overdue_test import TRACEFS, run, tool

EXECVE = 59  # x86-64
X32_BIT = 0x40000000


def kernel_numbers(header):
    """number → name from one of the kernel's unistd headers."""
    for folder in ("/usr/include/x86_64-linux-gnu/asm", "/usr/include/asm"):
        with contextlib.suppress(OSError):
            with open(f"{folder}/{header}", encoding="ascii") as file:
                return {int(number): name for name, number in
                        re.findall(r"#define __NR_(\w+) (\d+)$", file.read(), re.MULTILINE)}
    return {}


def parse_strace(path):
    """(name → calls, name → number) from `strace -f -n -o FILE`.

    A call counts when it is entered: `name(` counts, also with "<unfinished ...>", but "<... name
    resumed>" does not. `strace -c` counts a call when it returns, so it never has exit, exit_group
    or a call whose thread was killed inside it. The log has them all, so the log is the reference.
    Names are written as Overdue writes them: "i386:name" for the 32-bit entry, "x32:name", and
    unknown numbers as syscall_N in decimal. A call came by the 32-bit entry if its number is the
    name's number in the i386 table and not in the native one.
    """
    native, i386 = kernel_numbers("unistd_64.h"), kernel_numbers("unistd_32.h")
    found, numbers = collections.Counter(), {}
    with open(path, encoding="latin-1") as file:
        for line in file:
            call = re.match(r"\d+ +\[ *(\d+|\?+)\] (\w+)\(", line)
            if not call:
                continue
            name = call[2]
            unknown = re.fullmatch(r"syscall_(0x[0-9a-f]+)", name)
            if unknown:
                number = int(unknown[1], 16) & 0xFFFFFFFF
                name = f"syscall_{number}"
            else:
                number = int(call[1])
                if number & X32_BIT:
                    name, number = f"x32:{name}", number - X32_BIT
                elif native.get(number) != name and i386.get(number) == name:
                    name = f"i386:{name}"
            found[name] += 1
            numbers[name] = number
    return dict(found), numbers


def strace_counts(command, **options):
    """(name → calls, name → number, Finished) of one run under strace."""
    with tempfile.TemporaryDirectory() as made:
        log = os.path.join(made, "log")
        finished = run([tool("strace"), "-f", "-n", "-q", "-o", log, *command], timeout=120,
                       **options)
        return *parse_strace(log), finished


# The kernel's own tracer, on the same run -----------------------------------------------------------


class Witness:
    """A tracefs instance that records raw_syscalls:sys_enter of one process and all its
    descendants: a second count of the very run that Overdue measures. Even programs that never do
    the same twice can be compared call by call."""

    def __init__(self, megabytes_per_cpu=24):
        self.path = f"{TRACEFS}/instances/od-test-{os.getpid()}"
        self.kilobytes = megabytes_per_cpu * 1024

    def __enter__(self):
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise unittest.SkipTest(f"no tracefs instance: {error}") from None
        self.write("buffer_size_kb", self.kilobytes)
        self.write("options/event-fork", 1)
        self.write("trace_clock", "mono")
        return self

    def __exit__(self, *_):
        self.write("tracing_on", 0)
        self.write("events/enable", 0)
        os.rmdir(self.path)

    def write(self, name, text):
        with open(f"{self.path}/{name}", "w", encoding="ascii") as file:
            file.write(str(text))

    def adopt_me(self):
        """Called in the process that becomes Overdue."""
        self.write("set_event_pid", os.getpid())
        self.write("events/raw_syscalls/sys_enter/enable", 1)
        self.write("events/sched/sched_process_fork/enable", 1)

    def events(self):
        """(tid, "fork", child tid) and (tid, "call", number), in order. None after a loss."""
        self.write("tracing_on", 0)
        for cpu in os.listdir(f"{self.path}/per_cpu"):
            with open(f"{self.path}/per_cpu/{cpu}/stats", encoding="ascii") as file:
                if "overrun: 0\n" not in file.read():
                    return None
        line_format = re.compile(
            r"-(\d+) +\[\d+\] \S+ +[\d.]+: (sys_enter|sched_process_fork): (.*)")
        found = []
        with open(f"{self.path}/trace", encoding="latin-1", newline="\n") as file:
            for line in file:
                event = line_format.search(line)
                if not event:
                    continue
                if event[2] == "sched_process_fork":
                    found.append((int(event[1]), "fork",
                                  int(re.search(r"child_pid=(\d+)$", event[3].rstrip())[1])))
                else:
                    number = int(re.match(r"NR (-?\d+)", event[3])[1]) & 0xFFFFFFFF
                    found.append((int(event[1]), "call", number))
        return found

    def calls_from(self, pid):
        """number → calls of the process `pid`, from its execve on, and of all its descendants."""
        return self._count(pid, lambda tid: True)

    def calls_below(self, overdue_pid):
        """number → calls of the process that `overdue_pid` started, from its execve on, and of all
        its descendants. Overdue itself, its threads and its child before execve do not count."""
        return self._count(overdue_pid, lambda tid: tid != overdue_pid)

    def _count(self, pid, may_be_target):
        events = self.events()
        if events is None:
            return None
        family, target = {pid}, set()
        found = collections.Counter()
        for tid, kind, value in events:
            if kind == "fork":
                (target if tid in target else family).add(value)
                continue
            if value == EXECVE and tid in family - target and may_be_target(tid):
                target.add(tid)
            if tid in target:
                found[value] += 1
        return dict(found)
