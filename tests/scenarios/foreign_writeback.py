"""A program calls sync(), and waits for the data that another program has written to files."""
from scenario import Truth

GROUP = "disk"
SYMPTOM = "a small program that syncs is slow while a copy runs"
READING = """\
Workers of the kernel write the data of all processes to the disk. The process whose data they write
follows, with the bytes."""
TRUTH = Truth(cause=r"worked for kworker.*: data of copier\[\d+\] \(", who="saver", by="disk", example="sync")
FILE_MB = 200

COPIER = '''
import os, random
name("copier")
file = os.open("copy", os.O_WRONLY | os.O_CREAT)
block = bytes(1 << 20)
say("ready")
while True:
    os.pwrite(file, block, random.randrange(int(sys.argv[1])) << 20)
    time.sleep(0.002)
'''

SAVER = '''
import os
name("saver")
say("ready")
while True:
    begin = now()
    os.sync()
    say("wait", begin, now() - begin)
    time.sleep(0.02)
'''


def start(stage):
    stage.require_disk()
    stage.python(COPIER, FILE_MB)
    return ["-p", stage.python(SAVER).pid]
