"""A program writes to a pipe that its reader has stopped to read: the wait never ends."""
import os

from scenario import Truth, whole_session

GROUP = "endless"
SYMPTOM = "a program hangs"
READING = """\
The call has not ended. Its age counts, from its start, although nothing was recorded of it in the
session. The process at the other end of the pipe should read."""
TRUTH = Truth(cause=r"pipe.*other end", who="exporter", by="viewer", kinds=("open",), example="write",
              most=5)  # from its start, before the session

WRITER = '''
import os
name("exporter")
say("ready")
with open(sys.argv[1], "wb", buffering=0) as out:
    while True:
        begin = now()
        out.write(b"x" * 4096)
'''

READER = '''
name("viewer")
file = open(sys.argv[1], "rb", buffering=0)
file.read(100)
say("ready")
time.sleep(1000)
'''

account = whole_session


def start(stage):
    os.mkfifo(stage.path("pipe"))
    target = stage.python(WRITER, "pipe")
    stage.python(READER, "pipe")
    return ["-p", target.pid]
