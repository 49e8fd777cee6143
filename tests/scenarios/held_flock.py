"""flock(1) waits for a lock that another program holds for ever."""
from scenario import Truth, whole_session, eventually, pause, read, tool

GROUP = "endless"
SYMPTOM = "a cron job has hung since last night"
READING = """\
The call has not ended; the lock's path and its holder are named."""
TRUTH = Truth(cause=r"flock.*job\.lock", who="flock", by="holder", kinds=("open",), example="flock",
              most=5)  # from its start, before the session

HOLDER = '''
import fcntl
name("holder")
file = open("job.lock", "w")
fcntl.flock(file, fcntl.LOCK_EX)
say("ready")
time.sleep(1000)
'''

account = whole_session


def start(stage):
    stage.python(HOLDER)
    target = stage.start(tool("flock"), "job.lock", tool("true"))
    eventually(lambda: "flock" in read(f"/proc/{target.pid}/comm"), 10, "flock does not start")
    pause(0.2)
    return ["-p", target.pid]
