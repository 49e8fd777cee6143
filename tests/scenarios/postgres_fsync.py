"""Commits of PostgreSQL wait for the disk, which another program keeps busy with synchronous writes."""
import postgres
from scenario import Account, Truth, pause, tool

GROUP = "disk"
SYMPTOM = "commits take several milliseconds since the backup started"
READING = """\
The cause has the commits that wait for the disk themselves, and those that wait behind them for a
lightweight lock, which are late for the same reason."""
TRUTH = Truth(cause=r"fdatasync|fsync|disk", who="postgres", by=r"disk|postgres", not_by="autovacuum",
              least=0.15,   # the account has the whole of each commit
              first=2)  # the copy and the clients take the CPUs too


def start(stage):
    stage.require_disk()
    server = postgres.Server(stage)
    server.sql("create table log(n int)")
    stage.bench = server.bench("insert into log values(1);", 2, "-l", "--log-prefix=commits")
    loop = f"while :; do {tool('dd')} if=/dev/zero of=backup bs=4M count=64 oflag=dsync status=none; done"
    stage.start(tool("sh"), "-c", loop)
    pause(1)
    stage.server = server
    return server.target()


def account(stage, begin, end):
    commits = stage.server.transactions(stage.bench, "commits", begin, end)
    return Account(len(commits), sum(commits))
