"""A server has no descriptor left for new connections, and asks for the next one again and again."""
from scenario import Truth, free_port, pause

GROUP = "loops"
SYMPTOM = "a server uses a whole CPU, and new clients get no answer"
READING = """\
The event loop says that a client waits, `accept` fails, and the loop goes round at once: the limit
of open files is reached (`ulimit -n`), or descriptors leak. The loop is one cause, with all that it does."""
TRUTH = Truth(cause=r"accept4 [\d,]+ times, .*and fails: EMFILE, in a loop with epoll_wait; 12 of 12 descriptors are open",
              who="gateway", kinds=("calls",), first=2)  # on a busy machine, it waits for a CPU longer than it runs

SERVER = '''
import resource, select, socket
name("gateway")
server = socket.create_server(("127.0.0.1", int(sys.argv[1])), backlog=50)
server.setblocking(False)
loop = select.epoll()
loop.register(server, select.EPOLLIN)
resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12))
clients = []
say("ready")
while True:
    for _ in loop.poll():
        try:
            clients.append(server.accept()[0])
        except OSError:
            pass
'''

CLIENTS = '''
import socket
clients = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(20)]
say("ready")
time.sleep(1000)
'''


def start(stage):
    port = free_port()
    target = stage.python(SERVER, port)
    stage.python(CLIENTS, port)
    pause(0.3)
    return ["-p", target.pid]
