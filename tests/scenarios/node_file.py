"""Node reads a FIFO with readFileSync; the writer takes its time."""
import os

import node
from scenario import Truth

GROUP = "runtimes"
SYMPTOM = "a Node program does nothing else for 60 ms, many times a second"
READING = """\
The call is in `node::fs`, below the event loop: while it waits for the process at the other end of
the FIFO, no callback runs. Use the asynchronous call."""
TRUTH = Truth(cause=r"open|read|fifo|pipe", who="node", by="feeder", example=r"fs_read|uv_fs")

PROGRAM = '''
const fs = require("fs");
const readSettings = () => fs.readFileSync("settings");
setInterval(() => timed(readSettings), 30);
say("ready");
'''

FEEDER = '''
name("feeder")
say("ready")
while True:
    with open("settings", "w") as file:
        time.sleep(0.06)
        file.write("colour = blue")
    time.sleep(0.001)
'''


def start(stage):
    os.mkfifo(stage.path("settings"))
    stage.python(FEEDER)
    return ["-p", node.start(stage, "reader", PROGRAM).pid]
