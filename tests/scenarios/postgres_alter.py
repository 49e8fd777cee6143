"""ALTER TABLE waits for a transaction that is open and idle; every query of the table waits behind it."""
import os

import postgres
from scenario import Account, Truth, pause

GROUP = "locks"
SYMPTOM = "all queries of a table hang"
READING = """\
The target is the server's first process; its children belong to it. The backends have waited in
`ProcSleep` for a lock for longer than the session; `pg_blocking_pids` says for whose."""
TRUTH = Truth(cause=r"lock of PostgreSQL", who="postgres", kinds=("open",), example="ProcSleep|WaitOnLock",
              most=30)  # from their start, before the session
BACKENDS = 3


def start(stage):
    server = postgres.Server(stage, "-F")
    server.sql("create table stock(id int primary key, n int); insert into stock values(1, 0)")
    reader, writer = os.pipe()
    stage.undo.callback(os.close, writer)
    stage.start(*server.client, stdin=reader)
    os.close(reader)
    os.write(writer, b"begin; select n from stock;\n")
    pause(0.5)
    stage.start(*server.client, "-c", "alter table stock add column place int")
    pause(0.3)
    server.bench("select n from stock where id = 1;", BACKENDS - 1)
    pause(0.3)
    return ["-p", server.process.pid]


def account(_stage, begin, end):
    return Account(None, BACKENDS * (end - begin))
