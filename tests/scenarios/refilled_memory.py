"""A program gives its memory back after each job, and gets zeroed pages for the next one."""
from scenario import Truth

GROUP = "memory"
SYMPTOM = "a job takes three times as long as its computation"
READING = """\
Most of the CPU time is spent in page faults, below the function that writes to the memory for the
first time. Keep the memory between jobs."""
TRUTH = Truth(cause=r"page faults, on the CPU", who="resizer", kinds=("cpu",),
              first=2)  # on a busy machine, it waits for a CPU longer than it computes

PROGRAM = '''
import mmap
name("resizer")
image = mmap.mmap(-1, 64 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
image.madvise(mmap.MADV_NOHUGEPAGE)
row = b"x" * (len(image) // 4096)
say("ready")
while True:
    image[::4096] = row
    image.madvise(mmap.MADV_DONTNEED)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]
