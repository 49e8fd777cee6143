"""A client waits in recv() for a server on the same machine, which computes."""
from scenario import Truth, free_port, pause

GROUP = "network"
SYMPTOM = "a client is slow, and itself does nothing"
READING = """\
The client asked, and waits for an answer: the socket is that of a client, and it has sent data. The
server on this machine ran meanwhile; the example shows its functions."""
TRUTH = Truth(cause=r"recv.*behind pricing.*ran", who="shopper", by="pricing", example=r"127\.0\.0\.1", least=0.4)

SERVER = '''
import socket
name("pricing")
def price():
    end = time.process_time() + 0.03
    while time.process_time() < end:
        pass
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
say("ready")
connection, _ = server.accept()
while connection.recv(100):
    price()
    connection.sendall(b"42")
'''

CLIENT = '''
import socket
name("shopper")
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
say("ready")
while True:
    server.sendall(b"how much?")
    begin = now()
    server.recv(100)
    say("wait", begin, now() - begin)
    time.sleep(0.01)
'''


def start(stage):
    port = free_port()
    stage.python(SERVER, port)
    target = stage.python(CLIENT, port)
    pause(0.5)
    return ["-p", target.pid]
