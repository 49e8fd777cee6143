"""A client waits for a server whose unix socket is missing: it tries to connect again and again."""
from scenario import Truth

GROUP = "loops"
SYMPTOM = "a program hangs at its start, and its server does not run"
READING = """\
Each connect fails at once, and each sleep is wanted; together they are the program's whole time.
`overdue syscalls -e connect --calls` shows the path of the socket."""
TRUTH = Truth(cause=r"retries: connect failed \d+ times \(ENOENT: the unix socket is missing\)", who="client",
              kinds=("retry",))

PROGRAM = '''
import socket
name("client")
say("ready")
while True:
    begin = now()
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.connect("server.sock")
    except FileNotFoundError:
        time.sleep(0.3)
    say("wait", begin, now() - begin)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]
