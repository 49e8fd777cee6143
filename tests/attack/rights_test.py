#!/usr/bin/python3
"""Capabilities of the program's file, and root's own, read for nobody what that user may not read."""
import os
import re
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import NOBODY, OVERDUE, Live, eventually, main, overdue, require_root, run, tool

CAPABILITIES = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog=ep"
WITHOUT_RIGHTS = (("report",), ("flame",), ("probes",), ("schema",), ("help",))


class Rights(unittest.TestCase):
    def setUp(self):
        require_root()
        made = tempfile.TemporaryDirectory(dir="/var/tmp")  # /tmp may be mounted so that capabilities of files are void
        self.addCleanup(made.cleanup)
        self.folder = made.name
        os.chmod(self.folder, 0o755)
        self.plain = self.copy("plain")  # the build's folder need not be open to others
        self.secret = f"{self.folder}/secret"
        with open(self.secret, "w", encoding="ascii") as file:
            file.write("main;very;secret 12\n")
        os.chmod(self.secret, 0o600)


    def copy(self, name):
        path = f"{self.folder}/{name}"
        shutil.copy(OVERDUE, path)
        os.chmod(path, 0o755)
        return path


class OfTheFile(Rights):
    """As the hint of setcap(8) makes it, but for the mode that keeps others out."""

    def setUp(self):
        super().setUp()
        self.program = self.copy("overdue")
        given = run([tool("setcap"), CAPABILITIES, self.program])
        if given.status != 0:
            self.skipTest(f"no capabilities of files here: {given.err.strip()}")

    def test_flame_reads_nothing_that_the_user_may_not_read(self):
        finished = run([*NOBODY, self.program, "flame", self.secret])
        self.assertNotEqual(finished.status, 0, finished)
        self.assertNotIn("secret", finished.out)

    def test_report_reads_nothing_that_the_user_may_not_read(self):
        recording = f"{self.folder}/x.odt"
        self.assertEqual(overdue("record", "-o", recording, "--", tool("true")).status, 0)
        for mode, status in ((0o600, 1), (0o644, 0)):
            os.chmod(recording, mode)
            finished = run([*NOBODY, self.program, "report", recording])
            self.assertEqual(finished.status, status, finished)

    def test_the_hint_keeps_others_out_first(self):
        finished = run([*NOBODY, self.plain, "syscalls", "-a", "-d", "100ms"])
        self.assertNotEqual(finished.status, 0, finished)
        steps = [finished.err.find(step) for step in ("chgrp", "chmod 750", "setcap cap_bpf")]
        self.assertNotIn(-1, steps, finished)
        self.assertEqual(steps, sorted(steps), "each step would undo the one before, or come too late")


class OfRoot(Rights):
    def test_through_sudo_a_reader_is_the_caller(self):
        environment = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
        finished = overdue("flame", self.secret, env=environment)
        self.assertNotEqual(finished.status, 0, finished)
        self.assertNotIn("secret", finished.out)
        os.chown(self.secret, 65534, 65534)
        self.assertEqual(overdue("flame", self.secret, env=environment).status, 0)

    def test_a_reader_holds_what_opens_files_and_nothing_else(self):
        """The rights are looked at while it waits for its input."""
        fifo = f"{self.folder}/fifo"
        os.mkfifo(fifo)
        with Live(OVERDUE, "flame", fifo) as live:
            def sets():
                with open(f"/proc/{live.pid}/status", encoding="ascii") as file:
                    found = dict(re.findall(r"^(Cap\w+):\t(\w+)$", file.read(), re.MULTILINE))
                return found if int(found["CapBnd"], 16) == 0b110 else None
            found = eventually(sets, 10, "it keeps its rights")
            for name in ("CapPrm", "CapEff"):
                self.assertEqual(int(found[name], 16), 0b110, found)
            self.assertEqual(int(found["CapInh"], 16) | int(found["CapAmb"], 16), 0, found)
            with open(fifo, "w", encoding="ascii") as file:
                file.write("main;leaf 1\n")
            self.assertEqual(live.finish().status, 0)

    def test_commands_without_rights_work_without_any(self):
        for command in WITHOUT_RIGHTS[2:]:
            with self.subTest(command=command):
                as_root, as_nobody = overdue(*command), run([*NOBODY, self.plain, *command])
                self.assertEqual((as_root.status, as_root.out), (as_nobody.status, as_nobody.out))
                self.assertEqual(as_root.status, 0, as_root)


if __name__ == "__main__":
    main()
