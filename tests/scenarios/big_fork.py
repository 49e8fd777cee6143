"""A large process forks for each small job: the kernel copies its page tables each time."""
from scenario import Truth

GROUP = "memory"
SYMPTOM = "a large service needs 30 ms to start a program that needs one"
READING = """\
The CPU time is the kernel's: it copies the page tables of the parent for each fork, and frees them
for each exit. `posix_spawn` and `vfork` copy none."""
TRUTH = Truth(cause=r"page tables|release of memory", who="service", kinds=("cpu",),
              first=2)  # the copies, and their release at the exit of the child

PROGRAM = '''
import mmap, os
name("service")
data = mmap.mmap(-1, 768 << 20, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
data.madvise(mmap.MADV_NOHUGEPAGE)
data[::4096] = b"x" * (len(data) // 4096)
say("ready")
while True:
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
'''


def start(stage):
    process = stage.python(PROGRAM, ready=False)
    stage.await_text(process, "ready", 60)
    return ["-p", process.pid]
