"""A Python thread that serves requests waits for the interpreter's lock, which threads that compute hold."""
from scenario import Truth

GROUP = "runtimes"
SYMPTOM = "a Python thread with little to do is 5 to 15 ms late each time"
READING = """\
All threads of the process share one lock. The line `late:` shows that `server`, which has hardly
anything to do, waits for the threads that compute. Move the computation to another process."""
TRUTH = Truth(cause=r"GIL|lock|futex", who="server", by="cruncher", example="cond_timedwait|take_gil")

PROGRAM = '''
def cruncher():
    while True:
        sum(i * i for i in range(1000))
def server():
    begin = now()
    while True:
        time.sleep(0.005)  # gets the interpreter's lock back at its end
        late = now() - begin - 5_000_000
        begin += 5_000_000 + late
        if late > 1_000_000:
            say("wait", begin - late, late)  # gets it back, too: that is part of the next turn
for _ in range(2):
    start("cruncher", cruncher)
start("server", server)
time.sleep(0.5)
say("ready")
threading.Event().wait()
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]
