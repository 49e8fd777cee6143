"""A program that writes a log synchronously shares the disk with dd."""
from scenario import Truth, pause, tool

GROUP = "disk"
SYMPTOM = "a log that is written with O_DSYNC is slow since a copy started"
READING = """\
Each write waits for the disk, which worked for `dd` most of the time."""
TRUTH = Truth(cause=r"disk.*worked for dd", who="logger", by="disk", example="write_log|pwrite|write",
              least=0.25)  # the account has waits for a CPU

PROGRAM = '''
import os
name("logger")
log = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_DSYNC)
block = b"x" * 4096
os.pwrite(log, block * 256, 0)
say("ready")
while True:
    begin = now()
    os.pwrite(log, block, 4096 * (begin % 256))
    say("wait", begin, now() - begin)
    time.sleep(0.002)
'''


def start(stage):
    stage.require_disk()
    target = stage.python(PROGRAM)
    loop = f"while :; do {tool('dd')} if=/dev/zero of=copy bs=8M count=32 oflag=direct status=none; done"
    stage.start(tool("sh"), "-c", loop)
    pause(0.5)
    return ["-p", target.pid]
