#!/usr/bin/python3
"""`overdue why`: the cause of programs' delays, against the programs' own accounts; nothing where nothing is late."""
import fcntl
import json
import os
import re
import sys
import sysconfig

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from stall_findings import real_time
from overdue_test import FolderTest, Live, eventually, main, overdue, tool, workload

MS = 1_000_000
LOCK = (workload("lock-demo"), "--rounds", 20, "--min", "20ms", "--max", "40ms")

FULL_POOL = """
import concurrent.futures, threading, time
pool = concurrent.futures.ThreadPoolExecutor(2)
def request():
    while True:
        pool.submit(time.sleep, 0.2).result()
for _ in range(5):
    threading.Thread(target=request, daemon=True).start()
print("ready", flush=True)
time.sleep(60)
"""


def is_waiting(pid):
    """Whether the kernel lists the process as one that waits for the lock of a file."""
    with open("/proc/locks", encoding="ascii") as file:
        return any(f" {pid} " in line for line in file if "->" in line)


class Why(FolderTest):
    def report(self, *arguments, command=("why",), status=0, **options):
        """The report of a run, and what the program printed."""
        path = f"{self.folder}/report.json"
        finished = overdue(*command, "-f", "json", "-o", path, *arguments, **options)
        self.assertEqual(finished.status, status, finished)
        with open(path, encoding="utf-8") as file:
            return json.load(file), finished.out

    def check_sums(self, report):
        for group in report["groups"]:
            parts = group["parts"]
            self.assertEqual(sum(parts.values()), group["wall_ns"], group)
            self.assertEqual(sum(group["reasons"].values()), parts["blocked_ns"], group)
            # This kernel hides a few context switches.
            self.assertLess(parts["unknown_ns"], group["wall_ns"] * 0.02 + 5 * MS, group)
        for cause in report["causes"]:
            self.assertLessEqual(cause["max_ns"], cause["total_ns"], cause)
            self.assertLessEqual(0, cause["share"])
        self.assertLessEqual(sum(cause["share"] for cause in report["causes"]), 1.0001)

    def test_waiters_are_booked_under_the_holder(self):
        for command in (("why",), ()):  # the command's name may be left out
            report, out = self.report("--", *LOCK, command=command)
            self.assertEqual(report["command"], "why")
            self.check_sums(report)
            waited = sum(event["took_ns"] for event in map(json.loads, out.splitlines()) if event["type"] == "wait")
            cause = report["causes"][0]
            self.assertEqual(cause["kind"], "blocked")
            self.assertRegex(cause["cause"], r"behind holder\[\d+\], which slept in hold_the_lock")
            self.assertEqual({one["name"] for one in cause["who"]}, {"waiter-*"})
            self.assertGreater(cause["total_ns"], 0.8 * waited)
            self.assertLess(cause["total_ns"], 1.02 * waited + 5 * MS)
            self.assertRegex(report["verdict"], r"^waiter-\*: .* behind holder")
            self.assertEqual(cause["example"]["span"], "syscall")
            self.assertIn("-e futex", cause["next"])

    def test_a_full_pool_is_shown_though_its_clients_may_be_idle(self):
        with Live(sys.executable, "-c", FULL_POOL) as program:
            report, _ = self.report("--without", "python", "-p", program.pid, "-d", "2s")
        self.check_sums(report)
        row = report["undecided"][0]
        self.assertRegex(row["cause"], r"behind python.*, which slept in .*nanosleep")
        # Five requests wait for two workers: three at any time.
        self.assertGreater(row["total_ns"], 2_000 * MS)
        self.assertEqual(row["count"], sum(one["count"] for one in row["who"]))
        self.assertAlmostEqual(sum(one["share"] for one in report["undecided"]), 1, places=3)
        self.assertIn("perhaps for work: " + row["cause"], report["verdict"])

    def test_a_full_pool_is_the_cause_if_functions_say_what_its_clients_wait_for(self):
        if sys.version_info < (3, 11) or sysconfig.get_config_var("Py_GIL_DISABLED"):
            self.skipTest("no CPython from 3.11 on with a GIL")
        with Live(sys.executable, "-c", FULL_POOL) as program:
            report, _ = self.report("-p", program.pid, "-d", "2s")
        late = [cause for cause in report["causes"] if "Future.result" in cause["cause"]]
        self.assertGreater(sum(cause["total_ns"] for cause in late), 2_000 * MS, report["causes"])
        for cause in late:
            self.assertRegex(cause["cause"], r"futex in Future\.result ← request behind python.*, which slept in ")

    def test_the_groups_have_the_time_by_reason(self):
        report, _ = self.report("--", *LOCK)
        groups = {group["name"].rstrip("-12"): group for group in report["groups"]}
        self.assertGreater(groups["holder"]["reasons"]["sleep_ns"], 0.8 * groups["holder"]["wall_ns"])
        self.assertGreater(groups["waiter-*"]["reasons"]["futex_ns"], 0.8 * groups["waiter-*"]["wall_ns"])

    def test_waits_for_locks_of_files(self):
        path = f"{self.folder}/locked"
        for take in ("flock", "lockf"):  # flock(2), fcntl(2)
            wait = f"import fcntl; file = open({path!r}, 'r+'); fcntl.{take}(file, fcntl.LOCK_EX)"
            with open(path, "w", encoding="ascii") as file:
                getattr(fcntl, take)(file, fcntl.LOCK_EX)
                with Live(tool("/usr/bin/python3"), "-I", "-S", "-c", wait) as live:
                    eventually(lambda: is_waiting(live.pid), 20, f"{take} does not wait")
                    report, _ = self.report("-d", "500ms", "-p", live.pid)
            self.check_sums(report)
            group = report["groups"][0]
            self.assertGreater(group["reasons"]["lock_ns"], 0.9 * group["wall_ns"])

    def test_a_program_on_the_cpu(self):
        report, _ = self.report("--", *real_time(), workload("burns"), 1, 1000)
        self.check_sums(report)
        cause = report["causes"][0]
        self.assertEqual(cause["kind"], "cpu")
        self.assertRegex(cause["cause"], r"on the CPU: \d+ % in spin_seventy")
        self.assertEqual(report["oncpu"][0]["function"].split(" ")[0], "spin_seventy")

    def test_nothing_is_late(self):
        report, _ = self.report("-d", "1s", "--", *real_time(), tool("sleep"), "0.9")
        # An emulated machine has threads of its own that are more urgent.
        self.assertEqual([cause for cause in report["causes"] if cause["kind"] != "runqueue"], [])
        if not report["causes"]:
            self.assertRegex(report["verdict"], r"^Nothing was late")
            self.assertEqual(report["next"], [])

    def test_a_running_process(self):
        with Live(tool("sleep"), 30) as live:
            report, _ = self.report("-d", "500ms", "-p", live.pid)
        self.assertEqual([group["name"] for group in report["groups"]], ["sleep"])
        self.assertGreater(report["groups"][0]["reasons"]["sleep_ns"], 400 * MS)
        self.assertEqual(report["causes"], [])

    def test_a_recording_has_the_same_page(self):
        recording, page = f"{self.folder}/why.odt", f"{self.folder}/page.txt"
        finished = overdue("why", "--save", recording, "-o", page, "--", *LOCK)
        self.assertEqual(finished.status, 0, finished)
        with open(page, encoding="utf-8") as file:
            live = file.read()
        again = f"{self.folder}/again.txt"
        self.assertEqual(overdue("report", recording, "-o", again).status, 0)
        with open(again, encoding="utf-8") as file:
            self.assertEqual(file.read(), live)
        self.assertRegex(live, r"(?m)^ +TOTAL +SHARE +COUNT +LONGEST  CAUSE$")
        self.assertRegex(live, r"(?m)^look closer\n  overdue stalls -T \d+ms -e futex -- ")
        self.assertRegex(live, r"(?m)^note: operations of 1.00ms and longer were examined one by one")

    def test_the_status_is_the_program_s(self):
        self.report("--", tool("sh"), "-c", "exit 3", status=3)

    def test_wrong_command_lines(self):
        for arguments in (("--",), ("-p", "1", "-f", "xml"), ("--threshold", "1ms")):
            finished = overdue("why", *arguments)
            self.assertIn(finished.status, (2, 125), finished)
            self.assertTrue(re.search(r"(?m)^hint: ", finished.err), finished)


if __name__ == "__main__":
    main()
