#!/usr/bin/python3
"""`overdue offcpu --correlate net`: a slow receiver on loopback, against its own account."""
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, overdue, read_ndjson, require_root, tool

MS = 1_000_000
SIZE, SENT = 1000, 2000
# Sends to itself more than its socket takes, sleeps, reads the rest, and prints how much that was.
SLOW = f"""\
import socket, time
receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200_000)
receiver.bind(("127.0.0.1", 0))
time.sleep(0.3)
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range({SENT}):
    sender.sendto(b"x" * {SIZE}, receiver.getsockname())
time.sleep(1)
receiver.setblocking(False)
read = 0
try:
    while receiver.recv(65536):
        read += 1
except BlockingIOError:
    pass
time.sleep(0.5)
print(receiver.getsockname()[1], read)
"""


class Sockets(unittest.TestCase):
    def setUp(self):
        require_root()
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.out, self.recording = f"{made.name}/report", f"{made.name}/x.odt"

    def measure(self, *options):
        finished = overdue("offcpu", "--correlate", "net", "-o", self.out, "--save", self.recording, *options, "--",
                           sys.executable, "-c", SLOW)
        self.assertEqual(finished.status, 0, finished)
        port, read = map(int, finished.out.split())
        with open(self.out, encoding="utf-8") as file:
            return file.read(), f"udp 127.0.0.1:{port}", read

    def test_the_queue_and_the_drops_are_those_of_the_program(self):
        text, name, read = self.measure("-f", "json")
        report = json.loads(text)
        [socket] = [one for one in report["net"]["sockets"] if one["socket"] == name]
        self.assertEqual(socket["drops"], SENT - read, socket)
        self.assertGreater(SENT - read, 0)
        # The kernel's figure has more than the payload: the memory of each packet.
        self.assertGreaterEqual(socket["receive"]["peak_bytes"], read * SIZE)
        self.assertEqual(socket["receive"]["bytes"], 0)
        # The program was not late: it slept.
        self.assertGreaterEqual(socket["blocked_ns"], 1500 * MS)
        self.assertLess(socket["runnable_ns"], socket["blocked_ns"])
        self.assertNotIn("correlation", socket)
        replayed = overdue("report", self.recording, "-f", "json")
        self.assertEqual(json.loads(replayed.out)["net"], report["net"])

    def test_each_interval_has_its_own(self):
        text, name, read = self.measure("-f", "ndjson", "-i", "200ms")
        del text
        lines = read_ndjson(self.out)
        intervals = [line for line in lines if line["type"] == "interval"]
        self.assertGreater(len(intervals), 3)
        drops = [one["drops"] for line in intervals for one in line["net"]["sockets"] if one["socket"] == name]
        total = next(line for line in lines if line["type"] == "report")
        [socket] = [one for one in total["net"]["sockets"] if one["socket"] == name]
        self.assertEqual(socket["drops"], SENT - read)
        self.assertLessEqual(sum(drops), socket["drops"])
        peaks = [one["receive"]["peak_bytes"] for line in intervals for one in line["net"]["sockets"]
                 if one["socket"] == name]
        self.assertEqual(max(peaks), socket["receive"]["peak_bytes"])
        self.assertIn(0, peaks)  # before the packets came

    def test_text(self):
        text, name, read = self.measure("-i", "500ms")
        self.assertRegex(text, rf"(?m)^ +- +\S+ KB +- +- +{SENT - read:,}  {name} of python\S*\[\d+\]\n    meanwhile .* waiting for a CPU$")
        self.assertIn("before any socket: ", text)
        text, name, read = self.measure("--max", "-i", "500ms")
        self.assertRegex(text, rf"(?m)^[-\d]+ [:.\d]+ max receive queue of python\S* is [1-9]\d* bytes \({name}, \d+ dropped\)$")

    def test_a_program_without_sockets(self):
        finished = overdue("offcpu", "--correlate", "net", "--", tool("sleep"), "0.2")
        self.assertIn("no TCP and no UDP socket", finished.err)

    def test_what_it_refuses(self):
        for arguments, says in ((("--correlate", "disk"), "--correlate"),
                                (("--correlate", "net", "--by", "stack"), "--by stack"),
                                (("--correlate", "net", "-f", "folded"), "-f folded")):
            finished = overdue("offcpu", *arguments, "--", tool("true"))
            self.assertEqual(finished.status, 2, finished)
            self.assertIn(says, finished.err)


if __name__ == "__main__":
    main()
