"""A program writes to a pipe whose reader computes between its reads."""
import os

from scenario import Truth

GROUP = "endless"
SYMPTOM = "the first program of a pipeline uses hardly any CPU, and is slow"
READING = """\
The writer is as slow as the reader, which computes between two reads."""
TRUTH = Truth(cause=r"pipe|write", who="source", by="slow", example="write")

SOURCE = '''
name("source")
say("ready")
out = open(sys.argv[1], "wb", buffering=0)
while True:
    begin = now()
    out.write(b"x" * 65536)
    if now() - begin > 1_000_000:
        say("wait", begin, now() - begin)
'''

SLOW = '''
name("slow")
file = open(sys.argv[1], "rb", buffering=0)
say("ready")
while True:
    file.read(65536)
    until = now() + 30_000_000
    while now() < until:
        pass
'''


def start(stage):
    os.mkfifo(stage.path("pipe"))
    target = stage.python(SOURCE, "pipe")
    stage.python(SLOW, "pipe")
    return ["-p", target.pid]
