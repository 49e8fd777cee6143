"""PostgreSQL for the scenarios. Not a scenario."""
import contextlib
import os
import shutil
import time

from programs import postgres_tool
from scenario import NOBODY_ID, eventually, must, read, run, tool
from overdue_test import NOBODY


class Server:
    def __init__(self, stage, *options):
        self.stage = stage
        os.chown(stage.folder, NOBODY_ID, NOBODY_ID)
        data = stage.path("data")
        environment = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        must([*NOBODY, postgres_tool("initdb"), "-D", data, "-U", "o", "-A", "trust", "--no-sync"],
             cwd=stage.folder, env=environment, timeout=120)
        self.process = stage.start(*NOBODY, postgres_tool("postgres"), "-D", data, "-k", stage.folder, "-h", "",
                                   *options, env=environment)
        self.client = [tool("psql"), "-X", "-q", "-A", "-t", "-h", stage.folder, "-U", "o", "postgres"]
        eventually(lambda: run([*self.client, "-c", "select 1"]).status == 0, 60, "postgres does not come up")

    def target(self):
        """All present processes of the server."""
        pids = [self.process.pid]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if int(read(f"/proc/{pid}/stat").rpartition(")")[2].split()[1]) == self.process.pid:
                    pids.append(int(pid))
        return ["-p", ",".join(map(str, pids))]

    def sql(self, text):
        return must([*self.client, "-c", text]).out

    def bench(self, script, clients, *options):
        """Runs the script in pgbench."""
        path = self.stage.write(f"bench{len(self.stage.outputs)}.sql", script)
        return self.stage.start(shutil.which("pgbench", path="/usr/bin") or postgres_tool("pgbench"), "-n", "-h",
                                self.stage.folder, "-U", "o", "-c", clients, "-T", 12, "-f", path, *options,
                                "postgres")

    def transactions(self, bench, prefix, begin_ns, end_ns):
        """The times in ns, longest first, of the transactions that pgbench logged under the prefix and
        that ended in the session. Waits for the end of pgbench, which writes its log then."""
        bench.wait(30)
        offset_ns = time.time_ns() - time.monotonic_ns()
        took = []
        for name in os.listdir(self.stage.folder):
            if name.startswith(prefix):
                with open(self.stage.path(name), encoding="ascii") as file:
                    rows = [list(map(int, line.split())) for line in file]
                took += [1000 * row[2] for row in rows
                         if begin_ns <= 10**9 * row[4] + 1000 * row[5] - offset_ns <= end_ns]
        return sorted(took, reverse=True)
