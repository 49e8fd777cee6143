"""Eight threads append to one log and call fsync() after each line."""
from scenario import Truth

GROUP = "disk"
SYMPTOM = "a service with eight workers logs no faster than one with two"
# With a quick disk, the workers wait longer for a CPU, and compute longer.
READING = """\
The workers wait in turn for the disk, for the journal, and for the lock of the file's inode. All of
this is one cause: one file whose every line is made durable. Let one thread write for all, with one
fsync() for many lines."""
TRUTH = Truth(cause=r"disk.*(fsync|write)\(.*/shared\.log\)", who=r"writer-\*", by="disk|writer|jbd2|kworker",
              least=0.3,  # the account has the waits for the lock of the interpreter
              most=1.2, first=3)

PROGRAM = '''
import os
file = os.open("shared.log", os.O_RDWR | os.O_CREAT | os.O_APPEND)
def runnable_ns(tid):
    with open(f"/proc/self/task/{tid}/schedstat") as stat:
        return int(stat.read().split()[1])
def write():
    tid = threading.get_native_id()
    late = 0
    while True:
        before = runnable_ns(tid)
        begin = now()
        os.write(file, b"x" * 512)
        os.fsync(file)
        late += now() - begin - (runnable_ns(tid) - before)
        if late > 20_000_000:
            say("wait", begin, late)
            late = 0
for number in range(8):
    start(f"writer-{number}", write)
say("ready")
time.sleep(600)
'''


def start(stage):
    stage.require_disk()
    return ["-p", stage.python(PROGRAM).pid]
