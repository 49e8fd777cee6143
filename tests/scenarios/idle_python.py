"""A Python service whose threads wait for work, and a client that is quick."""
from scenario import NOTHING

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

PROGRAM = '''
import queue
work = queue.Queue()
def worker():
    while True:
        work.get()
def clock():
    while True:
        time.sleep(0.2)
        work.put(1)
for _ in range(4):
    start("worker", worker)
start("clock", clock)
say("ready")
threading.Event().wait()
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]
