#!/usr/bin/python3
"""`overdue top` in a terminal of tmux: rows, keys, sizes; the terminal is left as it was."""
import glob
import os
import re
import shlex
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import NOBODY, OVERDUE, FolderTest, Live, eventually, main, overdue, run, tool, workload

LOCK = (workload("lock-demo"), "--rounds", 100000, "-d", "10m", "--min", "20ms", "--max", "40ms")
HOSTILE = """
import ctypes, time
ctypes.CDLL(None).prctl(15, b"\\x1b[2J\\n\\xffz", 0, 0, 0)
while True: time.sleep(0.01)
"""


class Terminal:
    """A command in a terminal of tmux, in a shell that says how the command left the terminal."""

    made = 0

    def __init__(self, folder, *command, columns=80, lines=24, env=()):
        Terminal.made += 1
        self.folder = folder
        self.socket = f"{folder}/tmux{Terminal.made}"
        self.log = f"{folder}/log{Terminal.made}"
        words = shlex.join(map(str, command))
        script = (f"cd {folder}; export {' '.join(('A=1', *env))}; stty -g >{self.log}; "
                  f"echo before; {words}; echo status $?; stty -g >>{self.log}; echo left; exec sleep 1000")
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", str(columns), "-y", str(lines),
                  shlex.join([tool("sh"), "-c", script]))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pid = self.pid()
        self.tmux("kill-server")
        eventually(lambda: not pid or not os.path.exists(f"/proc/{pid}"), 20, "Overdue outlives its terminal")

    def tmux(self, *words):
        return subprocess.run([tool("tmux"), "-S", self.socket, *words], check=True, stdout=subprocess.PIPE,
                              env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}, timeout=20).stdout.decode()

    def lines(self, *options):
        return self.tmux("capture-pane", "-p", *options).rstrip("\n").split("\n")

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def wait_for(self, pattern, line=None):
        """Waits for the pattern in a line of the screen, or in the line of this number."""
        def seen():
            lines = self.lines()
            chosen = lines if line is None else lines[line:][:1]
            return next((found for one in chosen if (found := re.search(pattern, one))), None)
        try:
            return eventually(seen, 20, "", pause=0.1)
        except AssertionError:
            raise AssertionError(f"no {pattern!r} in {'the screen' if line is None else line}:\n"
                                 + "\n".join(self.lines())) from None

    def pid(self):
        """The process of Overdue, a child of the shell."""
        shell = self.tmux("display-message", "-p", "#{pane_pid}").strip()
        found = run([tool("pgrep"), "-P", shell, "-x", os.path.basename(OVERDUE)]).out.split()
        return int(found[0]) if found else None

    def assert_left_as_found(self, test, status=None):
        self.wait_for("^left$")
        if status is not None:
            self.wait_for(f"^status {status}$")
        with open(self.log, encoding="ascii") as file:
            before, after = file.read().splitlines()
        test.assertEqual(before, after)
        flags = self.tmux("display-message", "-p", "#{alternate_on} #{cursor_flag} #{keypad_cursor_flag}").split()
        test.assertEqual(flags, ["0", "1", "0"])


class Top(FolderTest):
    def setUp(self):
        super().setUp()
        tool("tmux")
        self.demo = self.enterContext(Live(*LOCK))

    def terminal(self, *arguments, target=True, **options):
        of = ("-p", self.demo.pid) if target else ()
        return self.enterContext(Terminal(self.folder, OVERDUE, "top", *of, *arguments, **options))

    def rows(self, terminal):
        """The first words of the rows; the selected row has its cause in the line above the last."""
        return [line.split("  ")[0] for line in terminal.lines()[4:-2] if line]

    def test_the_late_threads_come_first_in_every_width(self):
        for columns in (80, 120, 200):
            with self.subTest(columns=columns):
                terminal = self.terminal(columns=columns)
                row = terminal.wait_for(r"^waiter-\* ×\d+ +(\d\S*m?s) [█▒·]+ .*futex", 4)
                lines = terminal.lines()
                self.assertRegex(lines[0], rf"^overdue top: pid {self.demo.pid}, \d.*s; groups by late time")
                self.assertRegex(lines[2], r"^[\d,]+ events?, \d+ lost")
                self.assertRegex(lines[3], r"^GROUP +LATE TIME +ON CPU +QUEUE  LARGEST CAUSE$")
                self.assertTrue(lines[23].startswith("q quit  ? help  Enter why"), lines)
                self.assertTrue(all(len(line) <= columns for line in lines), lines)
                if columns == 200:
                    self.assertRegex(row.string, r"futex in wait_for_the_lock .* behind holder\[\d+\], which slept in hold_the_lock")
                terminal.keys("q")
                terminal.assert_left_as_found(self, 0)

    def test_no_line_is_folded(self):
        for columns in (80, 120, 200):
            terminal = self.terminal(columns=columns)
            terminal.wait_for(r"^waiter-", 4)
            self.assertEqual(len(terminal.lines("-J")), 24)  # -J joins folded lines
            terminal.keys("?")
            terminal.wait_for("^Columns$")
            self.assertEqual(len(terminal.lines("-J")), 24)

    def test_keys_choose_rows_and_time(self):
        terminal = self.terminal(columns=120)
        terminal.wait_for(r"^waiter-\* ×", 4)
        terminal.keys("n")
        terminal.wait_for("groups by name, in the last interval", 0)
        names = self.rows(terminal)
        self.assertEqual(names, sorted(names))
        terminal.keys("g")
        terminal.wait_for("threads by name", 0)
        self.assertGreaterEqual(len([name for name in self.rows(terminal) if re.match(r"waiter-\d+\[\d+\]", name)]), 2)
        terminal.keys("g")
        terminal.wait_for("processes by name", 0)
        terminal.wait_for(rf"^lock-demo\[{self.demo.pid}\] ×\d", 4)
        terminal.keys("g", "l", "t")
        terminal.wait_for("groups by late time, since the start", 0)
        late = terminal.wait_for(r"^waiter-\* ×\d+ +(\S+) ", 4)[1]
        eventually(lambda: terminal.wait_for(r"^waiter-\* ×\d+ +(\S+) ", 4)[1] != late, 10, "the sum does not grow")

    def test_the_filter(self):
        terminal = self.terminal()
        terminal.wait_for(r"^waiter-\* ×", 4)
        terminal.keys("/")
        terminal.keys("-l", "slept")  # in the cause of the waiters
        terminal.wait_for("^filter: slept_", 23)
        self.assertEqual([name.split()[0] for name in self.rows(terminal)], ["waiter-*"])
        terminal.keys("Enter")
        terminal.wait_for(r"^filter slept \(1 of \d+\)", 23)
        terminal.keys("Escape")
        terminal.wait_for("^q quit", 23)
        self.assertGreater(len(self.rows(terminal)), 1)

    def test_enter_shows_the_chain_and_escape_goes_back(self):
        terminal = self.terminal(columns=200, lines=40)
        wanted = (r"^the longest of this cause$", r"^#\d+ .*futex\(", r"└ holder\[\d+\] held it up: ",
                  r"→ hold_the_lock → clock_nanosleep", rf"^  overdue stalls .*--pid {self.demo.pid}")

        seen = []

        def explains():
            """On a busy machine, the longest wait so far may be one behind another waiter."""
            terminal.wait_for(r"^waiter-\* ×", 4)
            terminal.keys("Enter")
            terminal.wait_for(r"^waiter-\* ×\d+: \d.* late in \d", 3)
            seen[:] = terminal.lines()
            terminal.keys("Escape")
            return all(any(re.search(pattern, line) for line in seen) for pattern in wanted)
        try:
            eventually(explains, 60, pause=1)
        except AssertionError:
            self.fail("no chain with the holder: " + "\n".join(seen))
        terminal.wait_for(r"^waiter-\* ×", 4)
        terminal.keys("?")
        terminal.wait_for("^Columns$")
        terminal.keys("Escape")
        terminal.wait_for("^GROUP ", 3)

    def test_s_saves_the_report_so_far_for_the_caller(self):
        os.chmod(self.folder, 0o777)
        terminal = self.terminal(env=("SUDO_UID=65534", "SUDO_GID=65534"))
        terminal.wait_for(r"^waiter-\* ×", 4)
        terminal.keys("s")
        path = terminal.wait_for(r"report of the session so far is in (overdue-top-[\d-]+\.txt)\.", 23)[1]
        terminal.keys("s", "s", "s")  # within a second the name is the same
        terminal.wait_for("File exists|so far is in", 23)
        status = os.stat(f"{self.folder}/{path}")
        self.assertEqual((status.st_uid, status.st_mode & 0o777), (65534, 0o600))
        with open(f"{self.folder}/{path}", encoding="utf-8") as file:
            text = file.read()
        self.assertRegex(text, rf"^overdue \S+ top: pid {self.demo.pid}\n")
        self.assertRegex(text, r"(?m)^waiter-\*: .* behind holder\[\d+\]")
        self.assertRegex(text, r"(?m)^where the time went$")
        self.assertRegex(text, r"(?m)^[\d,]+ events?, \d+ lost")

    def test_a_folder_that_the_caller_may_not_write_to(self):
        terminal = self.terminal(columns=120, env=("SUDO_UID=65534", "SUDO_GID=65534"))
        terminal.wait_for(r"^waiter-\* ×", 4)
        terminal.keys("s")
        terminal.wait_for("cannot write to overdue-top-.*permission denied to user 65534", 23)
        self.assertEqual(glob.glob(f"{self.folder}/overdue-top-*"), [])

    def test_a_new_size(self):
        terminal = self.terminal()
        terminal.wait_for(r"^waiter-\* ×", 4)
        terminal.tmux("resize-window", "-x", "130", "-y", "30")
        terminal.wait_for("^q quit", 29)
        terminal.wait_for(r"^waiter-\* ×.* futex in wait_for_the_lock ← ", 4)
        terminal.tmux("resize-window", "-x", "60", "-y", "30")
        terminal.wait_for("needs 80 columns and 8 lines", 0)
        terminal.tmux("resize-window", "-x", "80", "-y", "24")
        terminal.wait_for(r"^waiter-\* ×", 4)

    def test_the_terminal_is_left_as_it_was(self):
        for number, status in (("TERM", 0), ("INT", 0), ("HUP", 0), ("SEGV", 139), ("ABRT", 134)):
            with self.subTest(signal=number):
                terminal = self.terminal()
                terminal.wait_for(r"^waiter-\* ×", 4)
                run([tool("kill"), f"-{number}", str(terminal.pid())])
                terminal.assert_left_as_found(self, status)
                if status == 0:
                    terminal.wait_for("events?, .* lost")  # the report of the session

    def test_a_second_signal_ends_at_once(self):
        terminal = self.terminal()
        terminal.wait_for(r"^waiter-\* ×", 4)
        pid = terminal.pid()
        for number in ("STOP", "INT", "TERM", "CONT"):  # both arrive at once, the lower number first
            run([tool("kill"), f"-{number}", str(pid)])
        terminal.assert_left_as_found(self, 143)

    def test_the_end_of_the_target_and_of_the_time(self):
        terminal = self.terminal("-d", "2s", target=False)
        terminal.wait_for("^overdue top: all processes, ", 0)
        terminal.assert_left_as_found(self, 0)
        terminal = self.terminal("-i", "200ms")
        terminal.wait_for(r"^waiter-\* ×", 4)
        self.demo.process.kill()
        terminal.assert_left_as_found(self, 0)
        terminal.wait_for("^look closer$")

    def test_names_cannot_control_the_terminal(self):
        hostile = self.enterContext(Live(tool("python3"), "-c", HOSTILE))
        time.sleep(0.3)
        terminal = self.enterContext(Terminal(self.folder, OVERDUE, "top", "-p", hostile.pid))
        terminal.wait_for(r"^\\x1b\[2J\\n\\xffz\[\d+…? ", 4)
        self.assertTrue(terminal.lines()[0].startswith("overdue top: "))

    def test_no_terminal(self):
        for arguments in ((), ("-p", self.demo.pid)):
            finished = overdue("top", *arguments)
            self.assertEqual(finished.status, 2, finished)
            self.assertIn("standard output is none", finished.err)
            self.assertIn("hint: overdue why", finished.err)

    def test_an_unknown_terminal(self):
        terminal = self.terminal(env=("TERM=nosuch",))
        terminal.assert_left_as_found(self, 1)
        terminal.wait_for("no description of 'nosuch'")

    def test_descriptions_of_the_caller_are_not_read(self):
        os.makedirs(f"{self.folder}/.terminfo/n")
        source = f"{self.folder}/nosuch.src"
        with open(source, "w", encoding="ascii") as file:
            file.write("nosuch|made up,\n\tuse=xterm,\n")
        made = run([tool("tic"), "-o", f"{self.folder}/.terminfo", source])
        self.assertEqual(made.status, 0, made)
        terminal = self.terminal(env=("TERM=nosuch", f"HOME={self.folder}", f"TERMINFO={self.folder}/.terminfo"))
        terminal.assert_left_as_found(self, 1)

    def test_wrong_command_lines(self):
        for arguments in (("--", "true"), ("-i", "1"), ("-i", "1ms"), ("-f", "json"), ("-d", "0s"), ("--user", "x")):
            finished = overdue("top", *arguments)
            self.assertEqual(finished.status, 2, finished)
            self.assertRegex(finished.err, "^overdue: ")


class WithoutRights(FolderTest):
    def test_a_user_without_rights(self):
        terminal = self.enterContext(Terminal(self.folder, *NOBODY, OVERDUE, "top"))
        terminal.assert_left_as_found(self, 1)
        terminal.wait_for("^overdue: ")


if __name__ == "__main__":
    main()
