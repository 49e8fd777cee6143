#!/usr/bin/python3
"""Links of the caller: `sudo overdue … -o FILE` writes only what the user behind sudo may write."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, overdue, require_root

CALLER = 65534
SUDO = {**os.environ, "SUDO_UID": str(CALLER), "SUDO_GID": str(CALLER)}
RUN = ("-d", "200ms", "-p", str(os.getpid()))


class Links(unittest.TestCase):
    """Links in a folder of the caller, next to root's files."""

    def setUp(self):
        require_root()
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        os.chmod(made.name, 0o755)
        self.precious, self.new = f"{made.name}/precious", f"{made.name}/new"
        self.folder = f"{made.name}/theirs"
        os.mkdir(self.folder)
        os.chown(self.folder, CALLER, CALLER)
        with open(self.precious, "w", encoding="ascii") as file:
            file.write("precious")

    def writes(self, name):
        """Command lines that write to the file `name`."""
        stalls = ("stalls", "-T", "1s", *RUN)
        return [("syscalls", *RUN, "-o", name), ("syscalls", *RUN, "-f", "json", "-o", name),
                ("syscalls", *RUN, "-o", f"{self.folder}/other", "--save", name), ("record", *RUN, "-o", name),
                (*stalls, "-o", name), (*stalls, "-o", f"{self.folder}/other", "--save", name),
                (*stalls, "-o", f"{self.folder}/other", "--flame", name),
                ("timerlat", "-d", "200ms", "-o", name), ("osnoise", "-d", "200ms", "-o", name),
                ("worst", "wakeup", *RUN, "-o", name)]

    def test_a_link_to_roots_file(self):
        link = f"{self.folder}/link.svg"
        os.symlink(self.precious, link)
        for command in self.writes(link):
            with self.subTest(command=command):
                finished = overdue(*command, env=SUDO)
                self.assertNotEqual(finished.status, 0, finished)
                self.assertIn(f"permission denied to user {CALLER}", finished.err)
                with open(self.precious, encoding="ascii") as file:
                    self.assertEqual(file.read(), "precious")

    def test_a_link_into_roots_folder(self):
        link = f"{self.folder}/link.svg"
        os.symlink(self.new, link)
        for command in self.writes(link):
            with self.subTest(command=command):
                finished = overdue(*command, env=SUDO)
                self.assertNotEqual(finished.status, 0, finished)
                self.assertFalse(os.path.lexists(self.new), finished)

    def test_the_name_that_record_chooses(self):
        os.symlink(self.precious, f"{self.folder}/overdue.odt")
        finished = overdue("record", *RUN, env=SUDO, cwd=self.folder)
        with open(self.precious, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious", finished)

    def test_a_hard_link(self):
        """A hard link to a file that the user may only read, as every user may."""
        os.link(self.precious, f"{self.folder}/hard")
        finished = overdue("syscalls", *RUN, "-o", f"{self.folder}/hard", env=SUDO)
        self.assertNotEqual(finished.status, 0, finished)
        with open(self.precious, encoding="ascii") as file:
            self.assertEqual(file.read(), "precious")

    def test_a_name_in_roots_folder(self):
        finished = overdue("syscalls", *RUN, "-o", self.new, env=SUDO)
        self.assertNotEqual(finished.status, 0, finished)
        self.assertFalse(os.path.lexists(self.new))

    def test_a_descriptor_of_our_own(self):
        """A descriptor that Overdue opens for itself: its signal pipe, BPF maps."""
        for number in range(3, 20):
            with self.subTest(number=number):
                finished = overdue("syscalls", "-d", "100ms", "-a", "-o", f"/dev/fd/{number}")
                self.assertEqual(finished.status, 1, finished)
                self.assertIn("Bad file descriptor", finished.err)

    def test_their_own_file_is_theirs(self):
        for command in self.writes(f"{self.folder}/out.svg"):
            with self.subTest(command=command):
                finished = overdue(*command, env=SUDO)
                self.assertEqual(finished.status, 0, finished)
                status = os.stat(f"{self.folder}/out.svg")
                self.assertEqual((status.st_uid, status.st_gid), (CALLER, CALLER))
                os.unlink(f"{self.folder}/out.svg")


if __name__ == "__main__":
    main()
