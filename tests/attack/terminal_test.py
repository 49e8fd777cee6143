#!/usr/bin/python3
"""A program that runs as another user types nothing into root's terminal."""
import os
import pty
import re
import select
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, main, overdue, require_root, tool

# Types a letter through each entry into ioctl, and prints the results: 0, or the error number.
TYPE = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
tty = os.open("/dev/tty", os.O_RDWR)
def typed(number, *arguments):
    return 0 if libc.syscall(number, tty, *arguments, ctypes.c_char_p(b"!")) == 0 else ctypes.get_errno()
print("typed", typed(16, ctypes.c_ulong(0x5412)), typed(16, ctypes.c_ulong(0x5412 | 1 << 32)),
      typed(514 | 1 << 30, ctypes.c_ulong(0x5412)), typed(16 | 1 << 30, ctypes.c_ulong(0x5412)))
"""
EPERM, ENOSYS = 1, 38
LEGACY_TIOCSTI = "/proc/sys/dev/tty/legacy_tiocsti"


def legacy_typing():
    """Whether this kernel lets any process type (dev.tty.legacy_tiocsti, Linux 6.2)."""
    try:
        with open(LEGACY_TIOCSTI, encoding="ascii") as file:
            return file.read().strip() == "1"
    except FileNotFoundError:
        return True


def in_terminal(command, answer, timeout=20):
    """Runs the command in a new terminal of root's. Returns (whether `answer` came, output)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    text, end = b"", time.monotonic() + timeout
    try:
        while not re.search(answer, text) and time.monotonic() < end:
            if select.select([terminal], [], [], 0.1)[0]:
                try:
                    text += os.read(terminal, 4096)
                except OSError:
                    break
        return re.search(answer, text), text
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


class Typing(unittest.TestCase):
    def setUp(self):
        require_root()

    def results(self, *options, environment=()):
        command = [tool("env"), *environment, OVERDUE, "syscalls", "-o", "/dev/null", *options, "--", tool("python3"),
                   "-c", TYPE]
        found, text = in_terminal(command, rb"typed (\d+) (\d+) (\d+) (\d+)")
        self.assertTrue(found, text)
        return [int(number) for number in found.groups()]

    def test_another_user_cannot(self):
        for options, environment in ((("--user", "nobody"), ()), ((), ("SUDO_UID=65534", "SUDO_GID=65534"))):
            with self.subTest(options=options):
                results = self.results(*options, environment=environment)
                self.assertEqual(results[:2], [EPERM, EPERM])
                for result in results[2:]:  # most kernels have no such calls
                    self.assertIn(result, (EPERM, ENOSYS))

    def test_ones_own_terminal_is_as_it_was(self):
        if not legacy_typing():
            self.skipTest("dev.tty.legacy_tiocsti is 0: no process can type")
        self.assertEqual(self.results()[0], 0)

    def test_doctor_says_whether_others_can(self):
        said = overdue("doctor", "--no-calibrate").out
        self.assertEqual("legacy_tiocsti" in said, os.path.exists(LEGACY_TIOCSTI) and legacy_typing(), said)

    def test_another_user_has_a_terminal_for_all_else(self):
        """Job control and the window size, which vim, less and a shell need."""
        code = ("import fcntl, os, termios; tty = os.open('/dev/tty', os.O_RDWR); termios.tcgetattr(tty); "
                "print('all', os.tcgetpgrp(tty) == os.getpgrp(), len(fcntl.ioctl(tty, termios.TIOCGWINSZ, bytes(8))))")
        command = [OVERDUE, "syscalls", "-o", "/dev/null", "--user", "nobody", "--", tool("python3"), "-c", code]
        found, text = in_terminal(command, rb"all True 8")
        self.assertTrue(found, text)


if __name__ == "__main__":
    main()
