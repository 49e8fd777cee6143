"""A PostgreSQL server with a client that asks for nothing."""
import postgres
from scenario import NOTHING, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING


def start(stage):
    server = postgres.Server(stage)
    stage.start(*server.client, stdin=stage.silence())
    pause(2)
    return server.target()
