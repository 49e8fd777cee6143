"""Slow systems whose cause is known: real programs, started here. Each module of this folder is one.

    GROUP = "locks"                    the ctest test that runs it
    SYMPTOM = "…"                      one line, as a user would say it
    READING = "…"                      how to read the report, for docs/scenarios (see pages.py)
    TRUTH = Truth(…)                   the cause; `NOTHING` if all is well
    def start(stage): …                starts the system; returns the target's arguments (["-p", "12"])
    def account(stage, begin, end): …  optional: what the system itself measured, as an Account

Programs of a scenario print lines `wait BEGIN_NS NS`, one for each wait or turn that was late, on the
monotonic clock: the default account is their sum. Debian's Python 3.11, standard library only.
"""
import contextlib
import dataclasses
import importlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
sys.path.insert(0, os.path.join(HERE, "..", "oracle"))
from overdue_test import disk_folder, eventually, run, tool, unittest  # noqa: E402

MS = 1_000_000
NOBODY_ID = 65534


@dataclasses.dataclass(frozen=True)
class Truth:
    """What the first screen must say. Each text is a regular expression, and `` if it may say anything."""
    cause: str                    # in the text of the cause
    who: str = ""                 # the name of the thread or process that was late
    by: str = ""                  # the name of what it was late because of
    kinds: tuple = ("blocked",)   # the cause's kind
    example: str = ""             # in the JSON of the example: functions, paths, addresses
    oncpu: str = ""               # a function of `oncpu`
    first: int = 1                # the cause is among so many; above 1 with the reason in the module
    least: float = 0.5            # the cause's total, as a part of the account
    most: float = 1.5
    not_by: str = ""              # an innocent that no cause may name


# All is well: no causes.
NOTHING = None
FIRST_SCREEN = 24  # lines


@dataclasses.dataclass
class Account:
    """What the system itself measured in the session. Either may be unknown (None)."""
    count: int | None = None
    total_ns: int | None = None

    def __str__(self):
        return f"{self.count} times, {'?' if self.total_ns is None else round(self.total_ns / MS, 1)} ms in all"


class Stage:
    """A folder and the processes of one system. The block's end ends each process by its pid."""

    def __init__(self):
        self.files = tempfile.TemporaryDirectory(dir="/var/tmp")  # on a disk, where there is one
        self.folder = self.files.name
        os.chmod(self.folder, 0o755)
        self.processes, self.outputs, self.undo = [], [], contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in reversed(self.processes):
            self.end(process)
        self.undo.close()
        self.files.cleanup()

    def require_disk(self):
        if disk_folder() != os.path.dirname(self.folder):
            raise unittest.SkipTest(f"{self.folder} is not on a disk")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def start(self, *command, **options):
        """Starts a program in a session of its own, with its output in a file."""
        output = self.path(f"out{len(self.outputs)}")
        with open(output, "wb") as out:
            process = subprocess.Popen(list(map(str, command)), stdin=options.pop("stdin", subprocess.DEVNULL),
                                       stdout=out, stderr=options.pop("stderr", subprocess.STDOUT),
                                       start_new_session=True, cwd=options.pop("cwd", self.folder), **options)
        process.output = output
        self.processes.append(process)
        self.outputs.append(output)
        return process

    def cgroup(self, root, name, file, limit):
        """A cgroup of the system, with a limit in one of its files, as /proc/PID/cgroup has it. Returns the path of
        the file that takes its processes."""
        group = os.path.join(root, f"{name}-{os.getpid()}")
        try:
            os.mkdir(group)
            self.undo.callback(remove_cgroup, group)
            with open(os.path.join(group, file), "w", encoding="ascii") as limits:
                limits.write(limit)
        except OSError as error:
            raise unittest.SkipTest(f"no cgroup with {file}: {error}") from error
        return os.path.join(group, "cgroup.procs")

    def names(self):
        """The names of the threads of all processes of the system, as a cause has them."""
        sessions = {process.pid for process in self.processes}
        found = set()
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if os.getsid(int(pid)) in sessions:
                    for tid in os.listdir(f"/proc/{pid}/task"):
                        found.add(re.sub(r"\d+", "*", read(f"/proc/{pid}/task/{tid}/comm").rstrip("\n")))
        return found

    def silence(self):
        """Standard input on which nothing ever comes."""
        reader, writer = os.pipe()
        self.undo.callback(os.close, reader)
        self.undo.callback(os.close, writer)
        return reader

    def end(self, process):
        """Ends the program and the processes it has started: its session is its own."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGCONT)
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def text(self, process):
        with open(process.output, encoding="utf-8", errors="replace") as file:
            return file.read()

    def await_text(self, process, text, timeout=30):
        def found():
            if process.poll() is not None:
                raise AssertionError(f"{process.args[0]} ended: {self.text(process)[-2000:]}")
            return text in self.text(process)
        eventually(found, timeout, f"no {text!r} from {process.args[:3]}: {self.text(process)[-500:]}")

    def python(self, program, *arguments, before=(), ready=True, **options):
        """Starts a Python program, and waits for its line `ready`."""
        source = self.write(f"program{len(self.outputs)}.py", PREAMBLE + program)
        process = self.start(*before, tool("/usr/bin/python3"), "-I", "-S", "-B", source, *arguments, **options)
        if ready:
            self.await_text(process, "ready")
        return process

    def printed(self, word, begin_ns, end_ns):
        """(length, part within the session) of the lines `WORD BEGIN_NS NS` that the programs printed."""
        for output in self.outputs:
            with open(output, encoding="utf-8", errors="replace") as file:
                for line in file:
                    fields = line.split()
                    if len(fields) == 3 and fields[0] == word:
                        begin, length = int(fields[1]), int(fields[2])
                        cut = min(begin + length, end_ns) - max(begin, begin_ns)
                        if cut > 0:
                            yield length, cut


# What every Python program of a scenario begins with.
PREAMBLE = '''\
import sys, threading, time
def name(text):
    with open(f"/proc/self/task/{threading.get_native_id()}/comm", "w") as file:
        file.write(text)
def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()
def now():
    return time.monotonic_ns()
def start(thread_name, function, *arguments):
    def body():
        name(thread_name)
        function(*arguments)
    threading.Thread(target=body, daemon=True).start()
'''


def account_of(module, stage, begin_ns, end_ns):
    """The module's own account, or the sum of the waits that its programs printed; None without any."""
    if hasattr(module, "account"):
        return module.account(stage, begin_ns, end_ns)
    waits = [within for _, within in stage.printed("wait", begin_ns, end_ns)]
    return Account(len(waits), sum(waits)) if waits else None


def whole_session(_stage, begin_ns, end_ns):
    """The account of a wait that never ends."""
    return Account(None, end_ns - begin_ns)


def remove_cgroup(group):
    def gone():
        try:
            os.rmdir(group)
        except OSError:
            return False
        return True
    eventually(gone, 10, f"{group} stays")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def await_port(port, timeout=30):
    def answers():
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False
    eventually(answers, timeout, f"port {port} does not answer")


def spare(name):
    """A program that a scenario can do without, or None."""
    return shutil.which(name, path="/usr/bin:/usr/sbin:/bin:/sbin")


def must(command, **options):
    finished = run(list(map(str, command)), **options)
    if finished.status != 0:
        raise AssertionError(f"cannot prepare: {command}: {finished}")
    return finished


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def pause(seconds):
    """For a system to settle after its start."""
    time.sleep(seconds)


def all_scenarios():
    """The modules of all scenarios, by name."""
    names = sorted(name[:-3] for name in os.listdir(HERE) if name.endswith(".py"))
    found = {name: importlib.import_module(name) for name in names if name not in ("scenarios_test", "pages")}
    return {name: module for name, module in found.items() if hasattr(module, "GROUP")}
