"""What tests of ready-made spans share: servers are measured while their clients ask."""
import contextlib
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile

from overdue_test import (SLOWER, FolderTest, Live, attached, eventually, overdue, read_ndjson, require_root,
                          tool)

MS = 1_000_000
SERVER_USER = 65534  # servers refuse to run as root
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

    def assert_blocked(self, findings, least_ns):
        """Each of the spans was blocked that long. Where the kernel hid a switch, the time is unknown; a wait until
        a moment is shorter by what its thread waited for a CPU before."""
        whole = self.ledgers_of(findings)

        def blocked_ns(parts):
            return parts["blocked_ns"] + parts["preempted_ns"] + parts["runqueue_ns"]
        for finding, parts in whole:
            self.assertGreaterEqual(blocked_ns(parts) + parts["unknown_ns"], least_ns, finding)
            self.assertGreater(parts["blocked_ns"] + parts["unknown_ns"], least_ns / 2, finding)
        seen = [finding for finding, parts in whole if blocked_ns(parts) >= least_ns]
        self.assertGreaterEqual(len(seen), max(1, len(findings) - HIDDEN), findings)

    def assert_whole(self, findings, least):
        """The parts add up to the latency, and hardly any time is unknown; of a few findings, for which
        the kernel hid a switch, more may be."""
        self.assertGreaterEqual(len(findings), least)
        whole = self.ledgers_of(findings)
        hidden = min(HIDDEN, len(whole) // 4)
        seen = sorted(whole, key=lambda one: one[1]["unknown_ns"])[:len(whole) - hidden]
        self.assertTrue(seen, findings)
        unknown_ns = sum(parts["unknown_ns"] for _, parts in seen)
        self.assertLessEqual(unknown_ns, 0.02 * sum(finding["latency_ns"] for finding, _ in seen), seen)
        return whole

    def assert_within(self, row, seen_ns):
        """Each span lies within what the client measured, one time for each of its requests."""
        self.assertGreater(row["min_ns"], 0)
        self.assertLessEqual(row["total_ns"], sum(seen_ns))
        self.assertLessEqual(row["max_ns"], max(seen_ns))


class JavaCase(Case):
    """A program that asks for six collections, and prints how long each took."""
    SOURCE = """
public class Work {
  public static void main(String[] words) throws Exception {
    java.util.List<byte[]> kept = new java.util.ArrayList<>();
    for (int i = 0; i < 6; i++) {
      for (int j = 0; j < 2000; j++) kept.add(new byte[1000]);
      long begin = System.nanoTime();
      System.gc();
      System.out.println(System.nanoTime() - begin);
    }
  }
}
"""

    def setUp(self):
        super().setUp()
        path = f"{self.folder}/Work.java"
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.SOURCE)
        os.chmod(self.folder, 0o755)
        self.program = (tool("java"), "-XX:+UseSerialGC", path)


class PostgresCase(Case):
    """A server of its own, run by another user."""

    def setUp(self):
        super().setUp()
        found = sorted(glob.glob("/usr/lib/postgresql/*/bin/postgres"))
        if not found:
            self.skipTest("PostgreSQL is not installed")
        self.bin = os.path.dirname(found[-1])
        self.psql = tool("psql")
        self.data = tempfile.mkdtemp(prefix="requests", dir="/tmp")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        shutil.chown(self.data, SERVER_USER)
        self.port = free_port()
        made = subprocess.run([f"{self.bin}/initdb", "-D", f"{self.data}/db", "-U", "test", "-A", "trust", "-N"],
                              user=SERVER_USER, cwd="/", capture_output=True, check=False)
        self.assertEqual(made.returncode, 0, made)
        self.server = Live(f"{self.bin}/postgres", "-D", f"{self.data}/db", "-k", self.data, "-p", self.port,
                           "-c", "listen_addresses=", "-c", "autovacuum=off", user=SERVER_USER, cwd="/")
        self.addCleanup(self.stop)
        eventually(lambda: self.sql("select 1")[0] == 0, 30 * SLOWER, "the server does not answer", pause=0.2)

    def stop(self):
        self.server.signal(signal.SIGQUIT)
        with contextlib.suppress(AssertionError):
            self.server.finish()
        self.server.__exit__()

    def sql(self, *commands, check=False):
        arguments = [word for command in commands for word in ("-c", command)]
        done = subprocess.run([self.psql, "-h", self.data, "-p", str(self.port), "-U", "test", "-X", "-q",
                               *arguments, "postgres"], capture_output=True, check=check)
        return done.returncode, done.stdout


class RedisCase(Case):
    def setUp(self):
        super().setUp()
        self.port = free_port()
        self.server = Live(tool("redis-server", "valkey-server"), "--port", self.port, "--bind", "127.0.0.1",
                           "--save", "", "--dir", self.folder, "--enable-debug-command", "local")
        self.addCleanup(self.server.__exit__)
        eventually(self.answers, 20 * SLOWER, "the server does not answer")

    def answers(self):
        with contextlib.suppress(OSError):
            return self.send(b"PING") == b"+PONG\r\n"
        return False

    def send(self, *commands):
        """The answer to the last of these commands."""
        with socket.create_connection(("127.0.0.1", self.port), 5) as connection:
            for command in commands:
                connection.sendall(command + b"\r\n")
                answer = connection.recv(4096)
        return answer
