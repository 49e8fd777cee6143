#!/usr/bin/python3
"""Small attacks: names that draw on a terminal or compute in a spreadsheet, callers through doas or
pkexec, endless files, a program that is stopped before it begins, no room for processes."""
import contextlib
import csv
import os
import re
import resource
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, FolderTest, Live, eventually, main, overdue, run, tool

NOBODY_ID = 65534
# Zero width, direction, line and paragraph separators: characters that a terminal or an editor
# obeys but does not show.
UNSEEN = "\u200b\u200e\u200f\u061c\u2028\u2029\u202e\u2066\ufeff"
FORMULAS = ("=1+1", "+a1", "-a1", "@a")


def named(name, then="read line < /dev/null"):
    """The command of a shell that gives its thread this name and then makes some calls."""
    octal = "".join(f"\\{byte:03o}" for byte in name.encode())
    return tool("sh"), "-c", f"printf '{octal}' > /proc/self/comm; {then}"


class Names(FolderTest):
    def test_nothing_unseen_reaches_a_terminal(self):
        for unseen in UNSEEN:
            with self.subTest(character=f"U+{ord(unseen):04X}"):
                text = overdue("syscalls", "--by", "thread", "--", *named(f"a{unseen}b")).err
                shown = text.encode("latin-1").decode()
                self.assertNotIn(unseen, shown)
                self.assertRegex(shown, r"\ba\\.*b\b", "it is shown as what it is")

    def test_no_cell_is_a_formula(self):
        for formula in FORMULAS:
            with self.subTest(name=formula):
                path = f"{self.folder}/report.csv"
                finished = overdue("syscalls", "--by", "thread", "-f", "csv", "-o", path, "--", *named(formula))
                with open(path, encoding="utf-8", newline="") as file:
                    ours = [cell for row in csv.reader(file) for cell in row if formula in cell]
                self.assertTrue(ours, finished)
                self.assertFalse([cell for cell in ours if cell[0] in "=+-@"], ours)


class Callers(FolderTest):
    def test_the_program_is_the_callers(self):
        for caller in ({"DOAS_USER": "nobody"}, {"PKEXEC_UID": str(NOBODY_ID)},
                       {"SUDO_UID": str(NOBODY_ID), "SUDO_GID": str(NOBODY_ID), "SUDO_USER": "nobody"}):
            with self.subTest(**caller):
                environment = {name: value for name, value in os.environ.items() if not name.startswith("SUDO_")}
                finished = overdue("syscalls", "-o", "/dev/null", "--", tool("id"), "-u", env=environment | caller)
                self.assertEqual(finished.out.strip(), str(NOBODY_ID), finished)


class Endless(unittest.TestCase):
    def test_a_file_without_an_end_is_refused(self):
        def few():
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        for command in (["flame", "/dev/zero"], ["report", "/dev/zero"]):
            with self.subTest(command=command):
                begin = time.monotonic()
                finished = run([OVERDUE, *command], timeout=60, preexec=few)
                self.assertEqual(finished.status, 1, finished)
                self.assertIn("/dev/", finished.err)
                self.assertNotIn("unexpected failure", finished.err)
                self.assertLess(time.monotonic() - begin, 30)


class BeforeItBegins(FolderTest):
    """The program's process is made before anything is attached, and waits until everything is."""

    def child_of(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            for child in map(int, file.read().split()):
                try:
                    with open(f"/proc/{child}/status", encoding="ascii", errors="replace") as status:
                        if f"Uid:\t{NOBODY_ID}\t" in status.read():
                            return child
                except OSError:
                    pass
        return None

    def test_who_stops_it_stops_no_measurement(self):
        with Live(OVERDUE, "stalls", "-T", "10ms", "-d", "500ms", "--user", "nobody", "-o", f"{self.folder}/report",
                  "--", tool("sleep"), "0.1") as live:
            child = eventually(lambda: self.child_of(live.pid), 10, "no child of another user", pause=0)
            os.kill(child, signal.SIGSTOP)
            # A child that is stopped before it reports itself never runs the program.
            eventually(lambda: re.search("no longer measuring|another process has stopped the process", live.err()), 20,
                       "the duration ends no measurement")
            with contextlib.suppress(ProcessLookupError):  # it has ended
                os.kill(child, signal.SIGCONT)
            self.assertIn(live.finish(timeout=10).status, (0, 125))


class NoRoom(FolderTest):
    """The controller `pids` refuses new processes and threads, even to root."""

    def setUp(self):
        super().setUp()
        root = next((one for one in ("/sys/fs/cgroup/pids", "/sys/fs/cgroup", "/sys/fs/cgroup/unified")
                     if os.path.exists(f"{one}/cgroup.procs")), None)
        if root is None:
            self.skipTest("no cgroups here")
        self.group = f"{root}/odt-pids-{os.getpid()}"
        try:
            if os.path.exists(f"{root}/cgroup.subtree_control"):
                with open(f"{root}/cgroup.subtree_control", "w", encoding="ascii") as file:
                    file.write("+pids")
            os.mkdir(self.group)
        except OSError as error:
            self.skipTest(f"no cgroup of the controller pids: {error}")
        self.addCleanup(self.remove)
        if not os.path.exists(f"{self.group}/pids.max"):
            self.skipTest("no controller pids here")

    def remove(self):
        eventually(self.is_gone, 10, "the cgroup keeps a process")

    def is_gone(self):
        try:
            os.rmdir(self.group)
        except OSError:
            return False
        return True

    def test_each_number_of_processes(self):
        for most in range(1, 9):
            for command in (["syscalls", "-o", f"{self.folder}/report", "--", tool("true")],
                            ["stalls", "-T", "1s", "-o", f"{self.folder}/report", "-d", "200ms", "-a"],
                            ["timerlat", "-o", f"{self.folder}/report", "-d", "200ms"]):
                with self.subTest(most=most, command=command[0]):
                    with open(f"{self.group}/pids.max", "w", encoding="ascii") as file:
                        file.write(str(most))
                    join = f"echo $$ > {self.group}/cgroup.procs && exec \"$@\""
                    finished = run([tool("sh"), "-c", join, "sh", OVERDUE, *command])
                    self.assertIn(finished.status, (0, 1, 125), finished)
                    self.assertNotIn("unexpected failure", finished.err)
                    if finished.status != 0:
                        self.assertIn("overdue: ", finished.err)


if __name__ == "__main__":
    main()
