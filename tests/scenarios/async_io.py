"""A program waits for the asynchronous writes that it has asked for itself."""
from scenario import Truth

GROUP = "disk"
SYMPTOM = "a bulk load with asynchronous I/O is no faster than one without"
READING = """\
The program asks for eight writes at once, and then waits for all of them in `io_getevents`. It has one
thread, so that no other thread can have asked for the I/O that the disk ends."""
TRUTH = Truth(cause=r"disk.*io_getevents", who="loader", by="disk")

PROGRAM = '''
import ctypes, mmap, os
libc = ctypes.CDLL(None, use_errno=True)
SETUP, GETEVENTS, SUBMIT = 206, 208, 209
class Request(ctypes.Structure):
    _fields_ = [("data", ctypes.c_uint64), ("key", ctypes.c_uint32), ("flags", ctypes.c_int32),
                ("opcode", ctypes.c_uint16), ("priority", ctypes.c_int16), ("fd", ctypes.c_uint32),
                ("buf", ctypes.c_uint64), ("bytes", ctypes.c_uint64), ("offset", ctypes.c_int64),
                ("reserved", ctypes.c_uint64), ("more", ctypes.c_uint32), ("eventfd", ctypes.c_uint32)]
name("loader")
size, number = 1 << 20, 8
data = mmap.mmap(-1, size)
data.write(b"x" * size)
address = ctypes.addressof(ctypes.c_char.from_buffer(data))
table = os.open("table", os.O_WRONLY | os.O_CREAT | os.O_DIRECT, 0o600)
os.posix_fallocate(table, 0, 64 * size)
context = ctypes.c_uint64()
libc.syscall(SETUP, 64, ctypes.byref(context))
requests = (Request * number)()
pointers = (ctypes.c_void_p * number)(*(ctypes.addressof(one) for one in requests))
events = (ctypes.c_uint64 * (4 * number))()
def load(first):
    for i in range(number):
        requests[i] = Request(opcode=1, fd=table, buf=address, bytes=size, offset=(first + i) % 64 * size)
    if libc.syscall(SUBMIT, context, number, pointers) != number:
        raise OSError(ctypes.get_errno(), "io_submit")
    begin = now()
    libc.syscall(GETEVENTS, context, number, number, events, None)
    say("wait", begin, now() - begin)
say("ready")
turn = 0
while True:
    load(turn)
    turn += number
'''


def start(stage):
    stage.require_disk()
    return ["-p", stage.python(PROGRAM).pid]
