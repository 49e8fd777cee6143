"""A program reads a mapped file that is not in memory: each page is a wait for the disk, and no system call."""
from scenario import Truth

GROUP = "memory"
SYMPTOM = "look-ups in a mapped index are slow, and strace shows nothing"
READING = """\
The program makes no system call there. The waits are page faults for a disk, and short: their sum
shows them."""
TRUTH = Truth(cause=r"fault", who="lookup", least=0.2,  # the account has the CPU time of a fault too
              first=2)  # with a quick disk, most of a fault is CPU time

PROGRAM = '''
import mmap, os, random
name("lookup")
file = os.open("index", os.O_RDWR | os.O_CREAT)
size = 128 << 20
for at in range(0, size, 1 << 20):
    os.pwrite(file, os.urandom(1 << 20), at)
os.fsync(file)
index = mmap.mmap(file, size, prot=mmap.PROT_READ)
index.madvise(mmap.MADV_RANDOM)
say("ready")
while True:
    index.madvise(mmap.MADV_DONTNEED)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    for _ in range(3000):
        at = random.randrange(size)
        begin = now()
        index[at]
        took = now() - begin
        if took > 50_000:
            say("wait", begin, took)
'''


def start(stage):
    stage.require_disk()
    process = stage.python(PROGRAM, ready=False)
    stage.await_text(process, "ready", 60)
    return ["-p", process.pid]
