"""A shell script starts hundreds of short programs a second, on the CPU of a thread that should work."""
from scenario import Truth, pause, tool

GROUP = "cpu"
SYMPTOM = "a job takes twice as long, and top shows no other program that is busy"
READING = """\
No process of the storm lives long enough for `top`. Their names are summed: `true` and `sh` had the
CPU while the encoder could run."""
TRUTH = Truth(cause=r"run queue|CPU", who="encoder", by="sh|true", kinds=("runqueue",), least=0.3,
              first=2)  # the encoder computes for as long itself

PROGRAM = '''
name("encoder")
say("ready")
last = now()
while True:  # a gap between two readings of the clock is time without the CPU
    at = now()
    if at - last > 300_000:
        say("wait", last, at - last)
        at = now()
    last = at
'''


def start(stage):
    target = stage.python(PROGRAM, before=[tool("taskset"), "-c", "0"])
    stage.start(tool("taskset"), "-c", "0", tool("sh"), "-c", "while :; do /bin/true; done")
    pause(0.3)
    return ["-p", target.pid]
