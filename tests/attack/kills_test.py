#!/usr/bin/python3
"""Every command, ended at a random moment by SIGKILL or by a signal that it handles: nothing is
left.

The long form (OVERDUE_LONG=1) ends each command a hundred times. Commands with real-time threads or
kernel settings are also in cli_killed, which checks each thread and setting.
"""
import contextlib
import fcntl
import os
import random
import re
import signal
import struct
import sys
import tempfile
import termios
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import children_of
from overdue_test import OVERDUE, TRACEFS, Footprint, FolderTest, Live, eventually, long_or_short, main, overdue, tool
from overdue_test import workload

SOCKETS = "/run/overdue"
CRASHES = (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGSYS)
ANSWERED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1)


def commands_of(folder):
    """The arguments of each command; {} is a new file's name. A started program ends by itself."""
    recording, folded = f"{folder}/x.odt", f"{folder}/x.folded"
    return {
        "syscalls": [("-a",), ("-a", "--calls", "-f", "ndjson"), ("--two-phase", "-p", os.getpid()),
                     ("--", tool("sleep"), "0.5")],
        "stalls": [("-a", "-T", "1ms", "--save", "{}"), ("-a", "-T", "1ms", "--flame", "{}.svg"),
                   ("-a", "-T", "1h", "--span", f"x=begin:uprobe:{workload('on_demand')}:main,"
                                                f"end:uretprobe:{workload('on_demand')}:main,key:tid"),
                   ("-T", "1ms", "--", tool("sleep"), "0.5")],
        "timerlat": [(), ("-p", "2ms", "-P", "10")],
        "osnoise": [("-p", "50ms",)],
        "worst": [("wakeup",), ("irqsoff", "--backend", "bpf")],
        "why": [("-a", "--save", "{}"), ("-a", "-d", "1s", "-f", "json"), ("--", tool("sleep"), "0.5")],
        "top": [(), ("-i", "50ms")],
        "spans": [("-a", "--save", "{}"), ("-a", "-i", "50ms", "--hist")],
        "offcpu": [("-a", "--save", "{}"), ("-a", "-i", "50ms", "--max")],
        "profile": [("-a", "--save", "{}"), ("-a", "-F", "999", "-f", "svg", "-o", "{}.svg"),
                    ("--", tool("sleep"), "0.5")],
        "record": [("-o", "{}", "-a"), ("-o", "{}", "-a", "--events", "syscalls,all", "-T", "syscall=1ms")],
        "report": [(recording,), (recording, "-f", "json", "-o", "{}")],
        "flame": [(folded, "-o", "{}.svg"), (recording, "-o", "{}.pb.gz")],
        "ctl": [("list",)],
        "demo": [("list",)],
        "doctor": [(), ("-f", "json")],
        "probes": [()],
        "schema": [()],
        "help": [()],
    }


class OnTerminal(Live):
    """A command on a terminal of its own, whose text is dropped."""

    def __init__(self, *command):
        reader, terminal = os.openpty()
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        super().__init__(*command, stdin=terminal, stdout=terminal, env={**os.environ, "TERM": "xterm"})
        os.close(terminal)
        threading.Thread(target=self.drop, args=(reader,), daemon=True).start()

    @staticmethod
    def drop(reader):
        with contextlib.suppress(OSError):  # the last one that has the terminal open has ended
            while os.read(reader, 65536):
                pass
        os.close(reader)


class Kills(FolderTest):
    def setUp(self):
        super().setUp()
        self.assertEqual(overdue("record", "-o", self.file, "-a", "-d", "300ms").status, 0)
        with open(f"{self.folder}/x.folded", "w", encoding="ascii") as file:
            file.write("main;work;leaf 10\nmain;rest 5\n")
        self.commands = commands_of(self.folder)
        self.dice = random.Random()

    @staticmethod
    def state():
        instances = sorted(os.listdir(f"{TRACEFS}/instances")) if os.path.exists(f"{TRACEFS}/instances") else []
        # A concurrent test may have an instance too.
        instances = [name for name in instances if not name.startswith("od-test-")]
        temporary = {name for name in os.listdir(tempfile.gettempdir()) if "overdue" in name}
        return instances, temporary

    def end(self, number, *command):
        """Sends the signal at a random moment. Returns whether the command was still running."""
        before = self.state()
        made = [word.replace("{}", f"{self.folder}/out") for word in map(str, command)]
        with (OnTerminal if command[0] == "top" else Live)(OVERDUE, *made) as live:
            time.sleep(self.dice.uniform(0, self.dice.choice((0.02, 0.2, 0.8))))
            live.signal(signal.SIGSTOP)
            was_running = live.process.poll() is None
            footprint = Footprint(live.pid)
            children = [child for child in children_of(live.pid) if not self.is_program(child)]
            if was_running:
                live.signal(number)
                live.signal(signal.SIGCONT)
            status = live.finish(timeout=30).status
        footprint.assert_gone()
        for child in children:
            eventually(lambda: not os.path.exists(f"/proc/{child}"), 20, f"{command}: its process {child} is left")
        eventually(lambda: self.state() == before, 20, f"{command}: {before} has become {self.state()}")
        self.assertNotIn(-status, CRASHES, command)
        if number != signal.SIGKILL:
            self.assertFalse(os.path.exists(f"{SOCKETS}/{live.pid}.sock"), command)
        return was_running

    @staticmethod
    def is_program(pid):
        """Whether the child has passed the gate: a started program runs on without Overdue."""
        try:
            return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == os.path.basename(tool("sleep"))
        except OSError:
            return False

    def end_all(self, signals):
        in_time = 0
        for name, forms in self.commands.items():
            for form in forms:
                with self.subTest(command=name, form=form):
                    for _ in range(long_or_short(100, 1)):
                        in_time += self.end(self.dice.choice(signals), name, *form)
        # Most commands do not end by themselves, so most signals come in time.
        self.assertGreater(in_time, len(self.commands) // 2)

    def test_every_command_is_here(self):
        section = overdue("help").out.partition("\nCommands\n")[2].partition("\n\n")[0]
        listed = re.findall(r"^    (\w+)$", section, re.MULTILINE)
        self.assertEqual(sorted(self.commands), sorted(listed))

    def test_killed(self):
        self.end_all([signal.SIGKILL])
        self.assertEqual(overdue("syscalls", "-a", "-d", "50ms").status, 0)  # removes stale sockets
        left = [name for name in os.listdir(SOCKETS) if not os.path.exists(f"/proc/{name.partition('.')[0]}")]
        self.assertEqual(left, [])

    def test_told_to_end(self):
        self.end_all(ANSWERED)


if __name__ == "__main__":
    main()
