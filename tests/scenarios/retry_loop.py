"""A program tries a lock without waiting, and sleeps after each refusal."""
from scenario import Truth

GROUP = "loops"
SYMPTOM = "a program that updates a file takes seconds, and each of its calls is short"
READING = """\
Each call is short and each sleep is wanted; together they are the program's whole time. The path
and the holder of the lock are named."""
TRUTH = Truth(cause=r"flock.*file\.lock", who="updater", kinds=("retry",),
              by="holder")

HOLDER = '''
import fcntl
name("holder")
file = open("file.lock", "w")
fcntl.flock(file, fcntl.LOCK_EX)
say("ready")
time.sleep(1000)
'''

PROGRAM = '''
import fcntl
name("updater")
file = open("file.lock", "w")
say("ready")
while True:
    begin = now()
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        time.sleep(0.02)
    say("wait", begin, now() - begin)
'''


def start(stage):
    stage.python(HOLDER)
    return ["-p", stage.python(PROGRAM).pid]
