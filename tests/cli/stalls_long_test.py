#!/usr/bin/python3
"""Thresholds so long that quick calls and short waits are recognised without reading the clock."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main
from stall_findings import MS, Case, described_all, stalls, described

RANDOM = """
import json, os, time
for _ in range(20):
    begin = time.monotonic_ns()
    os.getrandom(24 << 20)
    print(json.dumps({"type": "getrandom", "time_ns": begin, "tid": os.getpid(),
                      "took_ns": time.monotonic_ns() - begin}), flush=True)
"""

# The pipe holds 64 KiB: the writer waits for the reader again and again, for a short time each.
PIPE = """
import os, threading, time
out, into = os.pipe()
def read():
    left = 4 << 20
    while left:
        left -= len(os.read(out, 65536))
        time.sleep(0.004)
reader = threading.Thread(target=read)
reader.start()
os.write(into, bytes(4 << 20))
reader.join()
"""

# The preferred thread runs whenever its timer expires: half of the time, the writer waits for it.
SHARED = """
import json, multiprocessing, os, time
SIZE = 192 << 20
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
def delayed():
    with open("/proc/thread-self/schedstat") as file:
        return int(file.read().split()[1])
def spin(ready):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    ready.set()
    while True:
        end = time.monotonic() + 0.008
        while time.monotonic() < end:
            pass
        time.sleep(0.002)
def read(out):
    left = SIZE
    while left:
        left -= len(os.read(out, 65536))
fork = multiprocessing.get_context("fork")
out, into = os.pipe()
ready = fork.Event()
other = fork.Process(target=spin, args=(ready,), daemon=True)
reader = fork.Process(target=read, args=(out,))
other.start()
assert ready.wait(10), "the preferred thread never ran"
reader.start()
data = bytes(SIZE)
begin = time.monotonic_ns()
before = delayed()
os.write(into, data)
after = delayed()
print(json.dumps({"type": "account", "runqueue_ns": after - before, "took_ns": time.monotonic_ns() - begin}),
      flush=True)
reader.join()
other.kill()
"""


class LongThresholds(Case):
    def test_on_cpu(self):
        """Calls that wait for nothing are late, too: only ticks come while they run."""
        seen = stalls("-T", "10ms", "-e", "getrandom", "--", sys.executable, "-c", RANDOM)
        self.assert_sound(seen)
        late = [event for event in seen.events("getrandom") if event["took_ns"] > 20 * MS]
        self.assertGreater(len(late), 10, "24 MiB of random numbers take longer than 20 ms")
        for event in late:
            within = [finding for finding in seen.found if finding["time_ns"] >= event["time_ns"]
                      and finding["time_ns"] <= event["time_ns"] + event["took_ns"]]
            self.assertEqual(len(within), 1, f"{event}{described_all(seen.found)}")

    def test_many_short_waits(self):
        """A call of many waits: the early ones are not recorded singly, but are in the sums."""
        seen = stalls("-T", "200ms", "-e", "write", "--", sys.executable, "-c", PIPE)
        self.assert_sound(seen)
        self.assertEqual(len(seen.found), 1, described_all(seen.found))
        finding = seen.found[0]
        self.assertGreater(finding["latency_ns"], 63 * 4 * MS)
        self.assertGreater(finding["breakdown"]["blocked_ns"], finding["latency_ns"] / 2, described(finding))

    def test_run_queue(self):
        """A call that shares its CPU with a preferred thread has the kernel's run-queue time."""
        seen = stalls("-T", "200ms", "-e", "write", "--", sys.executable, "-c", SHARED)
        self.assert_sound(seen)
        self.assertEqual(len(seen.found), 1, described_all(seen.found))
        account = seen.events("account")[0]
        parts = seen.found[0]["breakdown"]
        waited = parts["runqueue_ns"] + parts["preempted_ns"]
        expected = account["runqueue_ns"]
        slack = 0.05 * expected + 1 * MS
        self.assertGreater(expected, 2 * slack, "the other thread has the CPU")
        # The account is read outside the call: the other thread may have had the CPU there, too.
        around = account["took_ns"] - seen.found[0]["latency_ns"]
        self.assertGreater(waited, expected - around - slack, f"{account} {described(seen.found[0])}")
        self.assertLess(waited, expected + slack, f"{account} {described(seen.found[0])}")


if __name__ == "__main__":
    main()
