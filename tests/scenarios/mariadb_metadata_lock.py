"""A change of a table of MariaDB waits for a transaction whose client does nothing."""
import mariadb
from scenario import Truth, eventually, whole_session

GROUP = "endless"
SYMPTOM = "queries of one table hang, with an idle disk and an idle CPU"
READING = """\
The statement waits for the metadata lock of the table. A transaction that has read the table has the
lock until it ends: `information_schema.innodb_trx` lists the open ones. A thread that serves a
client's statement is no idle one of a pool."""
# The server waits for a second at a time.
TRUTH = Truth(cause=r"a metadata lock of MariaDB: futex in MDL_wait::timed_wait", who="mariadbd",
              example="MDL_context::acquire_lock")


def start(stage):
    server = mariadb.Server(stage)
    server.sql("create table stock(id int primary key, n int) engine=innodb; insert into stock values(1, 0)")
    server.session("begin; select * from stock;")
    eventually(lambda: server.sql("select trx_id from information_schema.innodb_trx"), 10, "no transaction")
    server.session("alter table stock add column x int;")
    eventually(lambda: "metadata lock" in server.sql("show processlist"), 10, "the change does not wait")
    return ["-p", server.process.pid]


account = whole_session
