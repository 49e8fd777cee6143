"""A thread gives memory back to the kernel (malloc_trim); others that allocate wait for malloc's lock meanwhile."""
import os

from scenario import Truth

GROUP = "locks"
SYMPTOM = "requests that only allocate a little memory stall now and then"
READING = """\
With `MALLOC_ARENA_MAX=1` all threads share one arena of malloc, which has one lock. `trimmer` holds
the lock while malloc_trim() walks through the free memory."""
TRUTH = Truth(cause=r"malloc's lock of an arena: .* behind trimmer", who="request", by="trimmer")

# Blocks of two pages, every other one free: each is looked at by malloc_trim().
PROGRAM = '''
import ctypes
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
libc.free.argtypes = [ctypes.c_void_p]
blocks = [libc.malloc(9000) for _ in range(40_000)]
for block in blocks[::2]:
    libc.free(block)
def trimmer():
    while True:
        libc.malloc_trim(0)
        time.sleep(0.05)
def request():
    while True:
        begin = now()
        libc.free(libc.malloc(5000))
        if now() - begin > 1_000_000:
            say("wait", begin, now() - begin)
        time.sleep(0.003)
start("trimmer", trimmer)
start("request", request)
time.sleep(0.3)
say("ready")
time.sleep(1000)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM, env={**os.environ, "MALLOC_ARENA_MAX": "1"}).pid]
