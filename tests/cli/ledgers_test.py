#!/usr/bin/python3
"""Ready-made spans of real programs have whole ledgers: the parts and the unknown time add up to the latency, and
hardly any time is unknown."""
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import attached, main, read_ndjson, tool
from request_case import MS, Case, JavaCase, PostgresCase, RedisCase


class Server(Case):
    """What the tests of servers share."""

    def ledgers(self, span, pid, ask, least):
        """The findings of the server's spans while a client asks."""
        path = f"{self.folder}/stalls.ndjson"
        with attached("stalls", "-f", "ndjson", "-o", path, "--idle", "--first", 0, "--span", span, "-T", f"{span}=1ms",
                      "-p", pid) as live:
            ask()
            live.signal(signal.SIGINT)
            self.assertEqual(live.finish().status, 0)
        found = [line for line in read_ndjson(path) if line["type"] == "stall" and line["name"] == span]
        return self.assert_whole(found, least)


class Postgres(PostgresCase, Server):
    def test_transactions(self):
        def ask():
            self.sql("create table t(n int)", check=True)
            self.sql("begin", "select pg_sleep(0.05)", "insert into t select generate_series(1, 200000)",
                     "select count(*) from t", "commit", check=True)
        whole = self.ledgers("postgres-txn", self.server.pid, ask, 1)
        longest, parts = max(whole, key=lambda one: one[0]["latency_ns"])
        self.assertGreaterEqual(parts["blocked_ns"], 45 * MS, longest)
        self.assertGreaterEqual(parts["oncpu_ns"], 5 * MS, longest)


class Redis(RedisCase, Server):
    def test_commands(self):
        def ask():
            self.send(b"DEBUG SLEEP 0.05", b"DEBUG POPULATE 300000", b"DEBUG SLEEP 0.02")
        whole = self.ledgers("redis-command", self.server.pid, ask, 3)
        self.assertGreaterEqual(max(parts["blocked_ns"] for _, parts in whole), 45 * MS)
        self.assertGreaterEqual(max(parts["oncpu_ns"] for _, parts in whole), 1 * MS)


class Programs(Case):
    def test_collections_of_python(self):
        python = tool("python3")
        with open(os.path.realpath(python), "rb") as file:
            if b"gc__start" not in file.read():
                self.skipTest(f"{python} has no USDT probes")
        text = "import gc\nkept = [[i] for i in range(300000)]\nfor _ in range(7): gc.collect()"
        found = self.findings("--idle", "--first", 0, "--span", "python-gc", "-T", "python-gc=1ms",
                              "--", python, "-c", text)
        for _, parts in self.assert_whole(found, 7):
            self.assertGreater(parts["oncpu_ns"], 0)


class Java(JavaCase):
    def test_pauses(self):
        found = self.findings("--idle", "--first", 0, "--span", "gc,safepoint", "-T", "gc=1ms,safepoint=1ms", "--",
                              *self.program)
        for span in ("gc", "safepoint"):
            with self.subTest(span):
                self.assert_whole([one for one in found if one["name"] == span], 6)


if __name__ == "__main__":
    main()
