"""Eight threads share two connections to a database that is slow: most wait for a connection."""
from scenario import Truth, free_port, pause

GROUP = "network"
SYMPTOM = "a request takes 400 ms, although the query takes 100 ms"
READING = """\
The threads without a connection wait for those with one, and these for the database: all of the time
counts for the process at the other end. A pool without work looks the same but for the answers."""
TRUTH = Truth(cause=r"recvfrom|futex", who="worker", by="db", most=1.2)

DATABASE = '''
import socket
name("db")
def serve(connection):
    while connection.recv(100):
        time.sleep(0.1)
        connection.sendall(b"row")
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    say("ready")
    while True:
        start("db", serve, server.accept()[0])
'''

PROGRAM = '''
import queue, socket
pool = queue.Queue()
for _ in range(2):
    pool.put(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
def work():
    while True:
        begin = now()
        connection = pool.get()
        connection.sendall(b"select")
        connection.recv(100)
        say("wait", begin, now() - begin)
        pool.put(connection)
for _ in range(8):
    start("worker", work)
say("ready")
time.sleep(1000)
'''


def start(stage):
    port = free_port()
    stage.python(DATABASE, port)
    target = stage.python(PROGRAM, port)
    pause(0.5)
    return ["-p", target.pid]
