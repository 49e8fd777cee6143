#!/usr/bin/python3
"""An attacker's file system that never answers: files mapped from it do not hold up Overdue."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, SLOWER, Live, attached, main, require_root, run, tool, workload

SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "silent_fs.py")


class Silent(unittest.TestCase):
    """A program that runs from the file system, and naps 20 ms at a time."""

    def setUp(self):
        require_root()
        if not os.path.exists("/dev/fuse"):
            self.skipTest("no /dev/fuse here")
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.folder = f"{made.name}/fs"
        os.mkdir(self.folder)
        command = [tool("python3"), SERVER, self.folder, workload("nanosleep_loop")]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.addCleanup(self.end_server)
        said = self.server.stdout.readline().decode().strip()
        if said != "mounted":
            self.skipTest(f"no FUSE here: {said}")
        self.program = subprocess.Popen([f"{self.folder}/prog", "1000000", "20000000"], stdout=subprocess.DEVNULL)
        self.addCleanup(self.end_program)
        time.sleep(0.5)

    def end_program(self):
        self.program.kill()
        self.program.wait()

    def end_server(self):
        run([tool("umount"), "--lazy", self.folder])
        self.server.kill()
        self.server.wait()
        self.server.stdin.close()
        self.server.stdout.close()

    def be_silent(self):
        self.server.stdin.write(b"!")
        self.server.stdin.flush()
        self.assertEqual(self.server.stdout.readline(), b"silent\n")

    def test_a_measurement_ends_when_it_shall(self):
        self.be_silent()
        for command in (("stalls", "-T", "10ms", "--idle", "-f", "ndjson"), ("syscalls", "--by", "caller", "-f", "ndjson"),
                        ("worst", "wakeup", "-f", "ndjson")):
            with self.subTest(command=command):
                begin = time.monotonic()
                finished = run([OVERDUE, *command, "-d", "1s", "-p", str(self.program.pid)], timeout=15)
                self.assertEqual(finished.status, 0, finished)
                self.assertLess(time.monotonic() - begin, 6 * SLOWER)
                if command[0] == "stalls":
                    lines = [json.loads(line) for line in finished.out.splitlines()]
                    self.assertGreater(sum(line["type"] == "stall" for line in lines), 10)
                    notes = next(line["notes"] for line in lines if line["type"] == "report")
                    self.assertTrue([note for note in notes if "FUSE" in note], notes)

    def test_the_first_signal_ends_it(self):
        self.be_silent()
        with attached("stalls", "-T", "10ms", "-p", self.program.pid, settle=1) as live:
            live.signal(signal.SIGINT)
            self.assertEqual(live.finish(5).status, 0)

    def test_one_that_is_taken_away(self):
        """No list of mounts has the file system any more, but its mapped files stay mapped."""
        run([tool("umount"), "--lazy", self.folder])
        self.be_silent()
        with attached("stalls", "-T", "10ms", "-p", self.program.pid, settle=1) as live:
            live.signal(signal.SIGINT)
            finished = live.finish(5)
            self.assertEqual(finished.status, 0)
            self.assertIn("FUSE", finished.out)

    def test_a_map_of_made_code_there(self):
        """The file system is /tmp of an attacker's container."""
        script = f'mount --bind {self.folder} /tmp && exec "$0" 1000000 20000000'
        with Live(tool("unshare"), "--mount", "sh", "-c", script, workload("nanosleep_loop")) as inside:
            time.sleep(0.5)
            self.be_silent()
            with attached("stalls", "-T", "10ms", "-p", inside.pid, settle=1) as live:
                live.signal(signal.SIGINT)
                self.assertEqual(live.finish(5).status, 0)


if __name__ == "__main__":
    main()
