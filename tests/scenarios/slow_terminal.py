"""A program prints to a terminal whose program is slow to show it."""
from scenario import Truth, whole_session

GROUP = "endless"
SYMPTOM = "a build stands still, and goes on when the window is closed"
READING = """\
The program waits for room in the terminal. The process that shows the terminal, and does not read
it, follows."""
TRUTH = Truth(cause=r"write\(/dev/pts/\d+\).*at the other end: window", who="build", by="window",
              kinds=("blocked", "open"), most=1.1)

PROGRAM = '''
import os, pty
shown, terminal = pty.openpty()
if os.fork() == 0:
    name("window")
    os.close(terminal)
    time.sleep(1000)
os.close(shown)
name("build")
say("ready")
while True:
    os.write(terminal, b"compiling\\n" * 50)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]


account = whole_session
