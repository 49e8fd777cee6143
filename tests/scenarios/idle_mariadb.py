"""A MariaDB server whose clients ask nothing."""
import mariadb
from scenario import NOTHING, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING


def start(stage):
    server = mariadb.Server(stage)
    for _ in range(3):
        server.session("select 1;")
    pause(1)
    return ["-p", server.process.pid]
