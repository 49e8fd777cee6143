# SPDX-License-Identifier: Apache-2.0
"""Child processes that end with the harness, even if it is killed."""

import collections
import ctypes
import os
import select
import signal
import subprocess
import tempfile
import time

_libc = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


class Unavailable(Exception):
    """A measurement is not possible here. The text is the reason, for the report."""


def _die_with_parent():
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def wait_until(condition, timeout_s, step_s=0.02):
    """Returns True as soon as condition() is true, False after the timeout."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(step_s)
    return True


class Child:
    """One process with pipes to stdin and from stdout, and its stderr kept for error messages.

    The process has its own session: a ^C at the terminal reaches only the harness, which ends it.
    """

    alive = {}  # pid → Child, for end_all()

    def __init__(self, argv, env=None):
        self._stderr = tempfile.TemporaryFile()
        self._lines = collections.deque()
        self._partial = b""
        try:
            self.process = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._stderr,
                start_new_session=True, preexec_fn=_die_with_parent, env=env)
        except OSError as error:
            raise Unavailable(f"cannot run {argv[0]}: {error.strerror}") from error
        self.pid = self.process.pid
        Child.alive[self.pid] = self

    @classmethod
    def end_all(cls):
        for child in list(cls.alive.values()):
            child.end(signal.SIGINT, timeout_s=2)

    def running(self):
        return self.process.poll() is None

    def errors(self):
        self._stderr.seek(0)
        return self._stderr.read().decode(errors="replace")

    def said(self):
        """All unread output, including stdout, where some tools print their errors."""
        try:
            while True:
                self._read_some(0)
                if self.running():
                    break
        except Unavailable:
            pass
        return "\n".join([*self._lines, self.errors()])

    def send(self, line):
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError as error:
            raise Unavailable(f"{self._name()} ended early: {self._last_error()}") from error

    def expect(self, timeout_s, wanted=lambda line: True):
        """Returns the next line of stdout for which wanted(line) is true."""
        deadline = time.monotonic() + timeout_s
        while True:
            while self._lines:
                line = self._lines.popleft()
                if wanted(line):
                    return line
            left = deadline - time.monotonic()
            if left <= 0:
                raise Unavailable(f"{self._name()} said nothing for {timeout_s:.0f} s")
            self._read_some(min(left, 1.0))

    def _read_some(self, timeout_s):
        stdout = self.process.stdout
        if not select.select([stdout], [], [], timeout_s)[0]:
            return
        data = os.read(stdout.fileno(), 65536)
        if not data:
            raise Unavailable(f"{self._name()} ended early: {self._last_error()}")
        *lines, self._partial = (self._partial + data).split(b"\n")
        self._lines.extend(line.decode(errors="replace") for line in lines)

    def end(self, how=signal.SIGINT, timeout_s=30.0):
        """Closes stdin, sends `how` (None: waits only), kills after the timeout. Returns the exit status."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        if self.running() and how is not None:
            self.process.send_signal(how)
        # Keeps reading: a tool that prints its report must not block on a full pipe.
        deadline = time.monotonic() + timeout_s
        while self.running() and time.monotonic() < deadline:
            try:
                self._read_some(0.02)
            except Unavailable:
                time.sleep(0.01)
        if self.running():
            self.process.kill()
        status = self.process.wait()
        self.process.stdout.close()
        Child.alive.pop(self.pid, None)
        return status

    def _name(self):
        return os.path.basename(str(self.process.args[0]))

    def _last_error(self):
        return last_line(self.errors()) or f"exit status {self.process.poll()}"


def last_line(text):
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def output_of(child, name, timeout_s):
    """The rest of a child's stdout, once it has ended; Unavailable with its message if it fails."""
    output = []
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            output.append(child.expect(deadline - time.monotonic()))
        except Unavailable:
            if time.monotonic() >= deadline:
                raise
            break
    status = child.end(None, timeout_s=5)
    if status != 0:
        raise Unavailable(f"{name}: {last_line(child.errors()) or f'exit status {status}'}")
    return "\n".join(output)


def run(argv, timeout_s=60.0):
    """The stdout of a short command; Unavailable with the command's message if it fails."""
    child = Child(argv)
    try:
        return output_of(child, argv[0], timeout_s)
    finally:
        if child.pid in Child.alive:
            child.end(signal.SIGTERM, timeout_s=2)
