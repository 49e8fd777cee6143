#!/usr/bin/python3
"""The example in README is the program's output today: only figures may differ."""
import os
import re
import shlex
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, overdue, require_root

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
ROW = re.compile(r"\S+( +[\d,.]+(ns|us|ms|s)?){9}(  .*)?")
FIGURE = r"\b\d[\d,.:]*(ns|us|ms|s)?"


def example():
    """(The arguments of the command, the lines below it)."""
    with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
        block = re.search(r"<!-- output:begin -->\n```\n\$ sudo overdue (.*)\n([^`]*)```\n<!-- output:end -->",
                          file.read())
    return shlex.split(block[1]), block[2].splitlines()


def shape(lines):
    """The lines without figures, machine and alignment; all rows of the table become one."""
    result = []
    for line in lines:
        line = re.sub(r"^\S+, Linux \S+ \S+, \d+ CPUs?;", "HOST;", line)
        text = "ROW" if ROW.fullmatch(line) else " ".join(re.sub(FIGURE, "N", line).split())
        if text != "ROW" or result[-1] != "ROW":
            result.append(text)
    return result


class Readme(unittest.TestCase):
    def test_example(self):
        require_root()
        arguments, expected = example()
        finished = overdue(*arguments)
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(shape((finished.out + finished.err).splitlines()), shape(expected))

    def test_demo_runs_it(self):
        arguments, _ = example()
        with open(os.path.join(SOURCE, "tools", "demo"), encoding="utf-8") as file:
            script = file.read()
        self.assertIn(f"program='{arguments[-1]}'", script)
        self.assertIn(" ".join(["overdue", *arguments[:-1], ""]), script)


if __name__ == "__main__":
    main()
