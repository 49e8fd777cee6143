"""An nginx server without requests."""
import nginx
from scenario import NOTHING

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING


def start(stage):
    return nginx.start(stage)
