#!/usr/bin/python3
"""`overdue stalls` of programs with functions compiled at run time and named in a perf map."""
import os
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import main, run, tool
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
  new Worker(__filename, {workerData: {shared, begun: Date.now()}});
  waitForWorker(shared);
} else {
  // Most of what the main thread waits for, on a slow machine too.
  flushAll(Math.max(400, 3 * (Date.now() - workerData.begun)));
  Atomics.store(workerData.shared, 0, 1);
  Atomics.notify(workerData.shared, 0);
}
"""


JAVA = """
import java.io.FileOutputStream;

public class Late {
  static void saveState(FileOutputStream to, boolean really) throws Exception {
    if (!really) return;
    to.write(new byte[16 << 20]);
    to.getFD().sync();
  }
  static void warmUp(FileOutputStream to) throws Exception {
    for (int i = 0; i < 20000; i++) saveState(to, false);
  }
  public static void main(String[] given) throws Exception {
    try (FileOutputStream to = new FileOutputStream(given[0])) {
      warmUp(to);
      new ProcessBuilder("jcmd", "" + ProcessHandle.current().pid(), "Compiler.perfmap").start().waitFor();
      for (int i = 0; i < 3; i++) saveState(to, true);
    }
  }
}
"""
# One compiler, for which the program waits, and frame pointers.
COMPILED = ["-XX:+PreserveFramePointer", "-Xbatch", "-XX:TieredStopAtLevel=1",
            "-XX:CompileCommand=dontinline,Late::saveState"]


class Scripts(Case):
    def test_node(self):
        """The script's functions are inside a long path; the awaited thread computes in one."""
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            path = os.path.join(folder, "worker.js")
            with open(path, "w", encoding="ascii") as file:
                file.write(NODE)
            text, finished = text_of("-T", "300ms", "-e", "futex", "--", tool("node"), "--perf-basic-prof",
                                     "--interpreted-frames-native-stack", path, timeout=120, cwd=folder)
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(text, r"called from .* → JS:\S?waitForWorker \S*worker.js:\d+:\d+ → ")
        self.assertRegex(text, r"└ \S+\[\d+\] held it up: (.*; )?ran [\d.]+m?s, (\d+ % )?in JS:\S?(crcBlock|flushAll) \S+ ← ")

    def test_java(self):
        """Java's virtual machine writes names to a perf map on request."""
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            path = os.path.join(folder, "Late.java")
            with open(path, "w", encoding="ascii") as file:
                file.write(JAVA)
            made = run([tool("javac"), path], timeout=120)
            self.assertEqual(made.status, 0, made)
            text, finished = text_of("-T", "1us", "-e", "fsync", "--", tool("java"), *COMPILED, "-cp", folder, "Late",
                                     os.path.join(folder, "state"), timeout=120)
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(text, r"called from .* → void Late.saveState\(java.io.FileOutputStream, boolean\) → .* → fsync")


if __name__ == "__main__":
    main()
