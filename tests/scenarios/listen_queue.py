"""A server accepts too slowly: its listen queue is full, and the SYNs of its clients are dropped."""
from scenario import Account, Truth, free_port, pause

GROUP = "network"
SYMPTOM = "connections to a server on the same machine take one second, or three"
READING = """\
The connects take one second and a little: the time until TCP sends a SYN again. The kernel has
dropped the first SYN, since the server's queue of connections that it has not accepted was full:
2 of at most 1. The program behind the listening socket accepts too slowly."""
TRUTH = Truth(cause=r"connect.*listen queue full \(2/1\)", who="client", by="front", example=r"127\.0\.0\.1",
              least=0.05)  # connects that began before the session are not seen

SERVER = '''
import socket
name("front")
server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=1)
say("ready")
while True:
    connection, _ = server.accept()
    time.sleep(0.4)  # does the work itself
    connection.close()
'''

CLIENT = '''
import socket
def client():
    while True:
        begin = now()
        with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as server:
            say("wait", begin, now() - begin)
            time.sleep(0.01)
for _ in range(6):
    start("client", client)
say("ready")
time.sleep(1000)
'''


def start(stage):
    port = free_port()
    stage.python(SERVER, port)
    target = stage.python(CLIENT, port)
    pause(2)
    return ["-p", target.pid]


def account(stage, begin_ns, end_ns):
    """With the connects that were still going on when the session ended: they take up to three seconds."""
    pause(4)
    waits = [within for _, within in stage.printed("wait", begin_ns, end_ns)]
    return Account(len(waits), sum(waits))
