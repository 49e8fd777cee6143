"""What tests of ready-made spans share: servers are measured while their clients ask."""
import contextlib
import json
import signal
import socket

from overdue_test import FolderTest, attached, overdue, read_ndjson, require_root

MS = 1_000_000
HIDDEN = 2  # switches and calls that this kernel may hide


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def rows_of(report):
    """The rows of user spans by name; {} if there are none."""
    return {row["name"]: row for row in report["spans"] if row["span"] == "pair"}


class Case(FolderTest):
    def setUp(self):
        super().setUp()
        require_root()

    @contextlib.contextmanager
    def measured(self, names, *target):
        """Measures during the block; the list that the block gets then has the report."""
        path = f"{self.folder}/report.json"
        reports = []
        with attached("spans", "-f", "json", "-o", path, "--span", names, *target) as live:
            yield reports
            live.signal(signal.SIGINT)
            finished = live.finish()
            self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            reports.append(json.load(file))

    def findings(self, *arguments):
        """Findings of `overdue stalls` with a program."""
        path = f"{self.folder}/stalls.ndjson"
        finished = overdue("stalls", "-f", "ndjson", "-o", path, *arguments)
        self.assertEqual(finished.status, 0, finished)
        return [line for line in read_ndjson(path) if line["type"] == "stall"]

    def ledgers_of(self, findings):
        """The parts of each finding, which add up; the kernel may hide a switch of a few."""
        known = [one for one in findings if "breakdown" in one]
        self.assertGreaterEqual(len(known), len(findings) - HIDDEN)
        for finding in known:
            self.assertEqual(sum(finding["breakdown"].values()), finding["latency_ns"])
        return [(finding, finding["breakdown"]) for finding in known]

    def assert_within(self, row, seen_ns):
        """Each span lies within what the client measured, one time for each of its requests."""
        self.assertGreater(row["min_ns"], 0)
        self.assertLessEqual(row["total_ns"], sum(seen_ns))
        self.assertLessEqual(row["max_ns"], max(seen_ns))
