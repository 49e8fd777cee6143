#!/usr/bin/python3
"""Ready-made spans of real servers and programs, each compared with the account of its client: as many spans as
requests, and no span longer than the client has seen."""
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import Live, attached, main, overdue, read_ndjson, tool
from request_case import HIDDEN, MS, Case, JavaCase, PostgresCase, RedisCase, rows_of


class Postgres(PostgresCase):
    def test_statements_and_transactions(self):
        with self.measured("postgres-query,postgres-txn", "-p", self.server.pid) as reports:
            begin = time.monotonic_ns()
            self.sql("begin", "select pg_sleep(0.05)", "select 1", "commit",
                     "begin", "select pg_sleep(0.02)", "rollback", "select pg_sleep(0.03)", check=True)
            seen = time.monotonic_ns() - begin
        rows = rows_of(reports[0])
        self.assertEqual(rows["postgres-query"]["calls"], 8)
        query, transaction = rows["postgres-query"], rows["postgres-txn"]
        self.assertGreaterEqual(query["max_ns"], 50 * MS)
        self.assertGreaterEqual(query["total_ns"], 100 * MS)
        self.assertLess(query["total_ns"], seen)
        # The client's connection has a transaction of its own before its first statement.
        self.assertGreaterEqual(transaction["calls"], 3)
        self.assertLessEqual(transaction["calls"], 4)
        self.assertGreaterEqual(transaction["total_ns"], 100 * MS)
        self.assertLess(transaction["total_ns"], seen)
        self.assertEqual(reports[0]["unfinished"], [])

    def test_errors_and_parallel_workers_leave_nothing_open(self):
        with self.measured("postgres-query,postgres-txn", "-p", self.server.pid) as reports:
            self.sql("select 1/0", "begin", "bogus", "select 1", "rollback", "set max_parallel_workers_per_gather=2",
                     "set parallel_setup_cost=0", "set parallel_tuple_cost=0", "set debug_parallel_query=on",
                     "set force_parallel_mode=on", "select count(*) from pg_class")
        rows = rows_of(reports[0])
        self.assertEqual(rows["postgres-query"]["calls"], 11)
        self.assertEqual(reports[0]["unfinished"], [])

    def test_prepared_statements(self):
        """One span for each, from the first message to the answer's end."""
        bench = tool("pgbench")
        with self.measured("postgres-query", "-p", self.server.pid) as reports:
            script = f"{self.data}/one.sql"
            with open(script, "w", encoding="utf-8") as file:
                file.write("select pg_sleep(0.002);\n")
            os.chmod(script, 0o644)
            ran = subprocess.run([bench, "-h", self.data, "-p", str(self.port), "-U", "test", "-n", "-M", "prepared",
                                  "-t", "50", "-f", script, "postgres"], capture_output=True, text=True, check=True)
        row = rows_of(reports[0])["postgres-query"]
        # The client prepares the statement once; it may ask for settings of its own first.
        self.assertGreaterEqual(row["calls"], 50)
        self.assertLessEqual(row["calls"], 54)
        self.assertGreaterEqual(row["total_ns"], 50 * 2 * MS)
        average_ms = float(re.search(r"latency average = ([\d.]+) ms", ran.stdout)[1])
        self.assertLess(row["p50_ns"], 3 * average_ms * MS)

    def test_a_late_statement_has_a_whole_ledger(self):
        path = f"{self.folder}/stalls.ndjson"
        with attached("stalls", "-f", "ndjson", "-o", path, "--span", "postgres-query", "-T", "postgres-query=40ms",
                      "-p", self.server.pid) as live:
            self.sql(*["select pg_sleep(0.05)", "select 1"] * 6, check=True)
            live.signal(signal.SIGINT)
            self.assertEqual(live.finish().status, 0)
        found = [line for line in read_ndjson(path) if line["type"] == "stall"]
        self.assertEqual([(one["span"], one["name"]) for one in found], [("pair", "postgres-query")] * 6)
        self.assert_blocked(found, 45 * MS)
        for finding in found:
            self.assertTrue(finding["user_stack"], finding)


class Redis(RedisCase):
    def test_each_command_is_a_span(self):
        times = 40
        with self.measured("redis-command", "-p", self.server.pid) as reports:
            begin = time.monotonic_ns()
            self.send(*[b"SET a 1"] * times, b"DEBUG SLEEP 0.05")
            seen = time.monotonic_ns() - begin
        row = rows_of(reports[0])["redis-command"]
        self.assertEqual(row["calls"], times + 1)
        self.assertGreaterEqual(row["max_ns"], 50 * MS)
        self.assertLess(row["total_ns"], seen)

    def test_turns_of_its_event_loop(self):
        with self.measured("epoll-tick", "-p", self.server.pid) as reports:
            begin = time.monotonic_ns()
            # A turn ends after its answer: the last one shows that the turn before it has ended.
            self.send(*[b"PING"] * 20, b"DEBUG SLEEP 0.05", b"PING")
            seen = time.monotonic_ns() - begin
        row = rows_of(reports[0])["epoll-tick"]
        self.assertGreaterEqual(row["calls"], 21 - HIDDEN)
        self.assertGreaterEqual(row["max_ns"], 50 * MS)
        self.assertLess(row["max_ns"], seen)


class Programs(Case):
    def test_names_looked_up(self):
        """Each call is as long as the caller measured, with the ledger of its thread."""
        text = ("import socket, time\n"
                "for i in range(10):\n"
                " a = time.monotonic_ns(); socket.getaddrinfo('127.0.0.1', 80 + i); b = time.monotonic_ns(); print(b - a)")
        path = f"{self.folder}/report.json"
        finished = overdue("spans", "-f", "json", "-o", path, "--span", "dns", "--", tool("python3"), "-c", text)
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            row = rows_of(json.load(file))["dns"]
        seen = [int(line) for line in finished.out.split()]
        self.assertEqual(row["calls"], 10)
        self.assert_within(row, seen)
        parts = self.findings("--span", "dns", "-T", "1ns", "--", tool("python3"), "-c", text)
        self.assertEqual(len(parts), 10)
        self.ledgers_of(parts)

    def test_a_name_server_that_is_silent(self):
        """The target is in a mount namespace, where /etc/resolv.conf names a server that never answers."""
        script, resolv = f"{self.folder}/ask", f"{self.folder}/resolv.conf"
        text = ("import socket, time\n"
                "silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); silent.bind(('127.0.0.77', 53))\n"
                "begin = time.monotonic_ns()\n"
                "try: socket.getaddrinfo('nowhere.example.', 80)\n"
                "except OSError: pass\n"
                "print(time.monotonic_ns() - begin)\n")
        with open(resolv, "w", encoding="utf-8") as file:
            file.write("nameserver 127.0.0.77\noptions timeout:1 attempts:1\n")
        with open(f"{self.folder}/ask.py", "w", encoding="utf-8") as file:
            file.write(text)
        with open(script, "w", encoding="utf-8") as file:
            file.write(f"mount --bind {resolv} /etc/resolv.conf && exec {tool('python3')} {self.folder}/ask.py\n")
        path = f"{self.folder}/stalls.ndjson"
        finished = overdue("stalls", "-f", "ndjson", "-o", path, "--span", "dns", "-T", "100ms", "--",
                           tool("unshare"), "-m", "sh", script)
        if finished.status != 0 and "mount" in finished.err:
            self.skipTest(f"no mount namespace here: {finished.err.strip()}")
        self.assertEqual(finished.status, 0, finished)
        seen = int(finished.out)
        if seen < 900 * MS:
            self.skipTest("the C library asks no name server here")
        [finding] = [line for line in read_ndjson(path) if line["type"] == "stall"]
        self.assertGreaterEqual(finding["latency_ns"], 900 * MS)
        self.assertLessEqual(finding["latency_ns"], seen)
        self.assertGreaterEqual(finding["breakdown"]["blocked_ns"], 0.9 * finding["latency_ns"])
        self.assertTrue(any("poll" in frame["name"] for frame in finding["waits"][0]["kernel_stack"]), finding)

    def test_a_span_of_ones_own_in_a_file_of_the_target(self):
        text = "import socket\nfor i in range(3): socket.getaddrinfo('127.0.0.1', 80)"
        own = "own=begin:uprobe:@libc.so.*:getaddrinfo,end:uretprobe:@libc.so.*:getaddrinfo,key:tid"
        path = f"{self.folder}/report.json"
        finished = overdue("spans", "-f", "json", "-o", path, "--span", own, "--", tool("python3"), "-c", text)
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(rows_of(json.load(file))["own"]["calls"], 3)
        refused = overdue("spans", "--span", own.replace("libc.so", "nothing"), "--", "true")
        self.assertEqual(refused.status, 125, refused)
        self.assertIn("no process of the target has a file nothing.*", refused.err)

    def test_collections_of_python(self):
        text = ("import gc, time\nkept = [[i] for i in range(200000)]\nseen = []\n"
                "def look(phase, info): seen.append(time.monotonic_ns())\ngc.callbacks.append(look)\n"
                "for _ in range(7): gc.collect()\ngc.callbacks.clear(); gc.disable()\n"
                "print(sum(one['collections'] for one in gc.get_stats()))\n"
                "print(max(b - a for a, b in zip(seen[::2], seen[1::2])))")
        python = tool("python3")
        with open(os.path.realpath(python), "rb") as file:
            if b"gc__start" not in file.read():
                self.skipTest(f"{python} has no USDT probes")
        path = f"{self.folder}/report.json"
        finished = overdue("spans", "-f", "json", "-o", path, "--span", "python-gc", "--", python, "-c", text)
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            row = rows_of(json.load(file))["python-gc"]
        collections, longest_ns = map(int, finished.out.split())
        # The interpreter also collects at its end, several times.
        self.assertGreaterEqual(row["calls"], collections)
        self.assertLessEqual(row["calls"], collections + 10)
        self.assertGreaterEqual(row["max_ns"], longest_ns / 2)

    def test_turns_of_node(self):
        node = tool("node")
        text = ("let n = 0; const spin = ms => { const end = Date.now() + ms; while (Date.now() < end); };"
                "const timer = setInterval(() => { spin(30); if (++n == 5) clearInterval(timer); }, 10);")
        found = self.findings("--span", "epoll-tick", "-T", "25ms", "--", node, "-e", text)
        ticks = [one for one in found if one["name"] == "epoll-tick" and one["tid"] == one["pid"]]
        # Each turn runs the timer's function once. The first may be within the start of the program, which is late
        # itself on a slow machine.
        self.assertGreaterEqual(len(ticks), 4 - HIDDEN)
        self.assertLessEqual(len(ticks), 5 + HIDDEN)
        self.ledgers_of(ticks)

    def test_turns_of_poll(self):
        text = ("import select, time\npoll = select.poll()\n"
                "for _ in range(5): poll.poll(1); time.sleep(0.02)\npoll.poll(1)")
        found = self.findings("--span", "poll-tick", "-T", "15ms", "--", tool("python3"), "-c", text)
        self.assertGreaterEqual(len(found), 5 - HIDDEN)
        self.assertLessEqual(len(found), 5)


class Connections(Case):
    TEXT = """
import socket, threading, time
server = socket.socket(); server.bind(("127.0.0.1", 0)); server.listen(16)
begun, lengths = [], []
def connect():
    for _ in range(6):
        begin = time.monotonic_ns()
        connection = socket.create_connection(server.getsockname())
        begun.append((begin, time.monotonic_ns(), connection))
client = threading.Thread(target=connect); client.start(); client.join()
for i in range(6):
    time.sleep(0.02)
    before = time.monotonic_ns()
    server.accept()
    print(before - begun[i][1], time.monotonic_ns() - begun[i][0])
gone = socket.create_connection(server.getsockname())
gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\\1\\0\\0\\0\\0\\0\\0\\0")
gone.close()
"""

    def test_waits_in_the_listen_queue(self):
        """Each wait is between the two that the program can see: the queue keeps the order."""
        path = f"{self.folder}/stalls.ndjson"
        finished = overdue("stalls", "-f", "ndjson", "-o", path, "--idle", "--span", "accept-queue", "-T", "1ns", "--",
                           tool("python3"), "-c", self.TEXT)
        self.assertEqual(finished.status, 0, finished)
        found = [line for line in read_ndjson(path) if line["type"] == "stall"]
        bounds = [tuple(map(int, line.split())) for line in finished.out.splitlines()]
        self.assertEqual(len(found), len(bounds))
        for finding, (least, most) in zip(found, bounds):
            self.assertGreaterEqual(finding["latency_ns"], least)
            self.assertLessEqual(finding["latency_ns"], most)
        # The thread that accepts slept meanwhile. A nap that the kernel hides is missing from each later wait.
        longest, parts = max(self.ledgers_of(found), key=lambda one: one[0]["latency_ns"])
        self.assertGreaterEqual(parts["blocked_ns"], 0.6 * longest["latency_ns"])


class Java(JavaCase):
    def test_pauses(self):
        path = f"{self.folder}/report.json"
        finished = overdue("spans", "-f", "json", "-o", path, "--span", "gc,safepoint", "--",
                           *self.program)
        if "no USDT probe" in finished.err:
            self.skipTest("this JVM has no USDT probes")
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            rows = rows_of(json.load(file))
        seen = [int(line) for line in finished.out.split()]
        self.assertEqual(len(seen), 6)
        # The JVM, which compiles the source first, collects by itself too.
        self.assertGreaterEqual(rows["gc"]["calls"], 6)
        self.assertGreaterEqual(rows["safepoint"]["calls"], 6)
        self.assertLessEqual(rows["gc"]["min_ns"], max(seen))
        self.assertLessEqual(rows["gc"]["min_ns"], rows["safepoint"]["max_ns"])


class Words(Case):
    def listed(self, *target):
        finished = overdue("spans", "--list", *target)
        self.assertEqual(finished.status, 0, finished)
        return {words[0]: words[1:] for words in
                (re.split(r" +", line, maxsplit=2) for line in finished.out.splitlines())}

    def test_the_list_says_what_a_target_has(self):
        with Live("sleep", "60") as sleeper:
            listed = self.listed("-p", sleeper.pid)
        self.assertEqual(listed["epoll-tick"][0], "yes")
        self.assertEqual(listed["dns"][0], "yes")
        for name in ("gc", "postgres-txn", "redis-command"):
            self.assertEqual(listed[name][0], "no", name)
            self.assertIn("no process of the target has a file", listed[name][1])
        python = self.listed("--", tool("python3"), "-c", "")
        self.assertIn(python["python-gc"][0], ("yes", "no"))

    def test_what_a_target_lacks_is_an_error(self):
        with Live("sleep", "60") as sleeper:
            refused = overdue("spans", "--span", "gc", "-p", sleeper.pid, "-d", "1s")
        self.assertEqual(refused.status, 1, refused)
        self.assertIn("needs a JVM with USDT probes", refused.err)

    def test_near_names(self):
        for word, near in (("postgres", "'postgres-query' or 'postgres-txn'?"), ("epol-tick", "'epoll-tick'?"),
                           ("connec", "'connect'?"), ("redis", "'redis-command'?"), ("mysql", "'mysql-query'?"), ("dms", "'dns'?")):
            for command, option in (("spans", "--span"), ("stalls", "--span"), ("record", "--events")):
                with self.subTest(command=command, word=word):
                    threshold = ("-T", "1ms") if command == "stalls" else ()
                    refused = overdue(command, option, word, *threshold, "--", "true")
                    self.assertEqual(refused.status, 2, refused)
                    self.assertIn(near, refused.err)
        refused = overdue("stalls", "--span", "dns", "-T", "dms=1ms", "--", "true")
        self.assertIn("'dns'?", refused.err)

    def test_connect_is_another_name(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            text = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}))"
            path = f"{self.folder}/report.json"
            finished = overdue("spans", "-f", "json", "-o", path, "--span", "connect", "--", tool("python3"), "-c", text)
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            [row] = json.load(file)["spans"]
        self.assertEqual((row["span"], row["calls"]), ("tcp_connect", 1))

    def test_a_recording_shows_the_same(self):
        text = "import socket\nfor i in range(5): socket.getaddrinfo('127.0.0.1', 80)"
        file = f"{self.folder}/dns.odt"
        finished = overdue("record", "-o", file, "--events", "dns", "--", tool("python3"), "-c", text)
        self.assertEqual(finished.status, 0, finished)
        shown = overdue("report", file, "-T", "dns=1ns", "-f", "ndjson")
        self.assertEqual(shown.status, 0, shown)
        found = [json.loads(line) for line in shown.out.splitlines() if '"stall"' in line]
        self.assertEqual([one["name"] for one in found], ["dns"] * 5)


if __name__ == "__main__":
    main()
