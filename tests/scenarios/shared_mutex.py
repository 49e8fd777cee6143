"""A process waits for a mutex in shared memory that another process holds and never gives back."""
from scenario import Truth, pause, whole_session

GROUP = "endless"
SYMPTOM = "a program hangs, and has no child, no lock of a file and no connection"
READING = """\
The C library notes the owner of a mutex in its memory: the process `ledgerd`, which sleeps."""
TRUTH = Truth(cause=r"futex.*held by ledgerd", who="client", by="ledgerd", kinds=("open",),
              most=5)  # from its start, before the session

PROGRAM = '''
import ctypes, mmap, os
name(sys.argv[1])
file = os.open("ledger", os.O_RDWR | os.O_CREAT)
os.ftruncate(file, 4096)
memory = mmap.mmap(file, 4096)
mutex = ctypes.c_char.from_buffer(memory)
library = ctypes.CDLL(None)
if sys.argv[1] == "ledgerd":
    attributes = ctypes.create_string_buffer(64)
    library.pthread_mutexattr_init(attributes)
    library.pthread_mutexattr_setpshared(attributes, 1)
    library.pthread_mutex_init(ctypes.byref(mutex), attributes)
    library.pthread_mutex_lock(ctypes.byref(mutex))
    say("ready")
    time.sleep(1000)
say("ready")
library.pthread_mutex_lock(ctypes.byref(mutex))
'''

account = whole_session


def start(stage):
    stage.python(PROGRAM, "ledgerd")
    target = stage.python(PROGRAM, "client")
    pause(0.2)
    return ["-p", target.pid]
