"""A client waits for an answer over a unix socket: its server has been stopped."""
import os
import signal

from scenario import Truth, whole_session

GROUP = "endless"
SYMPTOM = "a client hangs, and its server is there"
READING = """\
The call has not ended. The process that listens at the other end of the socket is stopped: `kill -CONT`
lets it go on."""
TRUTH = Truth(cause=r"recv.*other end.*stopped", who="asker", by="oracle", kinds=("open",), example="unix", most=5)

SERVER = '''
import socket
name("oracle")
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
say("ready")
connection, _ = server.accept()
connection.recv(100)
time.sleep(1000)
'''

CLIENT = '''
import socket
name("asker")
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
server.sendall(b"?")
say("ready")
server.recv(100)
'''

account = whole_session


def start(stage):
    server = stage.python(SERVER, "socket")
    target = stage.python(CLIENT, "socket")
    os.kill(server.pid, signal.SIGSTOP)
    return ["-p", target.pid]
