"""A program sends to a process that takes the data slowly: its send buffer and the other's window are full."""
from scenario import Truth, free_port, pause, whole_session

GROUP = "network"
SYMPTOM = "an upload crawls, with an idle CPU and an idle network"
READING = """\
The program waits for room in its socket. The kernel wakes it now and then, but the other side has
not taken enough. The process at the other end follows."""
TRUTH = Truth(cause=r"sendto\(127\.0\.0\.1", who="shipper", by="archiver|network", kinds=("blocked", "open"), most=1.1)

RECEIVER = '''
import socket
name("archiver")
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    say("ready")
    connection = server.accept()[0]
    while connection.recv(200_000):
        time.sleep(0.3)
'''

PROGRAM = '''
import socket
name("shipper")
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
say("ready")
while True:
    server.sendall(b"x" * 100_000)
'''


def start(stage):
    port = free_port()
    stage.python(RECEIVER, port)
    target = stage.python(PROGRAM, port)
    pause(1)
    return ["-p", target.pid]


account = whole_session
