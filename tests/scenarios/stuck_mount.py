"""A program opens a file of a file system that another program serves (FUSE), which does not answer."""
import re

from scenario import PREAMBLE, Truth, unittest, whole_session

GROUP = "endless"
SYMPTOM = "`ls` hangs in one folder, and cannot be interrupted"
READING = """\
The call has not ended. The folder belongs to a file system that a program serves, and this program, at
the other end, does not answer: look at what it waits for with `overdue why -p PID`."""
TRUTH = Truth(cause=r"openat\(\S*/far/data.*at the other end: keeper\[\d+\]", who="reader", by="keeper",
              kinds=("open",), example="fuse", most=5)

# The mount is in a mount namespace of the two processes, and ends with them. The server greets the
# kernel (FUSE_INIT, protocol 7.31), and takes no notice of what comes then.
PROGRAM = '''
import ctypes, os, struct
def served(folder):
    libc = ctypes.CDLL(None)
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0".encode()
    private, new_namespace = 0x44000, 0x20000
    if (libc.unshare(new_namespace) or libc.mount(b"", b"/", None, private, None)
            or libc.mount(b"far", folder.encode(), b"fuse", 0, options)):
        return None
    _, _, unique = struct.unpack("=IIQ", os.read(device, 1 << 20)[:16])
    greeting = struct.pack("=IIIIHHII36x", 7, 31, 4096, 0, 12, 9, 4096, 1)
    os.write(device, struct.pack("=IiQ", 16 + len(greeting), 0, unique) + greeting)
    return device
os.mkdir("far")
device = served(os.path.abspath("far"))
if device is None:
    say("no mount")
    time.sleep(1000)
reader = os.fork()
if reader == 0:
    os.close(device)
    name("reader")
    open(os.path.abspath("far/data"))
name("keeper")
say("reader", reader)
say("ready")
time.sleep(1000)
'''

account = whole_session


def start(stage):
    server = stage.start("/usr/bin/python3", "-I", "-S", "-B", stage.write("keeper.py", PREAMBLE + PROGRAM))
    stage.await_text(server, "\n")
    if "no mount" in stage.text(server):
        raise unittest.SkipTest("this kernel has no FUSE, or no mount is allowed")
    stage.await_text(server, "ready")
    return ["-p", re.search(r"reader (\d+)", stage.text(server))[1]]
