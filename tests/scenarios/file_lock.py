"""Writers of one file take turns by fcntl; one of them keeps the lock while it sleeps."""
from scenario import Truth

GROUP = "locks"
SYMPTOM = "programs that append to a shared file take 60 ms for each line"
READING = """\
The lock of a file, of which the holder sleeps. The root is named although it is another process."""
TRUTH = Truth(cause=r"fcntl|lock", who="appender", by="archiver", example=r"shared|fcntl")

ARCHIVER = '''
import fcntl
name("archiver")
file = open("shared", "a")
say("ready")
while True:
    fcntl.lockf(file, fcntl.LOCK_EX)
    time.sleep(0.06)
    fcntl.lockf(file, fcntl.LOCK_UN)
    time.sleep(0.03)
'''

PROGRAM = '''
import fcntl
name("appender")
file = open("shared", "a")
say("ready")
while True:
    begin = now()
    fcntl.lockf(file, fcntl.LOCK_EX)
    if now() - begin > 1_000_000:
        say("wait", begin, now() - begin)
    file.write("x")
    fcntl.lockf(file, fcntl.LOCK_UN)
    time.sleep(0.002)
'''


def start(stage):
    stage.python(ARCHIVER)
    return ["-p", stage.python(PROGRAM).pid]
