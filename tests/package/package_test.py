#!/usr/bin/python3
"""The results of `make package` in build/packages: programs that need nothing but a kernel, in a
.deb without dependencies and in a .tar.gz. tools/check runs this test, as root."""
import glob
import gzip
import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import NOBODY, FolderTest, main, run, tool

SOURCE = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
RECORDING = os.path.join(SOURCE, "tests", "golden", "compat", "format-1.odt")
MOST_BYTES = 12_000_000
# $1: the folder that becomes the root; then: folders to bind there, --, and the command.
EMPTY_ROOT = """
set -e
root=$1; shift
mount --bind "$root" "$root"
while [ "$1" != -- ]; do mount --rbind "/$1" "$root/$1"; shift; done
shift
exec chroot "$root" "$@"
"""


def the_file(pattern):
    found = glob.glob(os.path.join(SOURCE, "build", "packages", pattern))
    assert len(found) == 1, f"{pattern}: {found}; run make package"
    return found[0]


class PackageTest(FolderTest):
    """The .deb, unpacked in self.folder/deb, and a root with only the programs, in self.root."""

    def setUp(self):
        super().setUp()
        self.deb = os.path.join(self.folder, "deb")
        self.checked("dpkg-deb", "-x", the_file("overdue_*.deb"), self.deb)
        self.overdue = os.path.join(self.deb, "usr/bin/overdue")
        self.demos = glob.glob(os.path.join(self.deb, "usr/libexec/overdue/*-demo"))
        self.root = os.path.join(self.folder, "root")
        for folder in ("proc", "sys", "tmp"):  # tmp: for the resolver's sandbox
            os.makedirs(os.path.join(self.root, folder))
        for program in (self.overdue, *self.demos, RECORDING):
            shutil.copy(program, self.root)

    def checked(self, *command, **options):
        finished = run(list(command), **options)
        self.assertEqual(finished.status, 0, f"{command}: {finished}")
        return finished.out

    def in_empty_root(self, *command, bind=("proc",)):
        return run(["unshare", "--mount", "sh", "-c", EMPTY_ROOT, "sh", self.root, *bind, "--", *command])


class Programs(PackageTest):
    def test_measures_with_capabilities_of_the_file(self):
        """Without CAP_SYS_ADMIN, libbpf needs a function of ours, which the linker substitutes."""
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:  # file capabilities work there
            os.chmod(folder, 0o755)
            program = shutil.copy(self.overdue, folder)
            self.checked(tool("setcap"), "cap_bpf,cap_perfmon=ep", program)
            self.checked(*NOBODY, program, "syscalls", "-a", "-d", "100ms")

    def test_need_no_library_and_no_loader(self):
        self.assertEqual(len(self.demos), 6)
        for program in (self.overdue, *self.demos):
            with self.subTest(program=program):
                elf = self.checked("readelf", "--wide", "--dynamic", "--program-headers", program)
                self.assertNotIn("(NEEDED)", elf)
                self.assertNotIn("INTERP", elf)
                self.assertRegex(elf, r"Elf file type is DYN")  # addresses are random

    def test_size(self):
        self.assertLessEqual(os.path.getsize(self.overdue), MOST_BYTES)
        self.assertNotIn(".debug_info", self.checked("readelf", "--wide", "--sections", self.overdue))

    def test_start_in_an_empty_root(self):
        for arguments in (["--version"], ["--help"], ["stalls", "--help"], ["probes"], ["schema"],
                          ["report", "/format-1.odt"], ["report", "-f", "json", "/format-1.odt"]):
            with self.subTest(arguments=arguments):
                finished = self.in_empty_root("/overdue", *arguments)
                here = [word.replace("/format-1.odt", RECORDING) for word in arguments]
                self.assertEqual(finished.status, 0, finished)
                self.assertEqual(finished.out, self.checked(self.overdue, *here))

    def test_top_needs_the_description_of_the_terminal(self):
        def top(*bind):
            words = ["unshare", "--mount", "sh", "-c", EMPTY_ROOT, "sh", self.root, *bind, "--", "/overdue", "top",
                     "-d", "1s"]
            return run([tool("script"), "-qec", shlex.join(words), "/dev/null"], env={**os.environ, "TERM": "xterm"})
        finished = top("proc", "sys")
        self.assertEqual(finished.status, 1, finished)
        self.assertIn("no description of 'xterm'", finished.out)
        os.makedirs(os.path.join(self.root, "lib", "terminfo"))
        finished = top("proc", "sys", "lib/terminfo")
        self.assertEqual(finished.status, 0, finished)
        self.assertIn("overdue top: all processes, ", finished.out)

    def test_doctor_says_what_an_empty_root_lacks(self):
        finished = self.in_empty_root("/overdue", "doctor", "--no-calibrate")
        self.assertIn(finished.status, (0, 1), finished)
        self.assertIn("BTF", finished.out)

    def test_demos_start_in_an_empty_root(self):
        for demo in self.demos:
            finished = self.in_empty_root("/" + os.path.basename(demo), "--help")
            self.assertEqual(finished.status, 0, finished)


class Measuring(PackageTest):
    def test_the_whole_machine(self):
        sleeper = os.path.join(self.deb, "usr/libexec/overdue/sleep-demo")
        # The machine may be idle, so the test makes calls of its own.
        work = subprocess.Popen([sleeper, "--count", "1000", "--min", "10ms", "--max", "20ms"],
                                stdout=subprocess.DEVNULL)
        try:
            finished = self.in_empty_root("/overdue", "syscalls", "-d", "1s", "-a", "--by", "process",
                                          bind=("proc", "sys"))
        finally:
            work.kill()
            work.wait()
        self.assertEqual(finished.status, 0, finished)
        self.assertRegex(finished.out + finished.err, r"(?m)^[\d,]+ events, 0 lost")
        self.assertRegex(finished.out, rf"(?m)^{work.pid} sleep-demo +clock_nanosleep +[1-9]")

    def test_stacks_of_a_static_program_through_the_sandbox(self):
        finished = self.in_empty_root("/overdue", "stalls", "--idle", "-T", "20ms", "--", "/sleep-demo", "--count", "3",
                                      "--min", "30ms", "--max", "40ms", bind=("proc", "sys"))
        self.assertEqual(finished.status, 0, finished)
        self.assertEqual(len(re.findall(r"called from .*sleep_for_a_while", finished.err)), 3, finished)
        self.assertNotIn("sandbox", finished.err)

    def test_users_by_number_and_by_file(self):
        arguments = ["/overdue", "syscalls", "--user", "anna", "--", "/sleep-demo", "--count", "1"]
        finished = self.in_empty_root(*arguments, bind=("proc", "sys"))
        self.assertEqual(finished.status, 125, finished)
        self.assertIn("id -u", finished.err)
        os.makedirs(os.path.join(self.root, "etc"))
        with open(os.path.join(self.root, "etc", "passwd"), "w", encoding="utf-8") as file:
            file.write("anna:x:4321:4321::/:/bin/sh\n")
        for user in ("anna", "4321", "77777"):
            arguments[3] = user
            finished = self.in_empty_root(*arguments, bind=("proc", "sys"))
            self.assertEqual(finished.status, 0, finished)


class Packages(PackageTest):
    def test_deb_depends_on_nothing(self):
        fields = self.checked("dpkg-deb", "--field", the_file("overdue_*.deb"))
        self.assertRegex(fields, r"(?m)^Architecture: ")
        self.assertNotRegex(fields, r"(?m)^(Pre-)?Depends:")

    def test_deb_installs_where_nothing_is_installed(self):
        admin = os.path.join(self.root, "var/lib/dpkg")
        os.makedirs(os.path.join(admin, "info"))
        os.makedirs(os.path.join(admin, "updates"))
        with open(os.path.join(admin, "status"), "w", encoding="utf-8"):
            pass
        self.checked("dpkg", f"--root={self.root}", "--install", the_file("overdue_*.deb"))
        self.assertEqual(self.in_empty_root("/usr/bin/overdue", "--version").status, 0)
        self.assertEqual(self.in_empty_root("/usr/bin/overdue", "demo", "--path", "sleep").out,
                         "/usr/libexec/overdue/sleep-demo\n")
        self.checked("dpkg", f"--root={self.root}", "--remove", "overdue")
        self.assertFalse(os.path.exists(os.path.join(self.root, "usr/bin/overdue")))

    def test_tar_runs_from_anywhere(self):
        with tarfile.open(the_file("overdue-*.tar.gz")) as tar:
            self.assertEqual(len({name.split("/")[0] for name in tar.getnames()}), 1)
            tar.extractall(self.folder)
        unpacked, = glob.glob(os.path.join(self.folder, "overdue-*"))
        demo = self.checked(os.path.join(unpacked, "bin/overdue"), "demo", "--path", "sleep").strip()
        self.assertEqual(demo, os.path.join(unpacked, "libexec/overdue/sleep-demo"))
        with open(os.path.join(unpacked, "bin/overdue"), "rb") as one, open(self.overdue, "rb") as other:
            self.assertEqual(one.read(), other.read())

    def test_the_first_commands_of_the_readme(self):
        with open(os.path.join(SOURCE, "README.md"), encoding="utf-8") as file:
            commands = re.findall(r"(?m)^    (.+)$", file.read().split("```")[0])
        self.assertEqual([command.split()[0] for command in commands], ["tar", "sudo"])
        shutil.copy(the_file("overdue-*.tar.gz"), self.folder)
        self.checked(*shlex.split(commands[0]), cwd=self.folder)
        measure = [str(os.getpid()) if word == "PID" else word for word in shlex.split(commands[1])[1:]]
        self.assertIn(f"[{os.getpid()}]", self.checked(*measure, cwd=self.folder))

    def test_an_application_links_the_library(self):
        program = os.path.join(self.folder, "application")
        with open(program + ".c", "w", encoding="utf-8") as file:
            file.write("#include <overdue/timerlat.h>\n"
                       "int main(void) { struct overdue_timerlat* t; return overdue_timerlat_open(-1, 1, &t) == 0; }\n")
        flags = self.checked("pkg-config", "--cflags", "--libs", "overdue-timerlat",
                             env={**os.environ, "PKG_CONFIG_PATH": glob.glob(f"{self.deb}/usr/lib/**/pkgconfig",
                                                                             recursive=True)[0]})
        self.checked("gcc", program + ".c", "-o", program, *flags.split())
        self.checked(program)

    def test_licences_of_what_is_linked(self):
        with gzip.open(os.path.join(self.deb, "usr/share/doc/overdue/third-party.gz"), "rt") as file:
            text = file.read()
        with open(os.path.join(SOURCE, "build/release/build.ninja"), encoding="utf-8") as file:
            link = re.search(r"build portable/overdue: .*\n(?:  .*\n)*?  LINK_LIBRARIES = (.*)", file.read())[1]
        linked = set(re.findall(r"/(lib\w+\.a)", link)) - set(re.findall(r"(?:src|packaging)/(?:\w+/)*(lib\w+\.a)", link))
        self.assertIn("libdw.a", linked)
        for archive in linked - {"libpthread.a", "libdl.a"}:  # parts of libc.a, and empty
            self.assertRegex(text, rf"(?m)^{re.escape(archive)} +\S+ \S+ +\S")
        for licence in ("Apache-2.0", "LGPL-2.1", "LGPL-3", "GPL-2", "GPL-3"):
            self.assertIn(f"======== {licence}\n", text)


class Completion(PackageTest):
    def complete(self, *words):
        script = """
          source "$1"; shift
          COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }
          _overdue; printf '%s\\n' "${COMPREPLY[@]}"
        """
        file = os.path.join(self.deb, "usr/share/bash-completion/completions/overdue")
        return self.checked("bash", "--norc", "-c", script, "bash", file, *words).split()

    def test_words(self):
        for words, expected in ((["overdue", "st"], ["stalls"]),
                                (["overdue", "stalls", "--th"], ["--threshold"]),
                                (["overdue", "syscalls", "--format", "nd"], ["ndjson"]),
                                (["overdue", "syscalls", "--format", "=", "cs"], ["csv"]),
                                (["overdue", "syscalls", "--format", "="], ["text", "json", "ndjson", "csv", "html"]),
                                (["overdue", "stalls", "--span", "tcp_c"], ["tcp_connect"]),
                                (["overdue", "stalls", "-T", ""], []),
                                (["overdue", "worst", "hw"], ["hwlat"]),
                                (["overdue", "demo", "mm"], ["mmap"]),
                                (["overdue", "help", "tim"], ["timerlat"]),
                                (["overdue", "stalls", "--", "make", "--th"], [])):
            with self.subTest(words=words):
                self.assertEqual(self.complete(*words), expected)

    def test_programs_after_two_dashes(self):
        self.assertIn("bash", self.complete("overdue", "stalls", "--", "bas"))

    def test_fish(self):
        if not shutil.which("fish"):
            self.skipTest("no fish")
        file = os.path.join(self.deb, "usr/share/fish/vendor_completions.d/overdue.fish")
        for line, expected in (("overdue st", "stalls"), ("overdue stalls --th", "--threshold"),
                               ("overdue syscalls --format nd", "ndjson"), ("overdue worst hw", "hwlat"),
                               ("overdue stalls -- bas", "bash")):
            with self.subTest(line=line):
                said = self.checked("fish", "--no-config", "-c", 'source $argv[1]; complete -C $argv[2]', file, line)
                self.assertIn(expected, [each.split("\t")[0] for each in said.splitlines()])

    def test_zsh(self):
        """zsh completes only in a terminal. A function named overdue prints the completed line."""
        if not shutil.which("zsh"):
            self.skipTest("no zsh")
        folder = os.path.join(self.deb, "usr/share/zsh/vendor-completions")
        for line, expected in (("overdue stal", "stalls"), ("overdue stalls --thresh", "stalls --threshold"),
                               ("overdue syscalls --format ndj", "syscalls --format ndjson"),
                               ("overdue worst hwl", "worst hwlat"),
                               ("overdue stalls -- dpkg-que", "stalls -- dpkg-query"),
                               ("overdue stalls -- ls --alm", "stalls -- ls --almost-all")):
            with self.subTest(line=line):
                said = self.in_zsh(folder, line, expected)
                self.assertIn(f"<{expected}>", said)

    def in_zsh(self, folder, line, expected):
        session = f"overdue-zsh-{uuid.uuid4()}"  # of its own: the server before may still be ending

        def tmux(*arguments):
            return subprocess.run(["tmux", "-L", session, *arguments], capture_output=True, check=False).stdout.decode()

        def shows(begin):
            return any(each and each.startswith(begin) for each in tmux("capture-pane", "-p").splitlines())
        try:
            tmux("new-session", "-d", "-x", "120", "-y", "30", "zsh", "-f")
            self.wait_for(lambda: shows(""))  # the prompt: zsh reads keys
            tmux("send-keys", f"fpath=({folder} $fpath); autoload -Uz compinit; compinit -u -D; "
                 "overdue() { print -r -- \"<${(j: :)@}>\" }; PROMPT=ready:", "Enter")
            self.wait_for(lambda: shows("ready:"))
            tmux("send-keys", "-l", line)
            tmux("send-keys", "Tab")
            self.wait_for(lambda: shows(f"ready:overdue {expected}"))
            tmux("send-keys", "Enter")
            self.wait_for(lambda: shows("<"))
            return tmux("capture-pane", "-p").replace(" >", ">")
        finally:
            tmux("kill-server")

    def wait_for(self, condition):
        deadline = time.monotonic() + 20
        while not condition():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)


if __name__ == "__main__":
    main()
