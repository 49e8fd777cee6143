#!/usr/bin/python3
"""Programs that need a terminal, under `overdue syscalls`: a shell with job control, vi, less and
top, in tmux, as the same and as another user. They work as they do under `sudo` with use_pty."""
import json
import os
import shlex
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import OVERDUE, FolderTest, eventually, main, tool

WAYS = {"as oneself": (), "as another user": ("--user", "nobody")}
PROMPT = "outer> "
RCFILE = f"PS1='{PROMPT}'; unset PROMPT_COMMAND HISTFILE; set -m\n"
INNER_RCFILE = RCFILE.replace("outer", "inner")


class Terminal:
    """A shell in a terminal of tmux; `screen` is the visible text."""

    made = 0

    def __init__(self, folder):
        Terminal.made += 1
        self.socket = f"{folder}/tmux{Terminal.made}"
        self.rcfile = f"{folder}/rc"
        with open(self.rcfile, "w", encoding="ascii") as file:
            file.write(RCFILE)
        self.tmux("-f", "/dev/null", "new-session", "-d", "-x", "90", "-y", "20",
                  shlex.join([tool("bash"), "--noprofile", "--rcfile", self.rcfile, "-i"]))

    def __enter__(self):
        self.wait_for_prompt()
        return self

    def __exit__(self, *_):
        self.tmux("kill-server")

    def tmux(self, *words):
        return subprocess.run([tool("tmux"), "-S", self.socket, *words], check=True, stdout=subprocess.PIPE,
                              env={**os.environ, "TERM": "xterm", "LC_ALL": "C.UTF-8"}, timeout=20).stdout.decode()

    @property
    def screen(self):
        return self.tmux("capture-pane", "-p")

    @property
    def last_line(self):
        return self.screen.rstrip("\n").rpartition("\n")[2]

    def keys(self, *names):
        self.tmux("send-keys", *names)

    def line(self, text):
        self.tmux("send-keys", "-l", text)
        self.keys("Enter")

    def wait_for(self, text):
        self.wait_until(lambda: text in self.screen, f"no {text!r}")

    def wait_until(self, condition, what):
        try:
            eventually(condition, 20, what, pause=0.05)
        except AssertionError as error:
            raise AssertionError(f"{error}; the screen:\n{self.screen}") from None

    def wait_for_program(self, name="overdue"):
        """Waits until the program is in the foreground. What is typed before is bash's, whose mode
        keeps the line's end from the program."""
        self.wait_until(lambda: name in self.tmux("display-message", "-p", "#{pane_current_command}"),
                        f"{name} is not in the foreground")

    def wait_for_prompt(self, prompt=PROMPT):
        """Waits until the last line is the prompt alone."""
        self.wait_until(lambda: self.last_line.rstrip() == prompt.rstrip(), f"no prompt {prompt!r}")


class Interactive(FolderTest):
    def setUp(self):
        super().setUp()
        for name in ("tmux", "vi", "less", "top"):
            tool(name)
        self.place = f"{self.folder}/theirs"
        os.mkdir(self.place)
        os.chmod(self.place, 0o777)
        self.report = f"{self.folder}/report.json"

    def each_way(self, use, *command):
        """Calls `use` with a terminal that runs the command, and waits for the report."""
        for way, options in WAYS.items():
            with self.subTest(way), Terminal(self.folder) as terminal:
                terminal.line(shlex.join([OVERDUE, "syscalls", "-f", "json", "-o", self.report, *options, "--",
                                          *command]))
                terminal.wait_for_program()
                use(terminal)
                terminal.wait_for_prompt()
                with open(self.report, encoding="utf-8") as file:
                    self.assertGreater(len(json.load(file)["syscalls"]), 5)
                os.remove(self.report)

    def stop_and_go_on(self, terminal, sign):
        """^Z brings the shell's prompt back, `fg` the program."""
        terminal.keys("C-z")
        terminal.wait_for_prompt()
        terminal.line("echo between; jobs")
        terminal.wait_for("\nbetween")
        terminal.wait_for("Stopped")
        self.assertEqual(terminal.tmux("display-message", "-p", "#{alternate_on}").strip(), "0",
                         "the program's screen is still there")
        terminal.line("clear; fg")
        terminal.wait_for_program()
        terminal.wait_for(sign)

    def test_a_shell_has_jobs_and_the_windows_size(self):
        inner = f"{self.place}/rc"
        with open(inner, "w", encoding="ascii") as file:
            file.write(INNER_RCFILE)
        def use(terminal):
            terminal.wait_for_prompt("inner> ")
            terminal.line("sleep 1000")
            terminal.wait_for_program("sleep")
            terminal.keys("C-z")
            terminal.wait_for("Stopped")
            terminal.wait_for_prompt("inner> ")
            terminal.line("clear; bg; jobs")
            terminal.wait_for("Running")
            terminal.line("clear; fg")
            terminal.wait_for("sleep 1000")
            terminal.keys("C-c")
            terminal.wait_for_prompt("inner> ")
            terminal.tmux("resize-window", "-x", "77", "-y", "18")
            terminal.line("clear; stty size")
            terminal.wait_for("18 77")
            terminal.line("clear; kill -TERM $$; echo survived")  # an interactive shell ignores this
            terminal.wait_for("survived")
            terminal.line("clear; exit")
        self.each_way(use, tool("bash"), "--noprofile", "--rcfile", inner, "-i")

    def test_vi_edits_and_is_stopped(self):
        path = f"{self.place}/text"
        def use(terminal):
            terminal.wait_for("~\n~")
            terminal.keys("i")
            terminal.tmux("send-keys", "-l", "written here")
            terminal.keys("Escape")
            terminal.wait_for("written here")
            self.stop_and_go_on(terminal, "written here")
            terminal.line(":wq")
            terminal.wait_for_prompt()
            with open(path, encoding="ascii") as file:
                self.assertEqual(file.read(), "written here\n")
            os.remove(path)
        self.each_way(use, tool("vi"), "-u", "NONE", path)

    def test_less_turns_pages_and_is_stopped(self):
        path = f"{self.place}/lines"
        with open(path, "w", encoding="ascii") as file:
            file.writelines(f"line {number}\n" for number in range(1000))
        def use(terminal):
            terminal.wait_for("line 3\n")
            terminal.keys("Space")
            terminal.wait_for("line 25\n")
            for _ in range(5):  # a race is not lost every time
                self.stop_and_go_on(terminal, "line 25\n")
            terminal.keys("G")
            terminal.wait_for("line 999\n")
            terminal.keys("q")
        self.each_way(use, tool("less"), path)

    def test_top_draws_until_it_is_told_to_end(self):
        def use(terminal):
            terminal.wait_for("load average")
            terminal.tmux("resize-window", "-x", "70", "-y", "15")
            terminal.wait_for("PID USER")
            self.stop_and_go_on(terminal, "load average")
            terminal.keys("q")
        self.each_way(use, tool("top"), "-d", "0.3")

    def test_the_stop_key_stops_a_program_of_no_screen(self):
        def use(terminal):
            terminal.line("hello")
            terminal.wait_for("hello\nhello")
            self.stop_and_go_on(terminal, "cat")
            terminal.line("again")
            terminal.wait_for("again\nagain")
            terminal.keys("C-d")
        self.each_way(use, tool("cat"))


if __name__ == "__main__":
    main()
