"""Transactions of PostgreSQL wait for a row that another transaction holds while it sleeps."""
import postgres
from scenario import MS, Account, Truth, pause

GROUP = "locks"
SYMPTOM = "updates of one table take 100 ms, with an idle disk and an idle CPU"
READING = """\
The backends wait in `ProcSleep` for a lock; the root holds it and sleeps in `pg_sleep` within its
transaction."""
TRUTH = Truth(cause=r"lock", who="postgres", by="postgres", example="ProcSleep|LockAcquire|heap_update",
              not_by="walwriter|checkpointer")


def start(stage):
    server = postgres.Server(stage, "-F")
    server.sql("create table stock(id int primary key, n int); insert into stock values(1, 0)")
    server.bench("begin; update stock set n = n + 1 where id = 1; select pg_sleep(0.1); commit;", 1)
    stage.bench = server.bench("update stock set n = n + 1 where id = 1;", 2, "-l", "--log-prefix=waiters")
    pause(1)
    stage.server = server
    return server.target()


def account(stage, begin, end):
    late = [took for took in stage.server.transactions(stage.bench, "waiters", begin, end) if took > 5 * MS]
    return Account(len(late), sum(late))
