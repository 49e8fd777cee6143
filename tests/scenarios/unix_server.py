"""A client waits in recv() on a unix socket, for a server that computes."""
import local_server
from scenario import Truth, pause

GROUP = "network"
SYMPTOM = "a client of a database on this machine is slow, and itself does nothing"
READING = """\
The client asked, and waits for an answer: its socket is that of a client, and the example has the path
of the server's. The server ran meanwhile; the example shows its functions."""
TRUTH = Truth(cause=r"recv.*behind pricing.*ran", who="shopper", by="pricing", example=r"unix /.*pricing\.sock",
              least=0.4)


def start(stage):
    path = stage.path("pricing.sock")
    stage.python(local_server.SERVER.replace(
        'socket.create_server(("127.0.0.1", int(sys.argv[1])))',
        "socket.socket(socket.AF_UNIX); server.bind(sys.argv[1]); server.listen()"), path)
    target = stage.python(local_server.CLIENT.replace(
        'socket.create_connection(("127.0.0.1", int(sys.argv[1])))',
        "socket.socket(socket.AF_UNIX); server.connect(sys.argv[1])"), path)
    pause(0.5)
    return ["-p", target.pid]
