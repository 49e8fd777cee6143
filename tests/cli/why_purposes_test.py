#!/usr/bin/python3
"""`overdue why`: what real programs wait for, where a system call's name leaves that open."""
import contextlib
import json
import os
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import SLOWER, Live, eventually, main, overdue, tool
from request_case import Case, PostgresCase, RedisCase

PYTHON = tool("/usr/bin/python3"), "-I", "-S", "-c"
READY = "print('ready', flush=True)\n"


class Purposes(Case):
    def reasons(self, name, *target):
        """The reasons of the group's threads as parts of their time; its sums are exact."""
        path = f"{self.folder}/report.json"
        finished = overdue("why", "-f", "json", "-o", path, "-d", "2s", *target)
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            self.report = json.load(file)
        for group in self.report["groups"]:
            self.assertEqual(sum(group["parts"].values()), group["wall_ns"], group)
            self.assertEqual(sum(group["reasons"].values()), group["parts"]["blocked_ns"], group)
        [group] = [one for one in self.report["groups"] if one["name"] == name]
        return {reason.removesuffix("_ns"): ns / group["wall_ns"] for reason, ns in group["reasons"].items()}

    @contextlib.contextmanager
    def program(self, text, *arguments):
        with Live(*PYTHON, text, *arguments) as live:
            eventually(lambda: "ready" in live.out(), 20 * SLOWER, f"the program does not start: {live.err()}")
            yield live

    def reasons_of(self, text, *arguments):
        with self.program(text, *arguments) as live:
            return self.reasons("python3", "-p", live.pid)


class Programs(Purposes):
    def test_an_answer_over_a_connection_that_the_program_opened(self):
        """The server answers after 100 ms; an answer of a server is not work."""
        stop = threading.Event()

        def serve():
            connection = server.accept()[0]
            with contextlib.suppress(OSError):
                while not stop.is_set() and connection.recv(10):
                    time.sleep(0.1)
                    connection.sendall(b"x")
            connection.close()

        with socket.create_server(("127.0.0.1", 0)) as server:
            thread = threading.Thread(target=serve)
            thread.start()
            try:
                reasons = self.reasons_of("import socket, sys\n"
                                          "server = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n" +
                                          READY + "while True: server.sendall(b'x'); server.recv(10)",
                                          server.getsockname()[1])
            finally:
                stop.set()
                thread.join(20 * SLOWER)
        self.assertGreater(reasons["network"], 0.7, self.report)
        self.assertEqual(reasons["work"], 0, self.report)

    def test_a_server_that_accepts(self):
        reasons = self.reasons_of("import socket\nserver = socket.create_server(('127.0.0.1', 0))\n" + READY +
                                  "server.accept()")
        self.assertGreater(reasons["work"], 0.9, self.report)
        self.assertEqual(reasons["network"], 0, self.report)

    def test_a_server_that_reads_the_next_request(self):
        text = ("import socket\nserver = socket.create_server(('127.0.0.1', 0))\n"
                "print(server.getsockname()[1], 'ready', flush=True)\nserver.accept()[0].recv(1)")
        with self.program(text) as live, socket.create_connection(("127.0.0.1", int(live.out().split()[0]))):
            time.sleep(0.2)
            reasons = self.reasons("python3", "-p", live.pid)
        self.assertGreater(reasons["work"], 0.9, self.report)

    def test_a_sleep_in_a_call_for_events(self):
        reasons = self.reasons_of("import select\n" + READY + "while True: select.select([], [], [], 0.05)")
        self.assertGreater(reasons["sleep"], 0.7, self.report)

    def test_what_a_pipe_will_bring_is_not_known(self):
        """The name of the call stays."""
        reasons = self.reasons_of("import os\nreader, writer = os.pipe()\n" + READY + "os.read(reader, 1)")
        self.assertEqual(reasons["network"], 0, self.report)
        self.assertGreater(reasons["input"] + reasons["work"], 0.9, self.report)


class Redis(RedisCase, Purposes):
    def test_an_idle_event_loop(self):
        """It wakes up each 100 ms. Of 20 waits, the session cuts the first and the last, and the kernel hides one."""
        reasons = self.reasons("redis-server", "-p", self.server.pid)
        self.assertGreater(reasons["work"], 0.8, self.report)
        self.assertLess(reasons["events"], 0.15, self.report)


class Postgres(PostgresCase, Purposes):
    def test_an_idle_server(self):
        path = f"{self.folder}/report.json"
        finished = overdue("why", "-f", "json", "-o", path, "-d", "2s", "--by", "process", "-p", self.server.pid)
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
        [main_row] = [group for group in report["groups"] if group["pid"] == self.server.pid]
        self.assertGreater(main_row["reasons"]["work_ns"], 0.9 * main_row["wall_ns"], report)


if __name__ == "__main__":
    main()
