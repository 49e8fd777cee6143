"""A client waits for its server, and a timer thread of the client interrupts the wait with signals."""
from scenario import Truth, free_port

GROUP = "network"
SYMPTOM = "requests take 150 ms in a program that a profiler samples with signals"
READING = """\
Signals end the client's wait again and again, and the call goes on. Their sender is not what the client
waits for: the server is named, and no cause is the thread that sends."""
TRUTH = Truth(cause=r"recvfrom\(127\.0\.0\.1:\d+\)", who="client", by="server", not_by="sampler")

PROGRAM = '''
import os, signal, socket
port = int(sys.argv[1])
listener = socket.create_server(("127.0.0.1", port))
if os.fork() == 0:
    name("server")
    connection, _ = listener.accept()
    while connection.recv(100):
        time.sleep(0.15)
        connection.send(b"answer")
    os._exit(0)
listener.close()
name("client")
signal.signal(signal.SIGPROF, lambda *_: None)
signal.siginterrupt(signal.SIGPROF, False)
main_thread = threading.get_ident()
def sample():
    while True:
        time.sleep(0.05)
        signal.pthread_kill(main_thread, signal.SIGPROF)
start("sampler", sample)
client = socket.create_connection(("127.0.0.1", port))
say("ready")
while True:
    client.send(b"question")
    begin = now()
    client.recv(100)
    say("wait", begin, now() - begin)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM, free_port()).pid]
