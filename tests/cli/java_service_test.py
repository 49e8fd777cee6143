#!/usr/bin/python3
"""Which of a Java service's threads is it? The story of the named threads, on a service of our own: its threads' CPU
time and waits, by their names, against the kernel's account of each thread."""
import collections
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, overdue, require_root, tool

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "workloads/JavaService.java"
CLIENTS, SECONDS = 4, 5
LOGGER = "AsyncAppender-Worker-async-console-appender"


class Service:
    """The service, and clients that ask for pages, each over one connection."""

    def __init__(self, folder):
        subprocess.run([tool("javac"), "-d", folder, SOURCE], check=True, timeout=120)
        self.process = subprocess.Popen([tool("java"), "-XX:+UseSerialGC", "-Xmx128m", "-cp", folder, "JavaService"],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        self.ends = threading.Event()
        self.clients = [threading.Thread(target=self.ask, args=(i,)) for i in range(CLIENTS)]
        for client in self.clients:
            client.start()
        time.sleep(2)  # most is compiled then

    def ask(self, number):
        with socket.create_connection(("127.0.0.1", self.port)) as connection, connection.makefile("rwb") as stream:
            while not self.ends.wait(0.002):
                stream.write(b"GET /orders/%d\n" % (1000 + number))
                stream.flush()
                stream.readline()

    def cpu_ticks(self):
        """CPU time of each thread by tid, in ticks."""
        ticks = {}
        for stat in pathlib.Path(f"/proc/{self.process.pid}/task").glob("*/stat"):
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(") ")[2].split()
            ticks[int(stat.parent.name)] = int(fields[11]) + int(fields[12])
        return ticks

    def close(self):
        self.ends.set()
        for client in self.clients:
            client.join()
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()


class JavaService(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        require_root()
        made = tempfile.TemporaryDirectory()
        cls.addClassCleanup(made.cleanup)
        cls.folder = made.name
        cls.service = Service(made.name)
        cls.addClassCleanup(cls.service.close)

    def report(self, *command, name="report"):
        finished = overdue(*command, "-p", str(self.service.process.pid), "-d", f"{SECONDS}s", "-o",
                           f"{self.folder}/{name}")
        self.assertEqual(finished.status, 0, finished)
        return pathlib.Path(f"{self.folder}/{name}").read_text(encoding="utf-8")

    def test_cpu_time_of_the_named_threads(self):
        before = self.service.cpu_ticks()
        folded = self.report("profile", "-F", "499", "--by", "thread", "-f", "folded")
        after = self.service.cpu_ticks()
        samples = collections.Counter()
        for line in folded.splitlines():
            stack, weight = line.rsplit(" ", 1)
            samples[re.sub(r"\d+", "*", stack.split(";")[0])] += int(weight)
        self.assertIn("dw-* - GET /orders/*", samples)
        self.assertIn(LOGGER, samples)
        total = sum(after[tid] - before.get(tid, 0) for tid in after)
        comms = {tid: pathlib.Path(f"/proc/{self.service.process.pid}/task/{tid}/comm").read_text(encoding="utf-8")[:-1]
                 for tid in after}
        for pattern, begin in (("dw-* - GET /orders/*", "dw-"), (LOGGER, "AsyncAppender")):
            share = sum(after[tid] - before.get(tid, 0) for tid in after if comms[tid].startswith(begin)) / total
            # Ticks also count while Overdue starts and ends.
            self.assertAlmostEqual(samples[pattern] / sum(samples.values()), share, delta=0.08)

    def test_waits_of_the_named_threads(self):
        report = json.loads(self.report("offcpu", "-f", "json"))
        rows = {re.sub(r"\d+", "*", row["comm"]): row for row in report["threads"]}
        self.assertIn(LOGGER, rows)
        self.assertIn("metrics-console-reporter-*-thread-*", rows)
        reporter = rows["metrics-console-reporter-*-thread-*"]
        self.assertGreater(reporter["sleeping_ns"], 0.9e9 * SECONDS)
        self.assertLessEqual(reporter["max_ns"], 0.6e9)
        folded = self.report("offcpu", "-f", "folded")
        for name in (LOGGER, "metrics-console-reporter-1-thread-1"):
            self.assertRegex(folded, rf"(?m)^{name};")

    def test_the_pool_is_one_group(self):
        groups = {group["name"]: group for group in json.loads(self.report("why", "-f", "json"))["groups"]}
        self.assertEqual(groups["dw-* - GET /orders/*"]["threads"], CLIENTS, groups.keys())
        self.assertEqual(groups[LOGGER]["threads"], 1)


if __name__ == "__main__":
    main()
