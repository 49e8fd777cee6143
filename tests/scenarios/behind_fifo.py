"""A real-time thread waits behind one with a higher priority."""
from scenario import Truth, tool
from overdue_test import require_root

GROUP = "cpu"
SYMPTOM = "a real-time thread that should run each 10 ms misses every fifth turn"
READING = """\
The thread was runnable, and a thread with a higher real-time priority had the CPU. Both are named
with their time."""
TRUTH = Truth(cause=r"run queue|CPU|late", who="control", by="recorder", kinds=("runqueue",))

HOG = '''
name("recorder")
say("ready")
while True:
    until = now() + 20_000_000
    while now() < until:
        pass
    time.sleep(0.03)
'''

PROGRAM = '''
name("control")
say("ready")
due = now()
while True:
    due += 10_000_000
    time.sleep(max(0, due - now()) / 1e9)
    late = now() - due
    if late > 1_000_000:
        say("wait", due, late)
        due = now()
'''


def start(stage):
    require_root()
    chrt, taskset = tool("chrt"), tool("taskset")
    stage.python(HOG, before=[taskset, "-c", "0", chrt, "-f", "50"])
    return ["-p", stage.python(PROGRAM, before=[taskset, "-c", "0", chrt, "-f", "10"]).pid]
