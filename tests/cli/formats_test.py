#!/usr/bin/python3
"""All formats show the same figures of a run, and the figures agree with other clocks."""
import json
import os
import re
import sys
import tempfile
import unittest
import xml.etree.ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import (main, overdue, read_ndjson, require_root, row_of, run,
                          syscalls_report, table_of, tool, workload)

NUMBERS = ("calls", "errors", "total_ns", "min_ns", "avg_ns", "p50_ns", "p95_ns", "p99_ns", "max_ns",
           "stddev_ns")
XHTML = "{http://www.w3.org/1999/xhtml}"


class RootTest(unittest.TestCase):
    def setUp(self):
        require_root()


def says(text, ns):
    """Whether this printed time is `ns`, to three significant digits, with halves either way."""
    found = re.fullmatch(r"~?([\d.]+)(ns|us|ms|s)", text)
    if not found:
        return False
    scale = {"ns": 1, "us": 1e3, "ms": 1e6, "s": 1e9}[found[2]]
    step = 10.0 ** -len(found[1].partition(".")[2])
    digits = len(found[1].replace(".", ""))
    return abs(float(found[1]) - ns / scale) <= step / 2 + 1e-9 and (digits == 3 or scale == 1)


class Formats(RootTest):
    """One recording, so that all formats show the same run."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        if os.geteuid() == 0:
            cls.file = os.path.join(cls.folder.name, "x.odt")
            overdue("record", "-q", "-o", cls.file, "--", "sh", "-c",
                    f"{workload('errors')}; {workload('named_threads')} 3 200; ls /; :")

    def report(self, form, *options):
        finished = overdue("report", self.file, "-f", form, *options)
        self.assertEqual(finished.status, 0, finished)
        return finished.out

    def test_csv_and_ndjson_say_what_json_says(self):
        for keys in ("syscall", "process", "thread", "process,thread,container", "name,cgroup"):
            report = json.loads(self.report("json", "--by", keys))
            lines = [json.loads(line) for line in self.report("ndjson", "--by", keys).splitlines()]
            table = next(line for line in lines if line["type"] == "report")
            self.assertEqual(table["syscalls"], report["syscalls"])
            receipt = dict(lines[-1])
            self.assertEqual(receipt.pop("type"), "receipt")
            self.assertEqual(receipt, report["receipt"])
            rows = table_of(self.report("csv", "--by", keys))
            self.assertEqual(len(rows), len(report["syscalls"]))
            for row, expected in zip(rows, report["syscalls"]):
                self.assertEqual(row["name"], expected["name"])
                for key in NUMBERS:
                    self.assertEqual(int(row[key]), expected[key], (key, row))
                if "thread" in keys:
                    self.assertEqual(int(row["tid"]), expected["thread"]["tid"])

    def test_every_number_of_the_table_is_in_the_json(self):
        report = json.loads(self.report("json"))
        text = self.report("text")
        wall = report.get("wall_ns", report["duration_ns"])
        for row in report["syscalls"]:
            line = re.search(rf"^{re.escape(row['name'])}\*? +(.*)$", text, re.MULTILINE)
            self.assertTrue(line, f"{row['name']} is not in {text}")
            cells = line[1].split()
            self.assertEqual(cells[:2], [f"{row['calls']:,}", f"{row['errors']:,}"], line[0])
            if row["calls"] == row["unreturned"]:
                self.assertEqual(cells[2:9], ["-"] * 7, line[0])
                continue
            for cell, key in zip(cells[2:8], ("total_ns", "avg_ns", "p50_ns", "p95_ns", "p99_ns",
                                              "max_ns")):
                self.assertTrue(says(cell, row[key]), (line[0], key, row[key]))
            self.assertAlmostEqual(float(cells[8]), 100.0 * row["total_ns"] / wall, delta=0.051)
        self.assertIn(f"{report['receipt']['events']:,} event", text)
        for row in report["syscalls"]:
            for name in row["errnos"]:
                self.assertIn(name, text)

    def test_text_has_no_escapes_without_a_terminal(self):
        self.assertNotIn("\x1b", self.report("text"))
        self.assertIn("\x1b", self.report("text", "--color", "always"))
        self.assertNotIn("\x1b", self.report("text", "--color", "never"))

    def test_json_is_valid_by_our_schema(self):
        python = tool("/usr/bin/python3")
        if run([python, "-c", "import jsonschema"]).status != 0:
            self.skipTest("python3-jsonschema is not installed")
        schema = os.path.join(self.folder.name, "schema.json")
        with open(schema, "w", encoding="utf-8") as file:
            file.write(overdue("schema").utf8)
        documents = [json.loads(self.report("json", "--by", keys)) for keys in
                     ("syscall", "process", "thread,container", "name,cgroup")]
        documents.append(json.loads(self.report("json", "--discover")))
        for options in ([], ["--calls"]):
            documents += map(json.loads, self.report("ndjson", *options).splitlines())
        path = os.path.join(self.folder.name, "i.ndjson")
        overdue("syscalls", "-i", "100ms", "-f", "ndjson", "-o", path, "--",
                workload("getppid_loop"), "1s")
        documents += read_ndjson(path)
        documents.append(syscalls_report("-d", "300ms", "--", workload("block_forever"), 1, 1)[0])
        for options in (["-T", "1"], ["--hist", "-d", "200ms"]):
            documents.append(json.loads(overdue("timerlat", "-f", "json", *options).out))
        for options in (["-i", "100ms"], ["--trace"]):
            lines = overdue("timerlat", "-f", "ndjson", "-d", "200ms", *options).out
            documents += map(json.loads, lines.splitlines())
            lines = overdue("osnoise", "-p", "50ms", "-f", "ndjson", "-d", "200ms", *options).out
            documents += map(json.loads, lines.splitlines())
        hwlat = ["worst", "hwlat", "--window", "50ms", "--width", "40ms", "-T", "1us", "-d", "300ms"]
        documents.append(json.loads(overdue(*hwlat, "-f", "json").out))
        documents += map(json.loads, overdue(*hwlat, "-f", "ndjson").out.splitlines())
        for options in (["-s", "1"], ["-S", "1"], ["--hist", "-d", "200ms"]):
            documents.append(json.loads(overdue("osnoise", "-p", "50ms", "-f", "json", *options).out))
        file_of_documents = os.path.join(self.folder.name, "documents")
        with open(file_of_documents, "w", encoding="utf-8") as file:
            json.dump(documents, file)
        check = ("import json, sys, jsonschema\n"
                 "schema = json.load(open(sys.argv[1]))\n"
                 "kind = jsonschema.validators.validator_for(schema)\n"
                 "kind.check_schema(schema)\n"
                 "judge = kind(schema)\n"
                 "for one in json.load(open(sys.argv[2])):\n"
                 "    judge.validate(one)\n"
                 "for wrong in ({}, {'type': 'call'}, {'overdue': 1}):\n"
                 "    assert not judge.is_valid(wrong), wrong\n")
        finished = run([python, "-W", "ignore", "-c", check, schema, file_of_documents])
        self.assertEqual(finished.status, 0, finished.err[-2500:])

    def test_a_page_says_what_json_says(self):
        report = json.loads(self.report("json"))
        # A page is XHTML too: a parser finds each mistake.
        page = xml.etree.ElementTree.fromstring(self.report("html").encode("latin-1"))
        rows = [{cell.get("data-label"): cell for cell in row.iter(XHTML + "td")} for row in page.iter(XHTML + "tbody")]
        self.assertEqual([row["name"].text for row in rows if "total" in row],
                         [row["name"] for row in report["syscalls"]])
        for row, expected in zip(rows, report["syscalls"]):
            for label, key in (("calls", "calls"), ("total", "total_ns"), ("p99", "p99_ns"), ("max", "max_ns")):
                self.assertEqual(int(row[label].get("data-value")), expected[key], (label, expected))
            self.assertTrue(says(row["total"].text, expected["total_ns"]), row["total"].text)

    def test_a_page_has_no_place_for_a_stream(self):
        for arguments in (["report", self.file, "--calls"], ["syscalls", "--calls", "--", "true"],
                          ["timerlat", "--trace", "-d", "10ms"], ["osnoise", "--trace", "-d", "10ms"]):
            finished = overdue(arguments[0], "-f", "html", *arguments[1:])
            self.assertEqual(finished.status, 2, finished)
            self.assertIn("a page has no place for a stream", finished.err)

    def test_unknown_format(self):
        finished = overdue("report", self.file, "-f", "jsn")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("json", finished.err)


class Accuracy(RootTest):
    def test_nanosleep(self):
        """S1-05: at least the requested time, at most the time that the program measured."""
        report, finished = syscalls_report("--", workload("nanosleep_loop"), 300, 1000000)
        around, shortest, longest = map(int, finished.out.split())
        row = row_of(report, "nanosleep")
        self.assertEqual(row["calls"], 300)
        self.assertGreaterEqual(row["min_ns"], 1_000_000)
        self.assertLessEqual(row["min_ns"], shortest)
        self.assertLessEqual(row["max_ns"], longest)
        self.assertLessEqual(row["total_ns"], around)

    def test_no_call_is_longer_than_under_strace(self):
        """S1-19, by medians: an interrupt can hit a single call under either tool."""
        command = [workload("open_read_close"), "2000"]
        report, _ = syscalls_report("--", *command)
        with tempfile.TemporaryDirectory() as folder:
            run([tool("strace"), "-T", "-o", f"{folder}/log", *command], timeout=60)
            with open(f"{folder}/log", encoding="latin-1") as file:
                text = file.read()
        for name in ("openat", "read", "close"):
            times = sorted(float(value) for value in
                           re.findall(rf"^{name}\(.* <([\d.]+)>$", text, re.MULTILINE))
            self.assertGreater(len(times), 1900)
            self.assertLessEqual(row_of(report, name)["p50_ns"], times[len(times) // 2] * 1e9, name)

    def test_blocking_is_counted_where_it_happens(self):
        # The child does not sleep before its parent waits for it, however late that is.
        script = ('(state=; until [ "$state" = S ]; do read -r pid name state rest </proc/$$/stat; done; '
                  'exec sleep 0.3); :')
        report, _ = syscalls_report("--by", "thread", "--", tool("sh"), "-c", script)
        row = next(row for row in report["syscalls"] if row["name"] == "clock_nanosleep")
        self.assertGreaterEqual(row["total_ns"], 300_000_000)
        waits = [row for row in report["syscalls"] if row["name"] == "wait4" and
                 row["max_ns"] >= 300_000_000]
        self.assertEqual(len(waits), 1)


if __name__ == "__main__":
    main()
