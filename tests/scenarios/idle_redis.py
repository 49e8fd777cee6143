"""A Redis server without clients."""
import redis
from scenario import NOTHING

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING


def start(stage):
    return ["-p", redis.start(stage)[0].pid]
