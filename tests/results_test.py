#!/usr/bin/python3
"""tools/results: cases are counted once, and a second run of failed tests counts and is listed."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).resolve().parents[1] / "tools/results"
CASE = "test_a (__main__.A.test_a) ... {}\ntest_b (__main__.A.test_b) ... ok\n"


def run_of(**tests):
    """A results file: name of the test = (ctest's status, output)."""
    rows = "".join(f'<testcase name="{name}" status="{status}"><system-out>{output}</system-out></testcase>'
                   for name, (status, output) in tests.items())
    return f"<testsuite>{rows}</testsuite>"


class Results(unittest.TestCase):
    def setUp(self):
        files = tempfile.TemporaryDirectory()
        self.addCleanup(files.cleanup)
        self.build = files.name
        os.mkdir(f"{self.build}/Testing")

    def results(self, **runs):
        for name, text in runs.items():
            pathlib.Path(f"{self.build}/Testing/{name}.xml").write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, "-B", TOOL, self.build], capture_output=True, text=True, check=False)

    def test_one_run(self):
        said = self.results(results=run_of(first=("fail", CASE.format("FAIL")), other=("run", "no cases")))
        self.assertEqual(said.stdout, "2 passed, 1 failed, 0 skipped\n")

    def test_a_second_run_counts_and_is_listed(self):
        said = self.results(results=run_of(first=("fail", CASE.format("FAIL")), other=("run", "no cases")),
                            again=run_of(first=("run", CASE.format("ok"))))
        self.assertEqual(said.stdout, "Failed at first, and ran once more by themselves:\n    first: test_a\n"
                                      "3 passed, 0 failed, 0 skipped\n")

    def test_a_second_failure_is_one(self):
        said = self.results(results=run_of(first=("fail", CASE.format("FAIL"))),
                            again=run_of(first=("fail", CASE.format("FAIL"))))
        self.assertIn("1 passed, 1 failed", said.stdout)

    def test_no_run(self):
        said = self.results()
        self.assertEqual(said.returncode, 1)
        self.assertIn("has no results", said.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
