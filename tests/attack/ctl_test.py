#!/usr/bin/python3
"""The user who started a session may connect to it, and cannot keep root from it."""
import os
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import NOBODY, attached, main, overdue, require_root, tool

# Opens the given number of connections, prints "connected", and sends nothing to the session.
SILENT = """
import socket, sys, time
clients = [socket.socket(socket.AF_UNIX) for _ in range(int(sys.argv[2]))]
for client in clients:
    client.connect(sys.argv[1])
print("connected", flush=True)
time.sleep(60)
"""


class SilentClients(unittest.TestCase):
    def test_root_is_heard_beside_them(self):
        require_root()
        environment = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
        with attached("stalls", "-T", "5s", "-p", os.getpid(), env=environment) as live:
            path = f"/run/overdue/{live.pid}.sock"
            command = [*NOBODY, tool("python3"), "-c", SILENT, path, "8"]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as silent:
                try:
                    self.assertEqual(silent.stdout.readline(), b"connected\n")
                    for _ in range(5):
                        self.assertEqual(overdue("ctl", "--session", live.pid, "get", timeout=3).status, 0)
                finally:
                    silent.kill()


if __name__ == "__main__":
    main()
