"""A program logs to a unix datagram socket whose daemon is slow: the queue of the socket is full."""
from scenario import Truth

GROUP = "network"
SYMPTOM = "every request is slow since the log daemon is busy"
READING = """\
Datagrams of a unix socket wait in a short queue (`net.unix.max_dgram_qlen`). The program waits for room
there, and the daemon that should read sleeps in its own code."""
TRUTH = Truth(cause=r"room in a socket: send\w+\(", who="web", by="logger")

PROGRAM = '''
import os, socket
log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
log.bind("log")
if os.fork() == 0:
    name("logger")
    while True:
        log.recv(100)
        time.sleep(0.005)
log.close()
name("web")
client = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
client.connect("log")
for _ in range(20):
    client.send(b"begin")
say("ready")
while True:
    begin = now()
    client.send(b"request")
    say("wait", begin, now() - begin)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]
