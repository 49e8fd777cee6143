"""A supervisor answers a program's system calls (seccomp), and takes 30 ms for each."""
from scenario import Truth

GROUP = "locks"
SYMPTOM = "a program in a container waits, and no system call of it is slow"
READING = """\
The calls have not begun: the kernel asks the supervisor of the filter first. The supervisor is named,
with what it does meanwhile."""
TRUTH = Truth(cause=r"supervisor \(seccomp\): begin of a system call", who="builder", by="supervisor",
              example="seccomp")

PROGRAM = r'''
import ctypes, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
SECCOMP, SET_MODE_FILTER, NEW_LISTENER, USER_NOTIF, ALLOW, MKDIR = 317, 1, 8, 0x7FC00000, 0x7FFF0000, 83
RECV, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
code = b"".join(struct.pack("HBBI", *one) for one in (
    (0x20, 0, 0, 0), (0x15, 0, 1, MKDIR), (0x06, 0, 0, USER_NOTIF), (0x06, 0, 0, ALLOW)))
kept = ctypes.create_string_buffer(code)
program = ctypes.create_string_buffer(struct.pack("H6xQ", 4, ctypes.addressof(kept)))
libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
listener = libc.syscall(SECCOMP, SET_MODE_FILTER, NEW_LISTENER, program)
assert listener >= 0, os.strerror(ctypes.get_errno())
if os.fork() == 0:
    name("supervisor")
    while True:
        asked = bytearray(80)
        fcntl.ioctl(listener, RECV, asked)
        time.sleep(0.03)
        fcntl.ioctl(listener, SEND, struct.pack("QqiI", *struct.unpack_from("Q", asked), 0, 0, CONTINUE))
name("builder")
say("ready")
while True:
    begin = now()
    os.mkdir("folder")
    say("wait", begin, now() - begin)
    os.rmdir("folder")
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]
