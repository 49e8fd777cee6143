#!/usr/bin/python3
"""`overdue stalls`: which long waits are late, by stack and outcome, compared with the program's
own account. Waits that are left out are counted."""
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "oracle"))
from overdue_test import NOBODY, Live, attached, eventually, main, overdue, read_ndjson, run, tool, workload
from programs import must, postgres_tool
from stall_findings import MS, Case, Stalls, described_all, functions, stalls

LEFT_OUT = re.compile(r"(.*) are not shown: (.*); --idle shows them")
CALL = re.compile(r"(\S+) ([\d,]+) \(longest ([\d.]+)(us|ms|s)\)")


def left_out(seen):
    """{reason: {call: (count, longest in ms)}}"""
    reasons = {}
    for note in seen.notes:
        if said := LEFT_OUT.fullmatch(note):
            scale = {"us": 0.001, "ms": 1, "s": 1000}
            reasons[said[1]] = {name: (int(count.replace(",", "")), float(longest) * scale[unit])
                                for name, count, longest, unit in CALL.findall(said[2])}
    return reasons


def in_function(seen, function):
    return [finding for finding in seen.found if function in functions(finding.get("user_stack", []))]


class OwnAccount(Case):
    """Calls of 150 ms and more, with a threshold of 100 ms."""

    def seen(self, kind, times=2, *options):
        seen = stalls("-T", "100ms", *options, "--", workload("waits_for"), kind, times)
        self.assert_sound(seen)
        lines = [line.split() for line in seen.finished.out.splitlines()]
        self.account = [(int(tid), function, int(ns)) for tid, function, ns in lines]
        return seen

    def took(self, function):
        return sorted(ns for _, name, ns in self.account if name == function)

    def assert_found(self, seen, function):
        """Each of the function's calls is found, with no more than its own time."""
        found = sorted(finding["latency_ns"] for finding in in_function(seen, function))
        took = self.took(function)
        self.assertEqual(len(found), len(took), described_all(seen.found))
        for ours, theirs in zip(found, took):
            self.assertLessEqual(ours, theirs)

    def assert_left_out(self, seen, reason, call, function):
        self.assertEqual(in_function(seen, function), [])
        count, longest_ms = left_out(seen)[reason][call]
        took = self.took(function)
        self.assertEqual(count, len(took))
        self.assertGreaterEqual(longest_ms, 100)
        self.assertLessEqual(longest_ms, took[-1] / MS * 1.01)
        self.assertNotIn("nothing", " ".join(seen.notes))

    def test_an_answer(self):
        seen = self.seen("answer")
        self.assert_found(seen, "ask")
        for finding in in_function(seen, "ask"):
            self.assertEqual((finding["waited_for"], finding["decided_by"], finding["late_ns"]),
                             ("unknown", "one descriptor", finding["latency_ns"]))

    def test_silence(self):
        seen = self.seen("silence")
        self.assert_found(seen, "ask")
        for finding in in_function(seen, "ask"):
            self.assertEqual((finding["waited_for"], finding["decided_by"]), ("unknown", "timed out"))

    def test_a_loop(self):
        for kind in ("loop", "tick"):
            with self.subTest(kind):
                self.assert_left_out(self.seen(kind), "waits for work", "epoll_wait", "event_base_loop")
        seen = self.seen("loop", 2, "--idle")
        self.assert_found(seen, "event_base_loop")
        for finding in seen.found:
            if finding["name"] == "epoll_wait":
                self.assertEqual((finding["waited_for"], finding["decided_by"]), ("work", "event_base_loop"))
                self.assertLess(finding["late_ns"], finding["latency_ns"] / 2)

    def test_without_stacks_it_may_be_for_work(self):
        seen = self.seen("loop", 2, "--user-stack-bytes", 0)
        self.assert_left_out(seen, "waits that may be for work", "epoll_wait", "event_base_loop")

    def test_a_call_asked_for_by_name(self):
        for options in (("-e", "epoll_wait"), ("-T", "epoll_wait=100ms")):
            self.assert_found(self.seen("loop", 2, *options), "event_base_loop")
        self.assertEqual(in_function(self.seen("loop", 2, "-e", "!futex"), "event_base_loop"), [])

    def test_a_pool(self):
        seen = self.seen("pool")
        self.assert_left_out(seen, "waits for work", "futex", "run_pool")

    def test_a_pool_that_no_table_knows(self):
        """The pool's threads return to one place. The wait of a task in the pool is late."""
        seen = self.seen("queue", 5)
        self.assert_found(seen, "get_answer")
        count, _ = left_out(seen)["waits that may be for work"]["futex"]
        self.assertEqual(count + len(in_function(seen, "take")), len(self.took("take")))
        self.assertGreaterEqual(count, 6)
        causes = [{finding["cause"] for finding in in_function(seen, function)} for function in ("take", "get_answer")]
        self.assertFalse(causes[0] & causes[1], "what waits for different things is not folded")

    def test_a_sleep(self):
        seen = self.seen("sleep", 3)
        self.assertEqual([f for f in seen.found if f["name"] == "clock_nanosleep"], [])
        count, longest_ms = left_out(seen)["sleeps no longer than requested"]["clock_nanosleep"]
        self.assertEqual(count, 3)
        self.assertGreaterEqual(longest_ms, 150)

    def test_a_sleep_is_late_by_what_it_exceeds_its_request(self):
        seen = stalls("-T", "3ms", "--", tool("chrt"), "-r", "10", workload("cpu-demo"), "--hogs", 1, "-d", "4s")
        self.assert_sound(seen)
        sleeps = [sleep for sleep in seen.events("sleep") if sleep["thread"] == "victim"]
        victim = [f for f in seen.found if f["comm"] == "victim" and f["name"] == "clock_nanosleep"]
        self.assertTrue(victim, sleeps)
        for finding in victim:
            self.assertGreaterEqual(finding["late_ns"], 3 * MS)
            self.assertLess(finding["late_ns"], finding["latency_ns"])
        late = sum(sleep["late_ns"] >= 3 * MS for sleep in sleeps)
        self.assertLessEqual(len(victim), late)

    def test_a_recording_says_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            for options in ((), ("-e", "epoll_wait")):
                seen = self.seen("loop", 2, "--save", f"{folder}/x.odt", *options)
                again = stalls_of_recording(f"{folder}/x.odt", f"{folder}/again")
                self.assertEqual(left_out(again), left_out(seen))
                self.assertEqual(len(again.found), len(seen.found))


def stalls_of_recording(recording, path):
    finished = overdue("report", recording, "-f", "ndjson", "-o", path)
    return Stalls(read_ndjson(path), finished)


PARK = """import java.util.concurrent.*;
public class Park { public static void main(String[] none) throws Exception {
  ExecutorService pool = Executors.newFixedThreadPool(4);
  for (int i = 0; i < 20; ++i) { pool.submit(() -> 1).get(); Thread.sleep(60); }
  pool.shutdown(); } }
"""


class RealPrograms(Case):
    def test_node(self):
        """Threads of libuv and V8 wait for work, the loop for its timer; other waits are late."""
        script = ("const fs=require('fs');fs.readFile('/etc/passwd',()=>{});"
                  "setTimeout(()=>{require('child_process').execFileSync('sleep',['0.3'])},300)")
        seen = stalls("-T", "100ms", "--", tool("node"), "-e", script, timeout=120)
        waits = [f for f in seen.found if f["comm"] == "node" and "waited_for" in f]
        waiting = left_out(seen)["waits for work"]
        self.assertGreaterEqual(waiting["futex"][0], 4, described_all(seen.found))
        self.assertIn("epoll_pwait", waiting)
        answers = [f for f in waits if f["waited_for"] == "answer" and f["name"] == "epoll_pwait"]
        self.assertTrue(answers, described_all(seen.found))
        self.assertIn("node::SyncProcessRunner", answers[0]["decided_by"])
        pools = [f for f in waits if f["name"] == "futex" and f.get("waited_for") != "answer"]
        self.assertLessEqual(len(pools), 1, described_all(pools))

    def test_java(self):
        compiler = tool("javac")
        with tempfile.TemporaryDirectory() as folder:
            with open(f"{folder}/Park.java", "w", encoding="ascii") as file:
                file.write(PARK)
            must([compiler, "Park.java"], folder)
            seen = stalls("-T", "30ms", "--", tool("java"), "-cp", folder, "Park", timeout=120)
        hidden = left_out(seen)
        counted = sum(count for calls in hidden.values() for count, _ in calls.values())
        idle_threads = ("VM Periodic Tas", "VM Thread", "C2 CompilerThre", "C1 CompilerThre", "Signal Dispatch",
                        "Reference Handl", "Finalizer", "Common-Cleaner", "Service Thread", "Monitor Deflati")
        # A wait for a CPU is late all the same, and so is the memory that the JVM gives back as it ends.
        wrong = [f for f in seen.found if f["comm"] in idle_threads and f["name"] == "futex"
                 and f.get("waited_for") != "answer" and f["breakdown"]["blocked_ns"] > f["latency_ns"] / 2]
        self.assertEqual(wrong, [], described_all(wrong))
        self.assertGreater(counted, 20)

    def test_redis(self):
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/s"
            with Live(tool("redis-server"), "--port", 0, "--unixsocket", path, "--save", "", "--dir", folder) as server:
                eventually(lambda: os.path.exists(path), 20, "redis-server does not come up")
                with attached("stalls", "-T", "50ms", "-p", server.pid, "-f", "ndjson", settle=1) as live:
                    live.signal(2)
                    finished = live.finish()
        self.assertFalse([line[:300] for line in finished.out.splitlines() if '"type":"stall"' in line])
        self.assertRegex(finished.out.splitlines()[-2], r"waits for work are not shown: epoll_wait [1-9]")

    def test_a_row_lock(self):
        """Both sides: the client waits for its answer, the server's process for the lock."""
        initdb, server, client = (postgres_tool(name) for name in ("initdb", "postgres", "psql"))
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:
            os.chmod(folder, 0o777)
            env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
            must([*NOBODY, initdb, "-D", f"{folder}/data", "-U", "o", "-A", "trust", "--no-sync"], folder, env)
            psql = [client, "-X", "-q", "-h", folder, "-U", "o", "postgres", "-c"]
            with Live(*NOBODY, server, "-D", f"{folder}/data", "-k", folder, "-h", "", "-F") as live:
                eventually(lambda: run([*psql, "select 1"]).status == 0, 60, "postgres does not come up", 0.3)
                must([*psql, "create table t(a int); insert into t values(1)"], folder)
                with attached("stalls", "-T", "300ms", "-n", "p*", "-f", "ndjson", settle=1) as watch:
                    holder = Live(*psql, "begin; update t set a=2; select pg_sleep(1.2); commit")
                    with holder:
                        eventually(lambda: "t" in run([*psql, "select 't' from pg_stat_activity where wait_event = 'PgSleep'"]
                                                      ).out.splitlines()[2], 10, "no session holds the row")
                        must([*psql, "update t set a=3"], folder)
                        holder.finish()
                    time.sleep(0.6)  # the server waits for the next connection
                    must([*psql, "select 1"], folder)
                    watch.signal(2)
                    finished = watch.finish()
                live.signal(3)
                live.finish()
        seen = Stalls([json.loads(line) for line in finished.out.splitlines()], finished)
        decided = {(f["comm"], f.get("decided_by", "")) for f in seen.found if f.get("waited_for") == "answer"}
        self.assertTrue({("psql", "PQgetResult"), ("psql", "PQexec")} & decided, described_all(seen.found))
        self.assertTrue({("postgres", "ProcSleep")} & decided, described_all(seen.found))
        self.assertNotIn("secure_read", {by for _, by in decided})
        self.assertIn("waits for work", left_out(seen))

    def test_a_connect_that_hangs(self):
        """A connect to a socket whose queue is full."""
        script = ("import socket,sys\ntry: socket.create_connection(('127.0.0.1', int(sys.argv[1])), 0.7)\n"
                  "except OSError: pass")
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen(0)
            with socket.create_connection(server.getsockname()):
                seen = stalls("-T", "300ms", "--", tool("python3"), "-c", script, server.getsockname()[1])
        late = [f for f in seen.found if f["name"] == "poll"]
        self.assertEqual(len(late), 1, described_all(seen.found))
        self.assertGreaterEqual(late[0]["late_ns"], 690 * MS)

    def test_a_dead_name_server(self):
        script = ("mount --bind {0}/resolv.conf /etc/resolv.conf && mount --bind {0}/nsswitch.conf /etc/nsswitch.conf && "
                  "exec {1} -c \"import socket\ntry: socket.getaddrinfo('name.test', 80)\nexcept OSError: pass\"")
        with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
            server.bind(("127.0.0.9", 53))
            with open(f"{folder}/resolv.conf", "w", encoding="ascii") as file:
                file.write("nameserver 127.0.0.9\noptions timeout:1 attempts:1\n")
            with open(f"{folder}/nsswitch.conf", "w", encoding="ascii") as file:
                file.write("hosts: dns\n")
            if not shutil.which("unshare"):
                raise unittest.SkipTest("unshare is not installed")
            seen = stalls("-T", "300ms", "--", "unshare", "-m", "sh", "-c", script.format(folder, tool("python3")))
        late = [f for f in seen.found if f["name"] in ("poll", "ppoll")]
        self.assertTrue(late, described_all(seen.found))
        self.assertEqual({f["waited_for"] for f in late}, {"answer"})
        self.assertIn("getaddrinfo", {f["decided_by"] for f in late} | set(functions(late[0]["user_stack"])))


if __name__ == "__main__":
    main()
