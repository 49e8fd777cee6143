#!/usr/bin/python3
"""Help: 80 columns, an example before the options, every option of the contract. No kernel needed."""
import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, overdue

COMMANDS = ("syscalls", "record", "report", "flame", "demo", "doctor", "probes", "schema")


class Help(unittest.TestCase):
    def pages(self):
        for arguments in ([], *([command] for command in COMMANDS)):
            yield arguments, overdue(*arguments, "--help")

    def test_fits_80_columns_and_goes_to_stdout(self):
        for arguments, finished in self.pages():
            with self.subTest(arguments=arguments):
                self.assertEqual(finished.status, 0, finished)
                self.assertEqual(finished.err, "")
                text = finished.utf8
                self.assertGreater(len(text), 200)
                for line in text.splitlines():
                    self.assertLessEqual(len(line), 80, line)
                self.assertNotIn("\x1b", text)
                self.assertNotRegex(text, r"\]\(options/")  # included, not linked

    def test_example_comes_before_options(self):
        for arguments, finished in self.pages():
            with self.subTest(arguments=arguments):
                example = re.search(r"^ +(sudo )?overdue ", finished.out, re.MULTILINE)
                option = re.search(r"^ *(- `)?-[-\w]", finished.out, re.MULTILINE)
                self.assertTrue(example, finished.out)
                if option:
                    self.assertLess(example.start(), option.start())

    def test_three_ways_to_the_same_page(self):
        for command in COMMANDS:
            page = overdue(command, "--help").out
            self.assertEqual(overdue(command, "-h").out, page)
            self.assertEqual(overdue("help", command).out, page)
        self.assertEqual(overdue("-h").out, overdue("--help").out)

    def test_help_names_every_command(self):
        text = overdue("--help").out
        for command in COMMANDS:
            self.assertIn(command, text)

    def test_options_of_the_contract(self):
        text = overdue("syscalls", "--help").out
        for option in ("-p", "--pid", "-t", "--tid", "-n", "--name", "-c", "--cgroup", "--container",
                       "-a", "--all", "--cpu", "--no-follow", "--user", "-d", "--duration", "-f",
                       "--format", "-o", "--output", "-i", "--interval", "--color", "-q", "-v",
                       "--stdout", "-e", "--discover", "--two-phase", "--by", "--calls", "--hist",
                       "--sort", "--top", "--save"):
            self.assertRegex(text, rf"(^|[\s,`]){re.escape(option)}\b", option)

    def test_version(self):
        self.assertRegex(overdue("--version").out, r"^overdue \d+\.\d+\.\d+\n$")
        verbose = overdue("--version", "-v").out
        for line in (r"^commit +([0-9a-f]{12}(, with changes)?|unknown)$", r"^libbpf +\d+\.\d+", r"^compiler +\w+ \d+.*Clang",
                     r"^tested on +Linux 6\.1"):
            self.assertRegex(verbose, f"(?m){line}")

    def test_version_has_the_features(self):
        verbose = overdue("--version", "-v").out
        features = re.search(r"(?m)^features +(.+)$", verbose)[1]
        names = ["top", "sandbox of symbols", "packed recordings", "packed symbols", "packed debug information", "pprof"]
        self.assertEqual(re.sub(r" \([^)]*\)", "", features).split(", "), names)
        for library in ("ncursesw", "libseccomp", "zstd", "liblzma", "zlib"):
            self.assertRegex(features, rf"\({library} \d+\.\d+")
        parts = re.search(r"(?m)^kernel parts +(.+)$", verbose)[1].split()
        doctor = json.loads(overdue("doctor", "--no-calibrate", "-f", "json").out)
        self.assertEqual(parts, [feature["name"] for feature in doctor["features"]])

    def test_help_of_an_unknown_command(self):
        finished = overdue("help", "syscals")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("syscalls", finished.err)


if __name__ == "__main__":
    main()
