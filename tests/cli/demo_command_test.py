#!/usr/bin/python3
"""`overdue demo`: the command, its options, and its documents."""
import os
import re
import shutil
import signal
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, Live, eventually, main, run, workload
from demos import DEMOS, SOURCE, events_of, demo, read


class Command(unittest.TestCase):
    """`overdue demo`, which needs no root."""

    def test_list_names_every_demo_and_a_command_for_each(self):
        listed = run([OVERDUE, "demo"])
        self.assertEqual((listed.status, listed.err), (0, ""))
        self.assertEqual(re.findall(r"^(\w+)", listed.out, re.MULTILINE), list(DEMOS))
        self.assertEqual(re.findall(r"^ +sudo overdue \w+ .*-- \$\(overdue demo --path (\w+)\)$", listed.out,
                                    re.MULTILINE), list(DEMOS))

    def test_paths(self):
        for name in DEMOS:
            for spelling in (name, f"{name}-demo"):
                finished = run([OVERDUE, "demo", "--path", spelling], env={})
                self.assertEqual(finished.status, 0, finished)
                self.assertTrue(os.path.samefile(finished.out.strip(), workload(f"{name}-demo")))

    def test_runs_it_after_a_line_that_says_what_to_type(self):
        finished = run([OVERDUE, "demo", "sleep", "--count", "2", "--max", "1ms", "--seed=9"])
        self.assertEqual(finished.status, 0, finished)
        events = events_of(finished.out)
        self.assertEqual(events[0]["seed"], 9)
        self.assertEqual(events[-1]["sleeps"], 2)
        pid = events[0]["pid"]
        self.assertRegex(finished.err, rf"^overdue: .* -p {pid}; .*\$\(overdue demo --path sleep\)\n$")

    def test_its_status_and_options_are_the_demos(self):
        finished = run([OVERDUE, "demo", "cpu", "--bogus"])
        self.assertEqual(finished.status, 2)
        self.assertIn("cpu-demo: unknown option '--bogus'", finished.err)
        finished = run([OVERDUE, "demo", "cpu", "--", "--help"])
        self.assertEqual(finished.status, 0)
        self.assertTrue(finished.out.startswith("usage: cpu-demo"), finished)

    def test_wrong_command_lines(self):
        for arguments, words in ((["slep"], "did you mean 'sleep'"), (["--path"], "which demo"), (["--"], "which demo"),
                                 (["--path", "io", "x"], "unknown argument 'x'"),
                                 (["--path", "io", "--", "x"], "unknown argument 'x'")):
            with self.subTest(arguments):
                finished = run([OVERDUE, "demo", *arguments])
                self.assertEqual(finished.status, 2, finished)
                self.assertIn(words, finished.err)

    def test_a_signal_reaches_it(self):
        with tempfile.TemporaryDirectory() as folder, \
                Live(OVERDUE, "demo", "io", "--dir", folder, "--count", 1000000, "--size", "4K", "-d", "60s") as live:
            eventually(lambda: '"fsync"' in live.out(), what="wrote nothing")
            live.signal(signal.SIGTERM)
            finished = live.finish()
            self.assertEqual(finished.status, 128 + signal.SIGTERM)
            self.assertEqual(os.listdir(folder), [])
            with self.assertRaises(ProcessLookupError):
                os.kill(events_of(finished.out)[0]["pid"], 0)

    def test_installed_and_not_installed(self):
        """Demos are found relative to overdue, never by PATH or the current folder."""
        with tempfile.TemporaryDirectory() as root:
            program = os.path.join(root, "bin", "overdue")
            os.mkdir(os.path.dirname(program))
            shutil.copy(OVERDUE, program)
            folder = os.path.dirname(workload("io-demo"))
            environment = {"PATH": folder}
            finished = run([program, "demo", "io"], env=environment, cwd=folder)
            self.assertEqual(finished.status, 127, finished)
            self.assertIn("cannot find io-demo", finished.err)
            installed = os.path.join(root, "libexec", "overdue", "io-demo")
            os.makedirs(os.path.dirname(installed))
            shutil.copy(workload("io-demo"), installed)
            finished = run([program, "demo", "--path", "io"], env=environment, cwd="/")
            self.assertEqual((finished.status, finished.out), (0, installed + "\n"), finished)


class Documents(unittest.TestCase):
    def test_every_demo_and_kind_of_line_is_described(self):
        text = read(os.path.join(SOURCE, "docs", "demos.md"))
        for name in DEMOS:
            self.assertIn(f"## {name}-demo\n", text)
            section = text.partition(f"## {name}-demo\n")[2].partition("\n## ")[0]
            slow = ("--slow", "0s") if name in ("mmap", "irq") else ()
            for event in demo(name, "-d", "200ms", *slow):
                if event["type"] == "start":
                    continue
                self.assertIn(f"`{event['type']}`", section)
                for key in event.keys() - {"type", "time_ns", "tid", "thread", "took_ns"}:
                    self.assertIn(f"`{key}`", section, event)


if __name__ == "__main__":
    main()
