#!/usr/bin/python3
"""Threads of Java have the names that the program gave them, of which the kernel keeps 15 bytes."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, Live, eventually, main, overdue, require_root, tool

LONG = ["AsyncAppender-Worker-ApplicationLog-0123456", "dw-41 - POST /orders", "dw-42 - GET /orders/42/items",
        "Größe-der-Warteschlange", "очередь-заказов-и-платежей", "exactly15bytes_", "short"]
# Threads that sleep 20 ms, again and again, while the main thread makes garbage and has it collected
# some twenty times a second: the collector moves the names.
WORK = """\
public class Work {
  public static void main(String[] names) throws Exception {
    for (String name : names) {
      Thread thread = new Thread(() -> {
        try { while (true) Thread.sleep(20); } catch (InterruptedException end) { }
      }, name);
      thread.setDaemon(true);
      thread.start();
    }
    System.out.println("ready");
    Object[] kept = new Object[1000];
    for (long i = 0; i < Long.MAX_VALUE; ++i) {
      kept[(int) (i % kept.length)] = new byte[1 << 14];
      if (i % 500 == 0) { System.gc(); Thread.sleep(40); }
    }
  }
}
"""


class JavaNames(unittest.TestCase):
    options = ["-Xmx64m"]

    def setUp(self):
        require_root()
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = made.name
        with open(f"{self.folder}/Work.java", "w", encoding="utf-8") as file:
            file.write(WORK)

    def start(self, *before, options=(), source="Work.java"):
        """Starts the program, and waits until it runs. `before`: words before that of java."""
        program = subprocess.Popen([*before, tool("java"), *self.options, *options, f"{self.folder}/{source}", *LONG],
                                   stdout=subprocess.PIPE, env={**os.environ, "LC_ALL": "C.UTF-8"})
        self.addCleanup(program.stdout.close)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), b"ready\n")
        return program

    def names_of(self, pid, *options):
        return self.names_in("offcpu", "-p", str(pid), "-d", "2s", *options)

    def names_in(self, *command):
        finished = overdue(*command, "-f", "json", "-o", f"{self.folder}/report")
        self.assertEqual(finished.status, 0, finished)
        with open(f"{self.folder}/report", encoding="utf-8") as file:
            return [row["comm"] for row in json.load(file)["threads"]]

    def assert_whole(self, names):
        for name in LONG:
            self.assertIn(name, names)

    def test_of_a_running_program(self):
        program = self.start()
        names = self.names_of(program.pid, "--save", f"{self.folder}/x.odt")
        self.assert_whole(names)
        # Every other name is the kernel's, or begins with it.
        comms = [file.read_text(encoding="utf-8")[:-1]
                 for file in pathlib.Path(f"/proc/{program.pid}/task").glob("*/comm")]
        for name in names:
            self.assertTrue(any(name.startswith(comm) for comm in comms), (name, comms))
        self.assertEqual(self.names_in("report", f"{self.folder}/x.odt"), names)

    def test_of_other_collectors_and_wide_references(self):
        for options in (["-XX:+UseSerialGC"], ["-XX:+UseParallelGC"], ["-XX:-UseCompressedOops"],
                        ["-XX:-UseCompressedClassPointers"], ["-XX:-CompactStrings"]):
            with self.subTest(options=options):
                self.assert_whole(self.names_of(self.start(options=options).pid))

    def test_in_a_pid_namespace(self):
        self.start(tool("unshare"), "--pid", "--fork", "--kill-child", "--")
        finished = subprocess.run(["pgrep", "-f", f"java .*{self.folder}/Work.java"], capture_output=True, check=True)
        pids = [pid for pid in finished.stdout.decode().split()
                if os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "java"]
        self.assert_whole(self.names_of(pids[0]))

    def test_of_a_started_program(self):
        """The virtual machine is not there when the session begins."""
        names = {name for name in LONG if len(name) > 15}
        command = ["stalls", "-T", "10ms", "--idle", "--first", "0", "-f", "ndjson", "-o", f"{self.folder}/report"]
        with Live(OVERDUE, *command, "--", tool("java"), *self.options, f"{self.folder}/Work.java", *LONG) as live:
            eventually(lambda: names <= self.late_threads(), 60, "names are missing", pause=0.5)
            live.signal(signal.SIGINT)
            live.finish()

    def late_threads(self):
        """Those of the report, whose last line may not be written yet."""
        report = pathlib.Path(f"{self.folder}/report")
        lines = report.read_bytes().split(b"\n")[:-1] if report.exists() else []
        return {line["comm"] for line in map(json.loads, lines) if line["type"] == "stall"}

    def test_a_new_name_with_the_same_begin(self):
        """As the handlers of a server, which have the name of their request."""
        with open(f"{self.folder}/Renamed.java", "w", encoding="utf-8") as file:
            file.write('public class Renamed { public static void main(String[] a) throws Exception {'
                       ' for (int i = 0; ; ++i) {'
                       ' Thread.currentThread().setName("handler - GET /orders/" + (i < 1000 ? "first" : "second"));'
                       ' if (i == 0) System.out.println("ready");'
                       ' Thread.sleep(1); } } }')
        names = self.names_in("offcpu", "-p", str(self.start(source="Renamed.java").pid), "-d", "5s")
        self.assertIn("handler - GET /orders/second", names)
        self.assertNotIn("handler - GET /orders/first", names)

    def test_in_why(self):
        program = self.start()
        finished = overdue("why", "-p", str(program.pid), "-d", "3s", "-f", "json", "-o", f"{self.folder}/report")
        self.assertEqual(finished.status, 0, finished)
        with open(f"{self.folder}/report", encoding="utf-8") as file:
            groups = {group["name"] for group in json.load(file)["groups"]}
        self.assertTrue({"AsyncAppender-Worker-ApplicationLog-*", LONG[0]} & groups, groups)

    def test_the_machine_is_not_stopped(self):
        """Safepoints come as often as without Overdue: reading makes none."""
        log = f"{self.folder}/safepoints"
        program = self.start(options=[f"-Xlog:safepoint:file={log}"])
        self.names_of(program.pid)
        time.sleep(0.2)
        with open(log, encoding="utf-8") as file:
            causes = set(re.findall(r'Safepoint "(\w+)"', file.read()))
        self.assertTrue(causes, "the log is empty")
        for cause in causes:
            self.assertRegex(cause, r"^(G1\w*|Cleanup|GenCollect\w*|ICBufferFull|\w*Deopt\w*|Halt|Exit)$")


if __name__ == "__main__":
    main()
