"""A client sends each request in two parts: TCP holds the second one back until the first is acknowledged."""
from scenario import Truth, free_port

GROUP = "network"
SYMPTOM = "each request over the loopback takes 40 ms"
READING = """\
Both sides wait for the network for as long as TCP delays an acknowledgement. Send each request with
one call, or set `TCP_NODELAY`."""
TRUTH = Truth(cause=r"(read|recv).*40 ms, as long as TCP delays", who="client", by="server")

SERVER = '''
import socket
name("server")
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    say("ready")
    connection = server.accept()[0]
    while connection.recv(8, socket.MSG_WAITALL):
        connection.sendall(b"ok")
'''

CLIENT = '''
import socket
name("client")
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
say("ready")
while True:
    server.sendall(b"head")
    server.sendall(b"body")
    begin = now()
    server.recv(2)
    if now() - begin > 5_000_000:
        say("wait", begin, now() - begin)
'''


def start(stage):
    port = free_port()
    stage.python(SERVER, port)
    return ["-p", stage.python(CLIENT, port).pid]
