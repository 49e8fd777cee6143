"""A PostgreSQL session waits for a lock of one whose client has begun a transaction and does nothing."""
import postgres
from scenario import Truth, eventually, pause, whole_session

GROUP = "locks"
SYMPTOM = "a query does not end, and the server does nothing"
READING = """\
The query waits for a lock of PostgreSQL, and one session alone is in a transaction: it has the lock,
and its client does not end the transaction. `pg_terminate_backend` ends the session."""
TRUTH = Truth(cause=r"a lock of PostgreSQL: .*; postgres\[\d+\] is idle in a transaction", who="postgres", by="postgres",
              kinds=("open",))


def start(stage):
    server = postgres.Server(stage)
    text = stage.write("begin.sql", "begin; select pg_advisory_lock(1);\n\\! sleep 1000\n")
    stage.start(*server.client, "-f", text)
    eventually(lambda: server.sql("select 1 from pg_locks where locktype = 'advisory'").strip() == "1", 30, "no lock")
    stage.start(*server.client, "-c", "select pg_advisory_lock(1)")
    eventually(lambda: server.sql("select 1 from pg_locks where not granted").strip() == "1", 30, "no session waits")
    pause(0.5)  # the sessions that have asked are ending
    return server.target()


account = whole_session
