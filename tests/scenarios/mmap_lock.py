"""A thread maps and fills gigabytes; the page faults and mappings of the process's other threads wait for it."""
from scenario import Truth

GROUP = "locks"
SYMPTOM = "a thread that only allocates memory stands still for 100 ms"
READING = """\
The lock is that of the process's mappings. `filler` holds it while it maps and fills memory; every
other mapping or page fault of the process waits."""
TRUTH = Truth(cause=r"mmap|mapping|lock|fault", who="allocator", by="filler", example="mmap|mm_|down_")

# libc's mmap: Python's own keeps the interpreter's lock.
PROGRAM = '''
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
ANONYMOUS, PRIVATE, POPULATE = 0x20, 2, 0x8000
def filler():
    while True:
        at = libc.mmap(None, 512 << 20, 3, ANONYMOUS | PRIVATE | POPULATE, -1, 0)
        libc.munmap(at, 512 << 20)
        time.sleep(0.05)
def allocator():
    while True:
        begin = now()
        at = libc.mmap(None, 1 << 20, 3, ANONYMOUS | PRIVATE, -1, 0)
        libc.munmap(at, 1 << 20)
        if now() - begin > 1_000_000:
            say("wait", begin, now() - begin)
        time.sleep(0.003)
start("filler", filler)
start("allocator", allocator)
time.sleep(0.5)
say("ready")
time.sleep(1000)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]
