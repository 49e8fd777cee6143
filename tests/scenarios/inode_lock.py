"""Two programs write one file: a small write waits until the large one of the other is done."""
from scenario import Truth

GROUP = "locks"
SYMPTOM = "writes of a few bytes to a file take 50 ms"
READING = """\
A file has one lock for writers. The small write waits until the large one is done."""
TRUTH = Truth(cause=r"write|inode|lock", who="notes", by="bulk", example="ext4|inode|down_|rwsem|write")

BULK = '''
import os
name("bulk")
file = os.open("shared", os.O_RDWR | os.O_CREAT)
data = b"x" * (128 << 20)
os.pwrite(file, data, 0)
say("ready")
while True:
    os.pwrite(file, data, 0)
    time.sleep(0.02)
'''

PROGRAM = '''
import os
name("notes")
file = os.open("shared", os.O_RDWR)
say("ready")
while True:
    begin = now()
    os.pwrite(file, b"x", 1)
    if now() - begin > 1_000_000:
        say("wait", begin, now() - begin)
    time.sleep(0.003)
'''


def start(stage):
    stage.require_disk()
    stage.python(BULK)
    return ["-p", stage.python(PROGRAM).pid]
