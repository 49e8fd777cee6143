"""A Node server without requests."""
import node
from scenario import NOTHING, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

PROGRAM = '''
require("http").createServer((request, response) => response.end()).listen(0, "127.0.0.1", () => say("ready"));
setInterval(() => {}, 1000);
'''


def start(stage):
    process = node.start(stage, "idle", PROGRAM)
    pause(1)
    return ["-p", process.pid]
