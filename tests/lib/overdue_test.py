"""Shared by the whole-program tests: runs of `overdue`, and its objects in the kernel. Debian's
Python 3.11, standard library only.

Environment (set by ctest): OVERDUE is the program under test, WORKLOADS the folder of the programs
of tests/workloads; OVERDUE_LONG=1 selects the long forms. OVERDUE_DISK is a folder on a real disk,
if /var/tmp is none.
"""
import collections
import contextlib
import csv
import fnmatch
import io
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

OVERDUE = os.environ.get("OVERDUE", "overdue")
WORKLOADS = os.environ.get("WORKLOADS", "")
LONG = os.environ.get("OVERDUE_LONG") == "1"
# Factor by which time limits grow; above 1 if the CPU is emulated.
SLOWER = int(os.environ.get("OVERDUE_SLOWER", "1"))
SKIPPED = 77  # what ctest shows as skipped
TRACEFS = "/sys/kernel/tracing"
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=-all"]


def long_or_short(long_form, short_form):
    return long_form if LONG else short_form


def workload(name):
    path = os.path.join(WORKLOADS, name)
    if not os.access(path, os.X_OK):
        raise unittest.SkipTest(f"workload {name} was not built here")
    return path


def tiny32():
    """The path of the 32-bit program; skips the test if this kernel runs no 32-bit programs."""
    path = workload("tiny32")
    try:
        subprocess.run([path], check=False)
    except OSError as error:
        raise unittest.SkipTest(f"this kernel runs no 32-bit programs: {error.strerror}") from error
    return path


def tool(*names):
    """The absolute path of the first of these programs that is installed; skips the test otherwise.
    Debian's own folders come first, before the shims of version managers."""
    for name in names:
        path = shutil.which(name, path="/usr/bin:/usr/sbin:/bin:/sbin") or shutil.which(name)
        if path:
            return path
    raise unittest.SkipTest(f"{' or '.join(names)} is not installed")


def disk_folder():
    """A folder on a real disk; skips the test if there is none."""
    kinds = {}
    for folder in (os.environ.get("OVERDUE_DISK", "/var/tmp"), os.path.dirname(os.path.abspath(__file__)),
                   os.path.expanduser("~")):
        kinds[folder] = run([tool("stat"), "-f", "-c", "%T", folder]).out.strip()
        if kinds[folder] in ("ext2/ext3", "xfs", "btrfs", "f2fs") and os.access(folder, os.W_OK):
            return folder
    raise unittest.SkipTest(f"no file system on a disk: {kinds}")


def kernel_version():
    """(6, 18): two numbers of the running kernel's release."""
    return tuple(map(int, re.match(r"(\d+)\.(\d+)", platform.release()).groups()))


def require_root():
    if os.geteuid() != 0:
        raise unittest.SkipTest("needs root")


class FolderTest(unittest.TestCase):
    """Tests with a folder of their own, which every user can read, and a recording in it."""

    def setUp(self):
        require_root()
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name
        os.chmod(self.folder, 0o755)
        self.file = f"{self.folder}/x.odt"


class Finished:
    """A run of a program that has ended."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds

    @property
    def utf8(self):
        """The output as users read it: a thread anywhere on the machine may have any name."""
        return self.out.encode("latin-1").decode()

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.out[-3000:]}\n--- stderr\n{self.err[-3000:]}"


def run(command, timeout=60, stdin=subprocess.DEVNULL, env=None, cwd=None, preexec=None):
    """Runs to the end and returns a Finished; text is decoded byte for byte (latin-1)."""
    begin = time.monotonic()
    with subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=env, cwd=cwd, preexec_fn=preexec) as process:
        try:
            out, err = process.communicate(timeout=timeout * SLOWER)
        except subprocess.TimeoutExpired:
            process.terminate()
            try:
                process.communicate(timeout=5)
            except subprocess.TimeoutExpired:
                process.kill()
            raise AssertionError(f"still running after {timeout * SLOWER} s: {command}") from None
    return Finished(process.returncode, out.decode("latin-1"), err.decode("latin-1"),
                    time.monotonic() - begin)


def overdue(*arguments, **options):
    """Runs `overdue ARGUMENTS…` to the end."""
    return run([OVERDUE, *map(str, arguments)], **options)


def on_terminal(*arguments, timeout=60):
    """Runs `overdue ARGUMENTS…` on a terminal of its own to the end. Returns a Finished; `out` is what the screen got."""
    screen = bytearray()

    def read(master):
        with contextlib.suppress(OSError):  # the last process has closed the terminal
            while part := os.read(master, 1 << 16):
                screen.extend(part)
    begin = time.monotonic()
    master, slave = os.openpty()
    reader = threading.Thread(target=read, args=(master,))
    with subprocess.Popen([OVERDUE, *map(str, arguments)], stdin=slave, stdout=slave, stderr=subprocess.PIPE,
                          env={**os.environ, "TERM": "xterm"}) as process:
        os.close(slave)
        reader.start()
        try:
            _, err = process.communicate(timeout=timeout * SLOWER)
        except subprocess.TimeoutExpired:
            process.kill()
            raise AssertionError(f"still running after {timeout * SLOWER} s: {arguments}") from None
        finally:
            reader.join()
            os.close(master)
    return Finished(process.returncode, screen.decode("latin-1"), err.decode("latin-1"), time.monotonic() - begin)


def syscalls_report(*arguments, folder=None, **options):
    """Runs `overdue syscalls -f json -o FILE ARGUMENTS…`; returns (report, Finished)."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        path = os.path.join(made, "report.json")
        finished = overdue("syscalls", "-f", "json", "-o", path, *arguments, **options)
        try:
            with open(path, encoding="utf-8") as file:
                return json.load(file), finished
        except (OSError, ValueError) as error:
            raise AssertionError(f"no report ({error}): {finished}") from None


def call_records(*arguments, **options):
    """Runs `overdue syscalls --calls -f ndjson -o FILE ARGUMENTS…`; returns (records, Finished)."""
    with tempfile.TemporaryDirectory() as made:
        path = os.path.join(made, "calls.ndjson")
        finished = overdue("syscalls", "--calls", "-f", "ndjson", "-o", path, *arguments, **options)
        return read_ndjson(path), finished


def read_ndjson(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def left_out(receipt):
    """Runs of our BPF programs that the kernel skipped, because the same program was running on
    that CPU. With PREEMPT_RT, timers expire in threads, which can be preempted. The events of
    skipped runs are lost."""
    return receipt["lost_by"].get("nested", 0)


def counts(report):
    """name → calls, over all rows. The number in a name syscall_N is taken as unsigned."""
    sums = collections.Counter()
    for row in report["syscalls"]:
        unknown = re.fullmatch(r"(.*syscall_)(-\d+)", row["name"])
        name = f"{unknown[1]}{int(unknown[2]) & 0xFFFFFFFF}" if unknown else row["name"]
        sums[name] += row["calls"]
    return dict(sums)


def table_of(text):
    """The rows of a CSV report, without its notes (lines with `#`)."""
    return list(csv.DictReader(io.StringIO("".join(
        line for line in text.splitlines(True) if not line.startswith("#")))))


def row_of(report, name):
    rows = [row for row in report["syscalls"] if row["name"] == name]
    assert len(rows) == 1, f"{len(rows)} rows of {name} in {[r['name'] for r in report['syscalls']]}"
    return rows[0]


class Live:
    """A running `overdue`, or any other command. The block's end ends it by its pid."""

    def __init__(self, *command, stdin=subprocess.DEVNULL, stdout=None, **options):
        self.files = tempfile.TemporaryDirectory()
        self.out_path = os.path.join(self.files.name, "stdout")
        self.err_path = os.path.join(self.files.name, "stderr")
        with open(self.out_path, "wb") as out, open(self.err_path, "wb") as err:
            self.process = subprocess.Popen(list(map(str, command)), stdin=stdin, stdout=stdout or out,
                                            stderr=err, **options)
        self.pid = self.process.pid
        self.begin = time.monotonic()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
        if self.process.stdin:
            with contextlib.suppress(OSError):
                self.process.stdin.close()
        self.files.cleanup()

    def out(self):
        with open(self.out_path, encoding="latin-1") as file:
            return file.read()

    def err(self):
        with open(self.err_path, encoding="latin-1") as file:
            return file.read()

    def signal(self, number):
        self.process.send_signal(number)

    def finish(self, timeout=30):
        try:
            self.process.wait(timeout * SLOWER)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running; stderr: {self.err()[-2000:]}") from None
        return Finished(self.process.returncode, self.out(), self.err(),
                        time.monotonic() - self.begin)


class OnDemand(Live):
    """The workload on_demand, which makes calls on request."""

    def __init__(self, program=None, **options):
        super().__init__(program or workload("on_demand"), stdin=subprocess.PIPE, **options)
        self.answers = 0
        self.wait_for_lines(1)

    def wait_for_lines(self, number, timeout=20):
        eventually(lambda: self.out().count("\n") >= number, timeout, "on_demand does not answer")

    def tell(self, line, wait=True):
        self.process.stdin.write((line + "\n").encode())
        self.process.stdin.flush()
        self.answers += 1
        if wait:
            self.wait_for_lines(1 + self.answers)

    def end(self):
        self.process.stdin.close()
        self.process.wait(20)


def eventually(condition, timeout=10, what="condition never held", pause=0.01):
    end = time.monotonic() + timeout * SLOWER
    while True:
        result = condition()
        if result:
            return result
        if time.monotonic() > end:
            raise AssertionError(what)
        time.sleep(pause)


@contextlib.contextmanager
def attached(command, *arguments, settle=0.4, **options):
    """Runs `overdue COMMAND ARGUMENTS…`, which has measured for SETTLE s when the block begins."""
    with Live(OVERDUE, command, "-v", *arguments, **options) as live:
        wait_until_measuring(live)
        time.sleep(settle)
        yield live


def wait_until_measuring(live):
    """Waits for the line about attached programs, which -v prints when measuring has begun."""
    def ready():
        if live.process.poll() is not None:
            raise AssertionError(f"ended early: {live.finish()}")
        return "overdue: attached" in live.err()
    eventually(ready, 60, "never attached")


# What the kernel holds ------------------------------------------------------------------------------

KINDS = ("prog", "map", "link")


def held_by(pid):
    """Ids of the BPF programs, maps and links a process has open, by kind."""
    found = {kind: set() for kind in KINDS}
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                if "bpf" not in os.readlink(f"/proc/{pid}/fd/{name}"):
                    continue
                with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                    text = file.read()
                # The first id counts: a link also has its program's id, a program its maps' ids.
                for kind, key in (("link", "link_id"), ("prog", "prog_id"), ("map", "map_id")):
                    number = re.search(rf"^{key}:\s*(\d+)$", text, re.MULTILINE)
                    if number:
                        found[kind].add(int(number[1]))
                        break
    return found


def held_by_anybody():
    found = {kind: set() for kind in KINDS}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for kind, ids in held_by(pid).items():
            found[kind] |= ids
    return found


def bpf_objects(kind):
    """`bpftool prog|map|link show`, as a list."""
    for _ in range(10):
        shown = run([tool("bpftool"), "-j", kind, "show"])
        with contextlib.suppress(ValueError):  # an object vanished while it was listed
            return json.loads(shown.out or "[]") or []
    raise AssertionError(f"bpftool {kind} show: {shown}")


class Footprint:
    """The BPF objects that a process holds, and whether they are gone."""

    def __init__(self, pid):
        self.ids = held_by(pid)

    def empty(self):
        return not any(self.ids.values())

    def left(self):
        found = {}
        for kind, ids in self.ids.items():
            there = ids and ids & {entry.get("id") for entry in bpf_objects(kind)}
            if there:
                found[kind] = sorted(there)
        return found

    def assert_gone(self):
        """The kernel frees programs and maps a moment after their last holder."""
        end = time.monotonic() + 15
        while left := self.left():
            assert time.monotonic() < end, f"left in the kernel: {left}"
            time.sleep(0.1)


def is_stopped(pid):
    with open(f"/proc/{pid}/stat", encoding="latin-1") as file:
        return file.read().rpartition(")")[2].split()[0] in "Tt"


class ChosenTests(unittest.TestLoader):
    """The tests that GTEST_FILTER selects, as WANTED:…[-UNWANTED:…]. A name is Class.test_x."""

    def getTestCaseNames(self, testCaseClass):
        wanted, _, unwanted = os.environ.get("GTEST_FILTER", "*").partition("-")

        def matches(name, patterns):
            return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns.split(":"))

        names = {name: f"{testCaseClass.__name__}.{name}" for name in super().getTestCaseNames(testCaseClass)}
        return [name for name, full in names.items() if matches(full, wanted or "*") and not matches(full, unwanted)]


def main():
    """unittest.main(), with skips shown, and exit status 77 if every test was skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2, testLoader=ChosenTests(),
                            argv=[sys.argv[0], *sys.argv[1:]])
    result = program.result
    for test, reason in result.skipped:
        print(f"SKIPPED {test}: {reason}", file=sys.stderr)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun and len(result.skipped) == result.testsRun else 0)
