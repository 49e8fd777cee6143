"""A service asks another process over a socket, and waits for the answers; the other process computes."""
from scenario import Truth, free_port

GROUP = "network"
SYMPTOM = "requests take 30 ms, and the service itself uses no CPU"
TRUTH = Truth(cause=r"recv|read|answer", who="service", by="pricing")

PRICING = '''
import socket
name("pricing")
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
say("ready")
connection, _ = server.accept()
while connection.recv(100):
    until = now() + 30_000_000
    while now() < until:
        pass
    connection.sendall(b"42\\n")
'''

SERVICE = '''
import socket
name("service")
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
say("ready")
while True:
    server.sendall(b"price?\\n")
    begin = now()
    server.recv(100)
    say("wait", begin, now() - begin)
    time.sleep(0.01)
'''


def start(stage):
    port = free_port()
    stage.python(PRICING, port)
    return ["-p", stage.python(SERVICE, port).pid]
