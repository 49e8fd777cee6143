"""A worker waits for jobs over a connection that it has opened, and servers wait for requests; all is quick."""
from scenario import NOTHING, free_port, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

# The queue's thread for each connection blocks; so does the worker.
QUEUE = '''
import queue, socket
jobs = queue.Queue()
def serve(connection):
    while line := connection.recv(1000):
        connection.sendall(jobs.get() if line == b"get" else (jobs.put(line) or b"done"))
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server, socket.socket(socket.AF_UNIX) as local:
    local.bind("queue.sock")
    local.listen()
    say("ready")
    while True:
        start("serve", serve, server.accept()[0])
        start("serve", serve, local.accept()[0])
'''

PRODUCER = '''
import socket
queue = socket.socket(socket.AF_UNIX)
queue.connect("queue.sock")
say("ready")
while True:
    time.sleep(0.3)
    queue.sendall(b"job")
    queue.recv(1000)
'''

WORKER = '''
import socket
queue = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
say("ready")
while True:
    queue.sendall(b"get")
    queue.recv(1000)
'''


def start(stage):
    port = free_port()
    server = stage.python(QUEUE, port)
    worker = stage.python(WORKER, port)
    stage.python(PRODUCER)
    pause(0.5)
    return ["-p", f"{server.pid},{worker.pid}"]
