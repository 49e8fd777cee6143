#!/usr/bin/python3
"""`overdue stalls`: the wakers of waits. An interrupt is only the way of a wake-up: the sender over
loopback is named, a timeout is the sleeper's own, and the interrupted thread is no waker."""
import json
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import disk_folder, main, tool
from stall_findings import Case, described_all, longest_wait, stalls, text_of, described

# A child sleeps before each answer, for which its parent waits. Prints the ids of both.
ANSWERS = """
import json, os, socket, time
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
child = os.fork()
if child == 0:
    client.close()
    for _ in range(6):
        time.sleep(0.03)
        peer.send(b"x")
    os._exit(0)
peer.close()
for _ in range(6):
    client.recv(1)
os.waitpid(child, 0)
print(json.dumps({"parent": os.getpid(), "child": child}))
"""


class Wakers(Case):
    def test_who_sends_over_loopback(self):
        seen = stalls("--idle", "-T", "15ms", "--", tool("python3"), "-c", ANSWERS)
        self.assert_sound(seen)
        who = json.loads(seen.finished.out)
        reads = self.with_wakers([one for one in seen.named("recvfrom") if one["tid"] == who["parent"]])
        self.assertGreaterEqual(len(reads), 3, described_all(seen.found))
        # An interrupt may come just before the sender's call does the work, and do it first.
        sent = [one for one in reads if longest_wait(one)["waker"].get("tid") == who["child"]]
        self.assertGreater(len(sent), len(reads) / 2, described_all(reads))
        for finding in sent:
            self.assertEqual(longest_wait(finding)["waker"]["context"], "softirq NET_RX", described(finding))
            self.assertEqual(finding["chain"][0]["tid"], who["child"], described(finding))
        slept = [link for one in sent for link in one["chain"][:1] if link["what"] == "waited"
                 and any("nanosleep" in frame["name"] or "select" in frame["name"] for frame in link["kernel_stack"])]
        self.assertGreater(len(slept), len(sent) / 2, described_all(sent))

    def test_a_sleeper_wakes_itself(self):
        seen = stalls("--idle", "-T", "10ms", "--", tool("sleep"), "0.05")
        self.assert_sound(seen)
        for finding in self.with_wakers(seen.named("clock_nanosleep")):
            waker = longest_wait(finding)["waker"]
            self.assertEqual(waker["means"], "timeout", described(finding))
            self.assertNotIn("comm", waker)
            self.assertIn("comm", waker["interrupted"])
        text, _ = text_of("--idle", "-T", "10ms", "--", tool("sleep"), "0.05")
        if "woken by" in text or "expired" in text:  # else the kernel did not report it
            self.assertIn(", its timeout expired", text)

    def test_a_disk_completes(self):
        with tempfile.TemporaryDirectory(dir=disk_folder()) as folder:
            path = os.path.join(folder, "file")
            seen = stalls("-T", "1ns", "-e", "fsync", "--", tool("dd"), "if=/dev/zero", f"of={path}", "bs=64k",
                          "count=16", "conv=fsync", "status=none")
        self.assert_sound(seen)
        wakers = [wait["waker"] for one in seen.found for wait in one["waits"] if wait.get("waker", {}).get("stack")]
        of_disks = [one for one in wakers if one.get("means") == "disk completion"]
        if not wakers:
            self.skipTest("no wait of this fsync was long enough to have the stack of its waker")
        self.assertTrue(of_disks or all("tid" in one for one in wakers), wakers)
        for waker in of_disks:
            self.assertNotIn("comm", waker)


if __name__ == "__main__":
    main()
