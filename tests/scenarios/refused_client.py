"""A script waits for a server that never comes: it tries to connect again and again."""
from scenario import Truth, free_port, tool

GROUP = "endless"
SYMPTOM = "a container does not get ready, and nothing in it uses the CPU"
READING = """\
Each attempt is a process of its own and is refused, and the script sleeps before the next one.
`overdue spans --span tcp_connect` shows the address."""
TRUTH = Truth(cause=r"retries: \d+ processes bash, connect failed \d+ times \(ECONNREFUSED\)", kinds=("retry",))


def start(stage):
    line = f"until (: </dev/tcp/127.0.0.1/{free_port()}) 2>/dev/null; do sleep 0.3; done"
    return ["-p", stage.start(tool("bash"), "-c", line).pid]
