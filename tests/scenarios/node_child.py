"""Node runs a program with execSync, and waits for its end."""
import node
from scenario import Truth

GROUP = "runtimes"
SYMPTOM = "a Node program does nothing else for 70 ms, several times a second"
READING = """\
`epoll_pwait` is usually where a server is idle. Here it is below `SyncProcessRunner`: `execSync`
waits for the process that the root names."""
TRUTH = Truth(cause=r"child|process|sleep|spawn|exec|epoll|wait4?|input|answer", who="node", by="sleep|sh",
              example="spawn|uv_run|Spawn|waited|sleep")

PROGRAM = '''
const { execSync } = require("child_process");
setInterval(() => timed(() => execSync("sleep 0.07")), 100);
say("ready");
'''


def start(stage):
    return ["-p", node.start(stage, "runs", PROGRAM).pid]
