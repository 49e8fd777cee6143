#!/usr/bin/python3
"""Overdue's rights, from setcap or root, give a user no file that this user may not read. A
measuring command never has more rights in force than it needs."""
import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import NOBODY, OVERDUE, Live, eventually, main, overdue, require_root, run, tool, wait_until_measuring
from overdue_test import workload

CAPABILITIES = "cap_bpf,cap_perfmon,cap_sys_ptrace,cap_dac_read_search,cap_syslog=ep"
BITS = {"DAC_OVERRIDE": 1, "DAC_READ_SEARCH": 2, "KILL": 5, "SETGID": 6, "SETUID": 7, "IPC_LOCK": 14,
        "SYS_PTRACE": 19, "SYSLOG": 34, "PERFMON": 38, "BPF": 39, "CHECKPOINT_RESTORE": 40}
OVER_FILES = 1 << BITS["DAC_OVERRIDE"] | 1 << BITS["DAC_READ_SEARCH"]
SYS_ADMIN = 1 << 21
TO_MEASURE = sum(1 << bit for bit in BITS.values())  # ARCHITECTURE.md: "measuring"
MEASURING = (("syscalls", "-a"), ("stalls", "-a", "-T", "1h"), ("record", "-a", "-o", "/dev/null"), ("timerlat",),
             ("osnoise",), ("worst", "wakeup"))
THE_KERNELS = (("timerlat", "--backend", "kernel"), ("osnoise", "--backend", "kernel"),
               ("worst", "wakeup", "--backend", "kernel"))
SPAN = "x=begin:uprobe:{0}:main,end:uretprobe:{0}:main,key:tid"
WITHOUT_RIGHTS = (("report",), ("flame",), ("probes",), ("schema",), ("help",))


class Rights(unittest.TestCase):
    def setUp(self):
        require_root()
        made = tempfile.TemporaryDirectory(dir="/var/tmp")  # /tmp may be mounted with nosuid
        self.addCleanup(made.cleanup)
        self.folder = made.name
        os.chmod(self.folder, 0o755)
        self.plain = self.copy("plain")  # other users may lack access to the build folder
        self.secret = f"{self.folder}/secret"
        with open(self.secret, "w", encoding="ascii") as file:
            file.write("main;very;secret 12\n")
        os.chmod(self.secret, 0o600)

    def copy(self, name):
        path = f"{self.folder}/{name}"
        shutil.copy(OVERDUE, path)
        os.chmod(path, 0o755)
        return path


class OfTheFile(Rights):
    """File capabilities as in the setcap(8) hint, but with a mode that lets other users in."""

    def setUp(self):
        super().setUp()
        self.program = self.copy("overdue")
        self.give(CAPABILITIES)

    def give(self, capabilities):
        given = run([tool("setcap"), capabilities, self.program])
        if given.status != 0:
            self.skipTest(f"no capabilities of files here: {given.err.strip()}")

    def test_flame_reads_nothing_that_the_user_may_not_read(self):
        finished = run([*NOBODY, self.program, "flame", self.secret])
        self.assertNotEqual(finished.status, 0, finished)
        self.assertNotIn("secret", finished.out)

    def test_report_reads_nothing_that_the_user_may_not_read(self):
        recording = f"{self.folder}/x.odt"
        self.assertEqual(overdue("record", "-o", recording, "--", tool("true")).status, 0)
        for mode, status in ((0o600, 1), (0o644, 0)):
            os.chmod(recording, mode)
            finished = run([*NOBODY, self.program, "report", recording])
            self.assertEqual(finished.status, status, finished)

    def test_the_hint_keeps_others_out_first(self):
        finished = run([*NOBODY, self.plain, "syscalls", "-a", "-d", "100ms"])
        self.assertNotEqual(finished.status, 0, finished)
        steps = [finished.err.find(step) for step in ("chgrp", "chmod 750", "setcap cap_bpf")]
        self.assertNotIn(-1, steps, finished)
        self.assertEqual(steps, sorted(steps), "each step would undo the one before, or come too late")

    def test_it_measures(self):
        for command in (("syscalls", "-a"), ("syscalls", "-a", "--two-phase"), ("stalls", "-a", "-T", "1h"),
                        ("stalls", "-a", "-T", "1h", "--span", "x=begin:sched:sched_process_fork,"
                         "end:sched:sched_process_exec,key:pid"),
                        ("worst", "wakeup", "--backend", "bpf"), ("record", "-a", "-o", "/dev/null")):
            with self.subTest(command=command):
                finished = run([*NOBODY, self.program, *command, "-d", "100ms"])
                self.assertEqual(finished.status, 0, finished)
                self.assertNotIn("failed to", finished.err)

    def test_files_of_spans_are_opened_as_the_caller(self):
        program = shutil.copy(workload("call_paths"), f"{self.folder}/hidden")
        refused = run([*NOBODY, self.program, "stalls", "-a", "-T", "1h", "--span", SPAN.format(program)])
        self.assertEqual(refused.status, 1, refused)
        self.assertIn("CAP_SYS_ADMIN", refused.err)
        self.give(CAPABILITIES.replace("=", ",cap_sys_admin="))
        for mode, status in ((0o700, 2), (0o755, 0)):
            os.chmod(program, mode)
            for sandbox in ((), ("--no-sandbox",)):
                finished = run([*NOBODY, self.program, "stalls", "-a", "-T", "1h", "-d", "50ms", *sandbox,
                                "--span", SPAN.format(program)])
                self.assertEqual(finished.status, status, finished)
                if status != 0:
                    self.assertIn("Permission denied", finished.err)

    def test_programs_behind_closed_folders_have_names(self):
        """The purpose of the right: another user's program, in a private folder of that user."""
        hidden = f"{self.folder}/hidden"
        os.mkdir(hidden)
        program = shutil.copy(workload("nanosleep_loop"), hidden)
        for path in (program, hidden):
            os.chown(path, 65533, 65533)
            os.chmod(path, 0o700)
        other = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", program, "100000", "1000000"]
        with subprocess.Popen(other, stdout=subprocess.DEVNULL) as running:
            try:
                finished = run([*NOBODY, self.program, "stalls", "-p", str(running.pid), "-T", "100us", "-d", "1s"])
            finally:
                running.kill()
        self.assertEqual(finished.status, 0, finished)
        self.assertIn("called from  main ", finished.out)


def rights_of_threads(pid):
    """(permitted, effective) capabilities of each thread."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(OSError):
            with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii") as file:
                sets = dict(re.findall(r"^(Cap\w+):\t(\w+)$", file.read(), re.MULTILINE))
            found.append((int(sets["CapPrm"], 16), int(sets["CapEff"], 16)))
    return found


class WhileMeasuring(Rights):
    """Checks the rights of each thread with /proc, and each opened file with strace."""

    def check(self, *command):
        with Live(OVERDUE, *command, "-v", "-d", "20s") as live:
            wait_until_measuring(live)

            def has_given_up():
                rights = rights_of_threads(live.pid)
                return rights and not any(permitted & ~TO_MEASURE or effective & OVER_FILES
                                          for permitted, effective in rights)
            try:
                eventually(has_given_up, 10)
            except AssertionError:
                shown = [(f"{permitted:x}", f"{effective:x}") for permitted, effective in rights_of_threads(live.pid)]
                raise AssertionError(f"{command}: its threads keep {shown}") from None
            live.signal(2)
            self.assertEqual(live.finish().status, 0, command)

    def test_what_only_attaching_takes_is_given_up(self):
        for command in MEASURING:
            with self.subTest(command=command):
                self.check(*command)

    def test_with_helpers_they_are_not_in_force(self):
        with Live(OVERDUE, "stalls", "-a", "-T", "1h", "--on", "exec:/bin/true", "-d", "20s", "-v") as live:
            wait_until_measuring(live)
            eventually(lambda: not any(effective & ~TO_MEASURE | effective & OVER_FILES
                                       for _, effective in rights_of_threads(live.pid)), 10)

    def test_where_attaching_goes_on_it_is_not_in_force(self):
        """CAP_SYS_ADMIN: Debian's kernels need it to attach if kernel.perf_event_paranoid is 3."""
        for options in (("--two-phase",), ("--discover",)):
            with self.subTest(options=options), Live(OVERDUE, "syscalls", *options, "-a", "-d", "20s", "-v") as live:
                wait_until_measuring(live)
                eventually(lambda: not any(permitted & ~(TO_MEASURE | SYS_ADMIN) or effective & (SYS_ADMIN | OVER_FILES)
                                           for permitted, effective in rights_of_threads(live.pid)), 10)

    def test_what_is_attached_later_is(self):
        self.assertIn("the exits of ", overdue("syscalls", "--two-phase", "--discover-time", "50ms", "--",
                                               workload("nanosleep_loop"), 300).err)

    def test_of_the_kernels_tracers_too(self):
        for command in THE_KERNELS:
            with self.subTest(command=command):
                refused = overdue(*command, "-d", "50ms")
                if "has no tracer" in refused.err:
                    self.skipTest(refused.err)
                self.check(*command)

    def test_files_are_opened_with_the_right_only_where_it_is_needed(self):
        """strace shows the files that are opened with CAP_DAC_READ_SEARCH in force."""
        report, log = f"{self.folder}/report", f"{self.folder}/log"
        program = shutil.copy(workload("nanosleep_loop"), self.folder)
        command = [OVERDUE, "stalls", "-T", "100us", "-o", report, "--span", SPAN.format(program), "--", program,
                   "1000", "1000"]
        os.chown(self.folder, 65534, 65534)
        traced = run([tool("strace"), "-y", "-e", "trace=openat,open,capset", "-o", log, *command],
                     env={**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534",
                          "ASAN_OPTIONS": "detect_leaks=0"})  # LeakSanitizer fails under strace
        self.assertEqual(traced.status, 0, traced)
        opened = {True: [], False: []}
        in_force = None
        with open(log, encoding="latin-1") as file:
            for line in file:
                if sets := re.match(r"capset\(.*effective=([^,]*)", line):
                    in_force = "DAC_READ_SEARCH" in sets[1]
                elif (path := re.match(r'open(?:at\()?[^"]*"([^"]*)"', line)) and in_force is not None:
                    opened[in_force].append(path[1])
        self.assertIn("report", map(os.path.basename, opened[False]))
        self.assertIn(program, opened[False])  # for the span; stacks use /proc/PID/map_files
        self.assertTrue([path for path in opened[True] if "/map_files/" in path], opened)
        self.assertNotIn("report", map(os.path.basename, opened[True]))


class OfRoot(Rights):
    def test_through_sudo_a_reader_is_the_caller(self):
        environment = {**os.environ, "SUDO_UID": "65534", "SUDO_GID": "65534"}
        finished = overdue("flame", self.secret, env=environment)
        self.assertNotEqual(finished.status, 0, finished)
        self.assertNotIn("secret", finished.out)
        os.chown(self.secret, 65534, 65534)
        self.assertEqual(overdue("flame", self.secret, env=environment).status, 0)

    def test_a_reader_holds_what_opens_files_and_nothing_else(self):
        """Checks the rights while the command waits for its input."""
        fifo = f"{self.folder}/fifo"
        os.mkfifo(fifo)
        with Live(OVERDUE, "flame", fifo) as live:
            def sets():
                with open(f"/proc/{live.pid}/status", encoding="ascii") as file:
                    return dict(re.findall(r"^(Cap\w+):\t0*(\w+)$", file.read(), re.MULTILINE))
            opens_files = {"CapInh": "0", "CapPrm": "6", "CapEff": "6", "CapBnd": "6",
                           "CapAmb": "0"}
            eventually(lambda: sets() == opens_files, 10, "it never holds just what opens files")
            with open(fifo, "w", encoding="ascii") as file:
                file.write("main;leaf 1\n")
            self.assertEqual(live.finish().status, 0)

    def test_commands_without_rights_work_without_any(self):
        for command in WITHOUT_RIGHTS[2:]:
            with self.subTest(command=command):
                as_root, as_nobody = overdue(*command), run([*NOBODY, self.plain, *command])
                self.assertEqual((as_root.status, as_root.out), (as_nobody.status, as_nobody.out))
                self.assertEqual(as_root.status, 0, as_root)


if __name__ == "__main__":
    main()
