"""sqlite3 waits for a database that another connection keeps locked: its busy handler sleeps and tries again."""
from scenario import Truth, whole_session, pause, tool

GROUP = "loops"
SYMPTOM = "an update of an SQLite database takes seconds"
READING = """\
SQLite's busy handler sleeps and tries again. The process that has the database locked is named."""
TRUTH = Truth(cause=r"fcntl.*shop\.db", who="sqlite3", kinds=("retry",), by="holder")

HOLDER = '''
import sqlite3
name("holder")
base = sqlite3.connect("shop.db", isolation_level=None)
base.execute("create table if not exists stock(n int)")
base.execute("begin exclusive")
say("ready")
time.sleep(1000)
'''

account = whole_session


def start(stage):
    tool("sqlite3")
    stage.python(HOLDER)
    target = stage.start(tool("sqlite3"), "-cmd", ".timeout 1000000", "shop.db", "insert into stock values(1)")
    pause(0.5)
    return ["-p", target.pid]
