"""A program asks a server that sleeps before each answer, over one connection."""
from scenario import Truth, free_port

GROUP = "network"
SYMPTOM = "a program takes 100 ms for each item, and no CPU"
READING = """\
The program waits for the answer on a connection that it has opened, and the server sleeps before
its answer."""
TRUTH = Truth(cause=r"read|recv", who="importer", by="pricesd")

SERVER = '''
import socket
name("pricesd")
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    say("ready")
    connection = server.accept()[0]
    while connection.recv(1000):
        time.sleep(0.09)
        connection.sendall(b"1\\n")
'''

PROGRAM = '''
import socket
name("importer")
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
answers = server.makefile("rb")
say("ready")
while True:
    server.sendall(b"price?\\n")
    begin = now()
    answers.readline()
    say("wait", begin, now() - begin)
'''


def start(stage):
    port = free_port()
    stage.python(SERVER, port)
    return ["-p", stage.python(PROGRAM, port).pid]
