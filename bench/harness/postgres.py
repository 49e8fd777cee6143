# SPDX-License-Identifier: Apache-2.0
"""pgbench against a PostgreSQL of our own: initdb in a temporary directory, a unix socket and no network."""

import glob
import os
import pwd
import shutil
import signal
import time

from .process import Child, Unavailable, run, wait_until
from .workloads import SECTION_TIMEOUT_S, Workload, cpu_ns, cpu_of_clients_ns, cpus

SCALE = 5
START_TIMEOUT_S = 30.0
# Keep the disk, and the server's periodic work, out of the figures.
SETTINGS = ["fsync=off", "autovacuum=off", "checkpoint_timeout=1h", "max_wal_size=8GB", "listen_addresses="]


def version_of(path):
    return [int(part) if part.isdigit() else 0 for part in path.split(os.path.sep)[-2].split(".")]


def find_programs(patterns=("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")):
    """The directory with initdb and postgres of the newest version; None if there is none."""
    found = [path for pattern in patterns for path in glob.glob(pattern)
             if os.access(os.path.join(path, "initdb"), os.X_OK)]
    if found:
        return max(found, key=version_of)
    initdb = shutil.which("initdb")
    return os.path.dirname(os.path.realpath(initdb)) if initdb else None


def server_user():
    """PostgreSQL refuses to run as root."""
    for name in ("postgres", "nobody"):
        try:
            return pwd.getpwnam(name)
        except KeyError:
            continue
    return None


def number_behind(words, shown):
    for line in shown.splitlines():
        if line.startswith(words):
            return float(line[len(words):].split()[0].split("/")[0])  # "16000/16000" with -t
    raise Unavailable(f"pgbench printed {shown[:100]!r}")


def count_children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return len(file.read().split())


def cpu_of_ended_children_ns(pid):
    """cutime and cstime of proc(5), in steps of a hundredth of a second."""
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) * 10**9 // os.sysconf("SC_CLK_TCK")


class Postgres(Workload):
    """Two clients; "read" is pgbench's select-only script, "write" its default one."""

    table = "throughput"
    attach_only = True
    scope = "tree"

    def __init__(self, key, title, lengths, directory):
        """`lengths`: the pgbench options for the length of each script."""
        super().__init__(key, title, "transaction")
        self.lengths = lengths
        self.directory = directory

    def reason_missing(self):
        if not find_programs():
            return "PostgreSQL is not installed"
        for program in ("pgbench", "setpriv", "taskset"):
            if not self.program(program):
                return f"{program} is not installed"
        return None if server_user() else "there is no unprivileged user to run PostgreSQL as"

    @staticmethod
    def program(name):
        return shutil.which(name, path=f"{find_programs()}:{os.environ.get('PATH', '')}")

    def start(self, prefix=()):
        return PostgresServer(self.directory, self.lengths)


class PostgresServer:
    """The server on the first CPU, with a backend per client; pgbench on the last CPU."""

    def __init__(self, directory, lengths):
        self.lengths = lengths
        self.home = os.path.join(directory, f"postgres-{time.monotonic_ns()}")
        self.data = os.path.join(self.home, "data")
        self.child = None
        user = server_user()
        os.mkdir(self.home, 0o700)
        os.chown(self.home, user.pw_uid, user.pw_gid)
        # setpriv twice: a change of user clears the parent-death signal.
        self.as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups",
                        "setpriv", "--pdeathsig", "KILL"]
        try:
            self._start_server()
        except BaseException:
            self.end()
            raise
        self.pid = self.child.pid

    def _start_server(self):
        programs = find_programs()
        run([*self.as_user, os.path.join(programs, "initdb"), "-D", self.data, "-U", "postgres", "-A", "trust",
             "-E", "UTF8", "--locale=C", "--no-sync"], SECTION_TIMEOUT_S)
        settings = [part for setting in [*SETTINGS, f"unix_socket_directories={self.home}"]
                    for part in ("-c", setting)]
        self.child = Child([*self.as_user, "taskset", "-c", str(cpus()[0]),
                            os.path.join(programs, "postgres"), "-D", self.data, *settings])
        if not wait_until(lambda: self._is_ready() or not self.child.running(), START_TIMEOUT_S):
            raise Unavailable(f"PostgreSQL was not ready within {START_TIMEOUT_S:.0f} s")
        self._pgbench("-i", "-q", "-s", str(SCALE))

    def _is_ready(self):
        """Whether the last line of the lock file is "ready" (PostgreSQL 10 and later)."""
        try:
            with open(os.path.join(self.data, "postmaster.pid"), encoding="utf-8") as file:
                return file.read().splitlines()[-1].strip() == "ready"
        except (OSError, IndexError):
            return False

    def _pgbench(self, *arguments):
        return run(["taskset", "-c", str(cpus()[-1]), Postgres.program("pgbench"), "-h", self.home,
                    "-U", "postgres", *arguments, "postgres"], SECTION_TIMEOUT_S)

    def measure(self, divisor=1, count=None):
        """Ignores `divisor`: slow tools run no shorter."""
        clients = ["-n", "-c", "2", "-j", "1"]
        series = {}
        for name, script in (("read", ["-S"]), ("write", [])):
            others, before_ns = count_children(self.pid), cpu_of_ended_children_ns(self.pid)
            shown = self._pgbench(*script, *clients, *self.lengths[name])
            made = number_behind("number of transactions actually processed: ", shown)
            # The backends end a moment after their clients.
            if not wait_until(lambda most=others: count_children(self.pid) <= most, 5):
                raise Unavailable("a backend did not end within 5 s")
            series[name] = 1e9 / number_behind("tps = ", shown)
            series[f"{name} CPU"] = (cpu_of_ended_children_ns(self.pid) - before_ns) / made
        return series

    def take_made(self):
        return 0

    def cpu_ns(self):
        return cpu_ns(self.pid) + cpu_of_ended_children_ns(self.pid) + cpu_of_clients_ns()

    def end(self):
        if self.child:
            self.child.end(signal.SIGINT, timeout_s=20)  # a fast shutdown
        shutil.rmtree(self.home, ignore_errors=True)
