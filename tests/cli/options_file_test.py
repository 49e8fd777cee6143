#!/usr/bin/python3
"""`--options FILE`: the file's options count as if the command line had them, and a mistake has its line."""
import json
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import FolderTest, main, overdue, run, tool

COMMANDS = ("ctl", "demo", "doctor", "flame", "help", "offcpu", "osnoise", "probes", "profile", "record", "report", "schema",
            "spans", "stalls", "syscalls", "timerlat", "top", "why", "worst")
CALLER = 65534  # a user without rights


class OptionsFromAFile(FolderTest):
    def setUp(self):
        super().setUp()
        self.path = f"{self.folder}/my.options"

    def write(self, text):
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(text)

    def measured(self, *arguments, **options):
        finished = overdue(*arguments, **options)
        self.assertEqual(finished.status, 0, finished)
        return json.loads(finished.out)

    def refused(self, *arguments, status=2, **options):
        finished = overdue(*arguments, "--options", self.path, **options)
        self.assertEqual(finished.status, status, finished)
        self.assertEqual(finished.out, "")
        return finished.err

    def test_options_of_the_file_count_as_those_of_the_command_line(self):
        self.write(f"# a run\nformat = json\nstdout\nonly openat,read\noutput \"{self.folder}/the report\"\n")
        finished = overdue("syscalls", "--options", self.path, "--", tool("cat"), "/dev/null")
        self.assertEqual((finished.status, finished.out, finished.err), (0, "", ""), finished)
        with open(f"{self.folder}/the report", encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual({row["name"] for row in report["syscalls"]}, {"openat", "read"})

    def test_the_command_line_has_precedence(self):
        self.write("format json\nstdout\nonly openat\nall\nduration 1h\n")
        for words in (("-e", "read", "-d", "10s"), ("--only=read", "-d10s")):
            report = self.measured("syscalls", "--options", self.path, *words, "--", tool("cat"), "/dev/null")
            self.assertEqual({row["name"] for row in report["syscalls"]}, {"read"})
            self.assertEqual(report["target"]["kind"], "command")  # not all
            self.assertLess(report["duration_ns"], 60e9)

    def test_without_a_command(self):
        self.write("duration 100ms\nformat json\npid 1\n")
        report = self.measured("--options", self.path)
        self.assertEqual((report["command"], report["target"]["kind"]), ("why", "pid"))

    def test_every_command_takes_a_file(self):
        self.write("no-such-option\n")
        for command in COMMANDS:
            with self.subTest(command=command):
                message, hint = self.refused(command).splitlines()
                self.assertEqual(message, f"overdue: {self.path}:1: unknown option 'no-such-option'")
                self.assertEqual(hint, f"hint: overdue {command} --help")
                self.assertIn("--options FILE", overdue(command, "--help").out)

    def test_a_mistake_has_its_line_and_a_hint(self):
        cases = (  # command, text, message, hint
            ("offcpu", "\nall\nduraton 10s", "3: unknown option 'duraton'", r"did you mean duration\?"),
            ("offcpu", "d 10s", "1: unknown option 'd'", "long names only: duration"),
            ("offcpu", "all\nduration", "2: 'duration' needs a value", "duration TIME"),
            ("offcpu", "all yes", "1: 'all' takes no value: 'yes'", "write all alone; .*"),
            ("offcpu", "all\nduration 10 # s", "2: bad time '10 # s' for --duration.*", ".+"),
            ("profile", "all\nfrequency 1000", r"2: .*--frequency.*1000.*", ".+"),
            ("syscalls", "all\nonly raed", "2: only: .*'raed'.*", ".+"),
            ("offcpu", "waker\nall", "1: --waker is for drawings: .*", ".+"),
        )
        for command, text, message, hint in cases:
            with self.subTest(text=text):
                self.write(text)
                lines = self.refused(command).splitlines()
                self.assertEqual(len(lines), 2, lines)
                self.assertRegex(lines[0], rf"^overdue: {re.escape(self.path)}:{message}$")
                self.assertRegex(lines[1], rf"^hint: {hint}$")

    def test_options_that_exclude_each_other_name_the_file(self):
        self.write("pid 1\nall\n")
        self.assertRegex(self.refused("offcpu"), rf"several targets.*\nhint: the options in {re.escape(self.path)} count too\n")

    def test_before_a_program_the_status_stays_2(self):
        self.write("duraton 10s\n")
        finished = overdue("offcpu", "--options", self.path, "--", "true")
        self.assertEqual((finished.status, finished.out), (2, ""), finished)

    def test_no_file_is_read_unasked(self):
        home = f"{self.folder}/home"
        os.makedirs(f"{home}/.config/overdue")
        names = (".overduerc", ".overdue", ".config/overdue/options", "overdue.options", "config.ini", "overdue.toml")
        for name in names:
            with open(f"{home}/{name}", "w", encoding="utf-8") as file:
                file.write("no-such-option\n")
        trace = f"{self.folder}/opens"
        # A program under strace cannot look for leaks.
        finished = run([tool("strace"), "-f", "-o", trace, "-e", "trace=file", os.environ["OVERDUE"], "syscalls",
                        "--only", "raed", "-a"],
                       cwd=home, env={**os.environ, "HOME": home, "XDG_CONFIG_HOME": f"{home}/.config",
                                      "ASAN_OPTIONS": "detect_leaks=0"})
        self.assertEqual(finished.status, 2, finished)
        with open(trace, encoding="latin-1") as file:
            calls = file.read()
        self.assertIn("execve", calls)
        for name in names:
            self.assertNotIn(f"/{name}\"", calls)
            self.assertNotIn(f"\"{name}\"", calls)

    def test_the_file_is_opened_with_the_rights_of_the_user_who_called_sudo(self):
        self.write("no-such-option\n")
        os.chmod(self.path, 0o600)
        sudo = {**os.environ, "SUDO_UID": str(CALLER), "SUDO_GID": str(CALLER)}
        for command in ("offcpu", "flame", "ctl"):  # measuring, caller's rights, owner's rights
            with self.subTest(command=command):
                message = self.refused(command, env=sudo)
                self.assertRegex(message, r"cannot read the options in .*: Permission denied")
                self.assertNotIn("no-such-option", message)
        os.chown(self.path, CALLER, CALLER)
        for command in ("offcpu", "flame", "ctl"):
            with self.subTest(command=command):
                self.assertIn(":1: unknown option", self.refused(command, env=sudo))

    def test_files_that_are_no_options(self):
        with open(self.path, "wb") as file:
            file.write(b"\x7fELF\0\0\x1b[31m\n")
        self.assertRegex(self.refused("offcpu"), ":1: this is not text")
        with open(self.path, "wb") as file:
            file.write(b"#" * (64 << 10) + b"\n")
        self.assertIn("longer than 64 KiB", self.refused("offcpu"))
        os.remove(self.path)
        self.assertIn("No such file", self.refused("offcpu"))
        os.mkfifo(self.path)  # would block a reader for ever
        self.assertIn("no regular file", self.refused("offcpu", timeout=10))
        self.assertIn("--options", overdue("offcpu", "--options").err)


if __name__ == "__main__":
    main()
