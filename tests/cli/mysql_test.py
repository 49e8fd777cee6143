#!/usr/bin/python3
"""The ready-made span `mysql-query` of a real MariaDB server, compared with the server's own account."""
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import SLOWER, Live, attached, eventually, main, overdue, read_ndjson, tool
from request_case import MS, Case, rows_of


class MariaDb(Case):
    """A server of its own, run by another user, on a socket in its folder."""

    OPTIONS = []

    def setUp(self):
        super().setUp()
        server = shutil.which("mariadbd") or "/usr/sbin/mariadbd"
        if not os.path.exists(server):
            self.skipTest("MariaDB is not installed")
        self.client = tool("mariadb")
        self.data = tempfile.mkdtemp(prefix="mariadb", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        shutil.chown(self.data, "nobody")
        made = subprocess.run([tool("mariadb-install-db"), "--no-defaults", f"--datadir={self.data}/db",
                               "--auth-root-authentication-method=normal", "--skip-test-db"],
                              user="nobody", cwd="/", capture_output=True, check=False)
        self.assertEqual(made.returncode, 0, made)
        self.server = Live(server, "--no-defaults", f"--datadir={self.data}/db", f"--socket={self.data}/socket",
                           f"--pid-file={self.data}/pid", "--skip-networking", "--innodb-buffer-pool-size=16M",
                           "--general-log=1", f"--general-log-file={self.data}/log",
                           *self.OPTIONS, user="nobody", cwd="/")
        self.addCleanup(self.stop)
        eventually(lambda: self.run_client("select 1;").returncode == 0, 60 * SLOWER, "the server does not answer",
                   pause=0.2)

    def stop(self):
        self.server.signal(signal.SIGTERM)
        with contextlib.suppress(AssertionError):
            self.server.finish()
        self.server.__exit__()

    def run_client(self, text):
        """Each statement ends with a semicolon, and is sent alone. An error ends its line."""
        return subprocess.run([self.client, "--no-defaults", "--no-auto-rehash", "-S", f"{self.data}/socket", "-u",
                               "root", "-N", "--force"], input=text, capture_output=True, text=True, check=False)

    def logged(self):
        """The number of statements in the server's own log so far."""
        with open(f"{self.data}/log", encoding="utf-8") as file:
            return len(re.findall(r"\t *\d+ (?:Query|Prepare|Execute)\t", file.read()))

    def test_each_statement_is_a_span(self):
        before = self.logged()
        with self.measured("mysql-query", "-p", self.server.pid) as reports:
            begin = time.monotonic_ns()
            self.run_client("select sleep(0.05); select 1; select sleep(0.02); bogus;\nselect 2;")
            seen = time.monotonic_ns() - begin
        row = rows_of(reports[0])["mysql-query"]
        self.assertEqual(row["calls"], 5)
        self.assertEqual(row["calls"], self.logged() - before)
        self.assertGreaterEqual(row["max_ns"], 50 * MS)
        self.assertGreaterEqual(row["total_ns"], 70 * MS)
        self.assertLess(row["total_ns"], seen)
        self.assertEqual(reports[0]["unfinished"], [])

    def test_prepared_statements_and_transactions(self):
        with self.measured("mysql-query", "-p", self.server.pid) as reports:
            self.run_client("prepare one from 'select sleep(0.03)'; begin; execute one; execute one; rollback;")
        row = rows_of(reports[0])["mysql-query"]
        self.assertEqual(row["calls"], 5)
        self.assertGreaterEqual(row["max_ns"], 30 * MS)
        self.assertLess(row["max_ns"], row["total_ns"])
        self.assertGreaterEqual(row["total_ns"], 60 * MS)

    def test_late_statements_have_whole_ledgers(self):
        path = f"{self.folder}/stalls.ndjson"
        with attached("stalls", "-f", "ndjson", "-o", path, "--span", "mysql-query", "-T", "mysql-query=40ms",
                      "-p", self.server.pid) as live:
            self.run_client("select sleep(0.05); select 1;" * 6)
            live.signal(signal.SIGINT)
            self.assertEqual(live.finish().status, 0)
        found = [line for line in read_ndjson(path) if line["type"] == "stall"]
        self.assertEqual([(one["span"], one["name"]) for one in found], [("pair", "mysql-query")] * 6)
        self.assert_blocked(found, 45 * MS)
        for finding in found:
            self.assertTrue(finding["user_stack"], finding)

    def test_the_list_says_that_the_server_has_it(self):
        finished = overdue("spans", "--list", "-p", self.server.pid)
        [line] = [line for line in finished.out.splitlines() if line.startswith("mysql-query")]
        self.assertEqual(line.split()[1], "yes", line)


class MariaDbWithThreadPool(MariaDb):
    """A thread serves many connections there, a statement at a time."""

    OPTIONS = ["--thread-handling=pool-of-threads"]


if __name__ == "__main__":
    main()
