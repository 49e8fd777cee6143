"""A shell that sleeps between its rounds, as cron does."""
from scenario import NOTHING, pause, tool

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING


def start(stage):
    process = stage.start(tool("sh"), "-c", "while :; do sleep 0.5; done")
    pause(0.3)
    return ["-p", process.pid]
