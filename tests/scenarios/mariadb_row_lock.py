"""Transactions of MariaDB wait for a row that another transaction holds while it sleeps."""
import mariadb
from scenario import Truth, pause

GROUP = "locks"
SYMPTOM = "updates of one table take 100 ms, with an idle disk and an idle CPU"
READING = """\
The threads wait in the storage engine; the root holds the row and sleeps within its transaction."""
TRUTH = Truth(cause=r"a lock of MariaDB's storage engine: .*slept in", who="mariadbd", by="mariadbd")


def start(stage):
    server = mariadb.Server(stage, "--innodb-flush-log-at-trx-commit=0")
    server.sql("create table stock(id int primary key, n int) engine=innodb; insert into stock values(1, 0)")
    update = "update stock set n = n + 1 where id = 1;"
    server.session(f"begin; {update} select sleep(0.1); commit;\n" * 500)
    for _ in range(2):
        server.session(f"{update}\n" * 2000)
    pause(1)
    return ["-p", server.process.pid]
