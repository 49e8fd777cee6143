"""The real programs that the oracle tests measure. Each is a function that prepares an empty folder
and returns a Program. It is called before every run, with the same path."""
import os
import shutil
import unittest

import overdue_test
from overdue_test import NOBODY, eventually, run, tool, workload

NOBODY_ID = 65534


class Program:
    """A command, its folder, and its client: `drive()` runs beside the command and ends it."""

    def __init__(self, command, cwd, drive=None, status=0):
        self.command, self.cwd, self.drive, self.status = command, cwd, drive, status
        self.env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LC_ALL": "C", "TZ": "UTC", "HOME": cwd,
                    "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}


def make_tree(folder):
    """Some folders with some files, always the same."""
    for i in range(12):
        path = os.path.join(folder, f"d{i}", "sub", "deeper")
        os.makedirs(path)
        for j in range(8):
            with open(os.path.join(path, f"file{j}"), "w", encoding="ascii") as file:
                file.write(f"line {i} {j}\n" * (50 * (j + 1)))
    return folder


def must(command, cwd=None, env=None):
    finished = run(command, cwd=cwd, env=env)
    if finished.status != 0:
        raise AssertionError(f"cannot prepare: {command}: {finished}")


def ls(folder):
    return Program([tool("ls"), "-lR"], make_tree(folder))


def find(folder):
    return Program([tool("find"), ".", "-type", "f", "-size", "+1k", "-newermt", "2001-01-01"],
                   make_tree(folder))


def git_repository(folder):
    """20 commits; times are fixed and old, so that the index is never "racy"."""
    git = tool("git")
    env = {"PATH": "/usr/bin:/bin", "HOME": folder, "GIT_CONFIG_NOSYSTEM": "1", "TZ": "UTC"}
    make_tree(folder)
    must([git, "init", "-q", "."], folder, env)
    must([git, "config", "user.name", "o"], folder, env)
    must([git, "config", "user.email", "o@example.org"], folder, env)
    must([git, "config", "gc.auto", "0"], folder, env)
    for i in range(10):
        path = os.path.join(folder, f"d{i}", "sub", "deeper", "file0")
        with open(path, "a", encoding="ascii") as file:
            file.write(f"change {i}\n")
        must(["find", ".", "-path", "./.git", "-prune", "-o", "-exec",
              "touch", "-h", "-d", "2020-01-01", "{}", "+"], folder, env)
        env["GIT_COMMITTER_DATE"] = env["GIT_AUTHOR_DATE"] = f"2020-02-{i + 1:02}T12:00:00Z"
        must([git, "add", "-A"], folder, env)
        must([git, "commit", "-qm", f"change {i}"], folder, env)
    return git


def git_log(folder):
    return Program([git_repository(folder), "log", "--stat", "-p"], folder)


def git_status(folder):
    git = git_repository(folder)
    os.remove(os.path.join(folder, "d3/sub/deeper/file3"))
    return Program([git, "status"], folder)


def python_threads(folder):
    script = ("import os, threading\n"
              "def work(n):\n"
              "    for i in range(20 * n):\n"
              "        os.close(os.open('/dev/null', os.O_RDONLY)); os.getppid()\n"
              "for n in range(1, 6):\n"
              "    t = threading.Thread(target=work, args=(n,)); t.start(); t.join()\n")
    return Program([tool("/usr/bin/python3"), "-I", "-S", "-B", "-c", script], folder)


def shell_pipeline(folder):
    make_tree(folder)
    script = ("for d in d1 d2 d3; do cat $d/sub/deeper/file* | sort | uniq -c | wc -l; done; "
              "(cd d4 && ls | head -1); x=$(echo hello); echo $x > out")
    return Program([tool("sh"), "-c", script], folder)


def tar_gzip(folder):
    tool("gzip")
    make_tree(folder)
    must(["find", ".", "-exec", "touch", "-d", "2020-01-01", "{}", "+"], folder)
    return Program([tool("tar"), "-czf", "../archive.tgz", "."], folder)


def sqlite(folder):
    script = "create table t(a integer primary key, b text);"
    script += "".join(f"insert into t(b) values('row {i}');" for i in range(40))
    script += "begin;" + "".join(f"insert into t(b) values('more {i}');" for i in range(2000))
    script += "commit; select count(*) from t;"
    return Program([tool("sqlite3"), "-batch", "x.db", script], folder)


def redis(folder):
    server, benchmark, client = tool("redis-server"), tool("redis-benchmark"), tool("redis-cli")
    os.chown(folder, NOBODY_ID, NOBODY_ID)
    socket = os.path.join(folder, "s")

    def drive():
        eventually(lambda: os.path.exists(socket), 20, "redis-server does not come up")
        must([benchmark, "-s", socket, "-n", "1000", "-c", "4", "-q", "-t", "set,get"])
        run([client, "-s", socket, "shutdown", "nosave"])

    return Program([tool("setpriv"), *NOBODY[1:], server, "--port", "0", "--unixsocket", socket,
                    "--save", "", "--dir", folder], folder, drive)


def postgres_tool(name):
    """Debian keeps the server's programs out of PATH, one folder per version."""
    base = "/usr/lib/postgresql"
    for version in sorted(os.listdir(base) if os.path.isdir(base) else [], reverse=True):
        if os.access(f"{base}/{version}/bin/{name}", os.X_OK):
            return f"{base}/{version}/bin/{name}"
    return tool(name)


def postgres(folder):
    server, initdb, pgbench = map(postgres_tool, ("postgres", "initdb", "pgbench"))
    template = folder.rstrip("/") + ".template"
    if not os.path.exists(template):
        os.mkdir(template)
        os.chown(template, NOBODY_ID, NOBODY_ID)
        must([*NOBODY, initdb, "-D", template + "/data", "-U", "o", "-A", "trust", "--no-sync"],
             template, {"PATH": "/usr/bin:/bin", "LC_ALL": "C"})
    must(["cp", "-a", template + "/data", folder])
    os.chown(folder, NOBODY_ID, NOBODY_ID)
    data = os.path.join(folder, "data")

    def main_pid():
        with open(data + "/postmaster.pid", encoding="ascii") as file:
            return file.read().split("\n")

    def drive():
        def ready():
            try:
                return "ready" in main_pid()[7]
            except (OSError, IndexError):
                return False
        eventually(ready, 40, "postgres does not come up")
        base = [pgbench, "-h", folder, "-U", "o"]
        must([*base, "-i", "-q", "postgres"])
        must([*base, "-c", "2", "-t", "30", "postgres"])
        os.kill(int(main_pid()[0]), 2)

    return Program([tool("setpriv"), *NOBODY[1:], server, "-D", data, "-k", folder, "-h", "",
                    "-F"], folder, drive)


def java(folder):
    machine = tool("java")
    compiler = shutil.which("javac")
    if not compiler:
        return Program([machine, "-version"], folder)
    source = os.path.join(folder, "Hello.java")
    with open(source, "w", encoding="ascii") as file:
        file.write("public class Hello { public static void main(String[] a) throws Exception {\n"
                   "  Thread t = new Thread(() -> System.out.println(\"hello from a thread\"));\n"
                   "  t.start(); t.join(); System.out.println(java.nio.file.Files.size(\n"
                   "    java.nio.file.Path.of(\"Hello.java\"))); } }\n")
    kept = folder.rstrip("/") + ".class"
    if not os.path.exists(kept):
        must([compiler, source], folder)
        shutil.copy(os.path.join(folder, "Hello.class"), kept)
    shutil.copy(kept, os.path.join(folder, "Hello.class"))
    return Program([machine, "-cp", folder, "Hello"], folder)


def node(folder):
    with open(os.path.join(folder, "data"), "w", encoding="ascii") as file:
        file.write("x" * 100000)
    script = ("const fs = require('fs'); fs.readFile('data', (e, d) => { "
              "fs.writeFileSync('copy', d); console.log(d.length); });")
    return Program([tool("node", "nodejs"), "-e", script], folder)


def static(folder):
    return Program([workload("getppid_static"), "5000", "3"], folder)


def int80(folder):
    program = [workload("int80"), "50"]
    if run(program).status != 0:
        raise unittest.SkipTest("no 32-bit entry in this kernel")
    return Program(program, folder)


def tiny32(folder):
    return Program([overdue_test.tiny32()], folder, status=7)


def unknown_calls(folder):
    return Program([workload("unknown_calls")], folder)


def errors(folder):
    return Program([workload("errors")], folder)


def threads(folder):
    return Program([workload("thread_churn"), "300", "20", "1"], folder)


def pipes(folder):
    return Program([workload("pipe_pingpong"), "500"], folder)


def fork_exec(folder):
    return Program([workload("fork_exec_storm"), "40", tool("true")], folder)


def vfork_exec(folder):
    return Program([workload("vfork_exec"), "40", tool("true")], folder)


def exec_in_thread(folder):
    return Program([workload("exec_in_thread"), tool("echo"), "hello"], folder)


def signals(folder):
    return Program([workload("interrupted_sleep"), "handler", "4"], folder)


def restarts(folder):
    return Program([workload("interrupted_sleep"), "restart", "4"], folder)


def refused(folder):
    return Program([workload("refused"), "20", "kill"], folder, status=-31)


def killed(folder):
    return Program([workload("die"), "15"], folder, status=-15)
