"""A program is traced by strace, which stops it at each system call."""
from scenario import Truth, pause, tool

GROUP = "loops"
SYMPTOM = "a program is three times slower than yesterday, with little CPU"
READING = """\
Each stop is too short to be examined. Their sum is most of the program's time. The tracer is named
if some stops were longer."""
TRUTH = Truth(cause=r"stopped", who="worker")

PROGRAM = '''
import os
name("worker")
say("ready")
while True:
    for _ in range(100):
        os.getppid()
    time.sleep(0.001)
'''


def start(stage):
    strace = tool("strace")
    target = stage.python(PROGRAM)
    stage.start(strace, "-o", stage.path("trace"), "-p", target.pid)
    pause(0.5)
    return ["-p", target.pid]
