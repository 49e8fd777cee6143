#!/usr/bin/python3
"""`overdue stalls` of programs whose functions a runtime makes while they run, and names in a perf map."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, tool
from stall_findings import Case, text_of

NODE = """
const {Worker, isMainThread, workerData} = require('worker_threads');
function crcBlock(n) { let s = 1; for (let i = 0; i < n; i++) s = (s * 31 + (s >>> 7)) >>> 0; return s; }
function flushAll(ms) {
  const end = Date.now() + ms;
  while (Date.now() < end) crcBlock(50000);
}
function waitForWorker(shared) { return Atomics.wait(shared, 0, 0); }
if (isMainThread) {
  const shared = new Int32Array(new SharedArrayBuffer(4));
  new Worker(__filename, {workerData: shared});
  waitForWorker(shared);
} else {
  flushAll(400);
  Atomics.store(workerData, 0, 1);
  Atomics.notify(workerData, 0);
}
"""


class Scripts(Case):
    def test_node(self):
        """The script's own functions are in the middle of a long path; who is waited for computes in one."""
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            path = os.path.join(folder, "worker.js")
            with open(path, "w", encoding="ascii") as file:
                file.write(NODE)
            text, finished = text_of("-T", "300ms", "-e", "futex", "--", tool("node"), "--perf-basic-prof",
                                     "--interpreted-frames-native-stack", path, timeout=120, cwd=folder)
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(text, r"called from .* → JS:\S?waitForWorker \S*worker.js:\d+:\d+ → ")
        self.assertRegex(text, r"└ \S+\[\d+\] ran [\d.]+ms of it, (\d+ % )?in JS:\S?(crcBlock|flushAll) \S+ ← ")


if __name__ == "__main__":
    main()
