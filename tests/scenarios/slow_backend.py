"""A program asks an HTTP server, which computes, over a new connection each time."""
from scenario import Truth, free_port

GROUP = "network"
SYMPTOM = "a front end takes 70 ms for each page, and hardly any CPU"
READING = """\
The front end waits for the answer on a connection that it has opened. The process at the other end
ran meanwhile."""
TRUTH = Truth(cause=r"recv", who="frontend", by="backend", most=1.6)

BACKEND = '''
import socket
name("backend")
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    say("ready")
    while True:
        connection = server.accept()[0]
        connection.recv(1000)
        until = now() + 60_000_000
        while now() < until:
            pass
        connection.sendall(b"HTTP/1.1 200 OK\\r\\nContent-Length: 0\\r\\nConnection: close\\r\\n\\r\\n")
        connection.close()
'''

FRONTEND = '''
import http.client
name("frontend")
say("ready")
while True:
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    server.request("GET", "/")
    begin = now()
    server.getresponse().read()
    say("wait", begin, now() - begin)
    server.close()
    time.sleep(0.01)
'''


def start(stage):
    port = free_port()
    stage.python(BACKEND, port)
    return ["-p", stage.python(FRONTEND, port).pid]
