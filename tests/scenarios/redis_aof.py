"""Redis with appendfsync always, and a background save beside it."""
import redis
from scenario import Truth

GROUP = "disk"
SYMPTOM = "redis answers in milliseconds, not microseconds"
# The save forks, reads memory, and competes for the CPUs: on a busy machine, the CPU time of both
# and their waits for a CPU are larger causes than the fsync of each turn.
READING = """\
The main thread waits in `fdatasync` after each turn of its event loop, for the disk that the child
of the background save uses too. Compare the cost with `appendfsync everysec`."""
TRUTH = Truth(cause=r"fdatasync|fsync", who="redis-server", kinds=("blocked",), first=3,
              least=0.05)  # the account has waits of the client and the server for a CPU

SAVES = '''
import socket
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
say("ready")
while True:
    server.sendall(b"BGSAVE\\r\\n")
    server.recv(1000)
    time.sleep(1)
'''

CLIENT = '''
import socket
server = socket.socket(socket.AF_UNIX)
server.connect(sys.argv[1])
say("ready")
while True:
    begin = now()
    server.sendall(b"SET key value\\r\\n")
    server.recv(100)
    say("wait", begin, now() - begin)
'''


def start(stage):
    server, path = redis.start(stage)
    redis.fill(path, 100_000, 1000)
    redis.ask(path, "CONFIG SET appendonly yes")
    redis.eventually(lambda: "aof_rewrite_in_progress:0" in redis.ask(path, "INFO persistence"), 60, "no end of AOF")
    redis.ask(path, "CONFIG SET appendfsync always")
    stage.python(SAVES, path)
    stage.python(CLIENT, path)
    return ["-p", server.pid]
