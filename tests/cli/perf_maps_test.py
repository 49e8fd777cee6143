#!/usr/bin/python3
"""--perf-maps: a JVM of any user names its compiled methods, and no process is hurt."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import eventually, main, overdue, require_root

PROGRAM = """
public class Ledger {
  static volatile double balance;
  static void addInterest() { for (int i = 0; i < 1000000; i++) balance += i * 0.5; }
  public static void main(String[] a) throws Exception {
    System.out.println("ready");
    while (true) addInterest();
  }
}
"""
OTHER_USER = 65534


class PerfMaps(unittest.TestCase):
    def setUp(self):
        require_root()
        if not shutil.which("javac"):
            self.skipTest("no javac")
        folder = tempfile.TemporaryDirectory(prefix="odt-", dir="/var/tmp")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        os.chmod(self.folder, 0o755)
        source = os.path.join(self.folder, "Ledger.java")
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run(["javac", "-d", self.folder, source], check=True, timeout=120)

    def start(self, *words, before=(), **options):
        process = subprocess.Popen([*before, *words], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                   cwd=self.folder, **options)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def java(self, *options, **more):
        return self.start("java", "-XX:TieredStopAtLevel=1", *options, "-cp", self.folder, "Ledger", **more)

    def map_of(self, process):
        path = os.path.join("/proc", str(process.pid), "root", "tmp", f"perf-{process.pid}.map")
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        return path

    def profile(self, process):
        time.sleep(0.5)  # the method gets compiled
        return overdue("profile", "--perf-maps", "-p", process.pid, "-d", "1s")

    def assert_named(self, process):
        path = self.map_of(process)
        finished = self.profile(process)
        self.assertEqual(finished.status, 0, finished)
        self.assertIn("Ledger.addInterest", finished.out, finished)
        self.assertIn(f"JVM {process.pid} has written the names of its compiled methods", finished.out, finished)
        self.assertEqual(os.stat(path).st_uid, os.stat(f"/proc/{process.pid}").st_uid)
        self.assertFalse(os.path.exists(os.path.join(self.folder, f".attach_pid{process.pid}")))
        self.assertIsNone(process.poll())

    def test_methods_have_names(self):
        self.assert_named(self.java())

    def test_of_another_user(self):
        self.assert_named(self.java(user=OTHER_USER, group=OTHER_USER, extra_groups=[]))

    def test_in_a_mount_namespace_of_its_own(self):
        process = self.java(before=("unshare", "--mount", "sh", "-c",
                                    'mount -t tmpfs none /tmp && exec "$@"', "sh"))
        self.assert_named(process)
        self.assertFalse(os.path.exists(f"/tmp/perf-{process.pid}.map"))

    def refused(self, process, why):
        path, begin = self.map_of(process), time.time_ns()
        finished = self.profile(process)
        self.assertEqual(finished.status, 0, finished)
        self.assertIn(f"JVM {process.pid} has written no names of methods: {why}", finished.out, finished)
        self.assertIsNone(process.poll(), "it has ended")
        # An earlier process with this pid may have left one.
        self.assertFalse(os.path.exists(path) and os.stat(path).st_mtime_ns >= begin)

    def test_a_jvm_without_the_mechanism_is_left_alone(self):
        self.refused(self.java("-XX:+DisableAttachMechanism"), "it runs with -XX:+DisableAttachMechanism")

    def test_a_jvm_that_sigquit_would_end_is_left_alone(self):
        self.refused(self.java("-Xrs"), "it does not handle SIGQUIT")

    def test_a_process_that_only_looks_like_a_jvm(self):
        """It maps a file of that name, handles SIGQUIT, and never opens a socket."""
        path = os.path.join(self.folder, "libjvm.so")
        shutil.copy("/usr/bin/true", path)
        program = (f"import mmap,signal,time\nfile=open({path!r},'rb')\n"
                   "m=mmap.mmap(file.fileno(),0,prot=mmap.PROT_READ|mmap.PROT_EXEC,flags=mmap.MAP_PRIVATE)\n"
                   "signal.signal(signal.SIGQUIT,lambda *a:None)\nprint('ready',flush=True)\n"
                   "while True: time.sleep(1)")
        process = self.start(sys.executable, "-c", program)
        self.refused(process, "it opened no socket in 6 s")
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith(".attach")], [])

    def test_another_process_at_its_socket_is_not_believed(self):
        process = self.java("-XX:+StartAttachListener")
        path = f"/tmp/.java_pid{process.pid}"
        eventually(lambda: os.path.exists(path) or None)
        self.addCleanup(lambda: os.path.exists(path) and os.unlink(path))
        os.unlink(path)
        import socket
        with socket.socket(socket.AF_UNIX) as ours:
            ours.bind(path)
            ours.listen()
            self.refused(process, "another process has its socket")

    def test_a_program_that_has_not_started(self):
        finished = overdue("profile", "--perf-maps", "--", "true")
        self.assertEqual(finished.status, 2, finished)
        self.assertIn("--perf-maps is for a JVM that runs already", finished.err)


if __name__ == "__main__":
    main()
