"""A program waits for its child before it reads the child's output: the child's pipe is full."""
from scenario import Truth, pause, tool, whole_session

GROUP = "endless"
SYMPTOM = "a nightly job hangs in its export, since the export has become larger"
READING = """\
The child waits for room in the pipe to the program, and the program waits for the child. Children
that run already belong to the target."""
TRUTH = Truth(cause=r"pipe.*nightly", who="dd", by="nightly", kinds=("open",),
              most=5)  # from its start, before the session

PROGRAM = f'''
import subprocess
name("nightly")
export = subprocess.Popen(["{tool('dd')}", "if=/dev/zero", "bs=1M", "count=1", "status=none"], stdout=subprocess.PIPE)
say("ready")
export.wait()
'''

account = whole_session


def start(stage):
    target = stage.python(PROGRAM)
    pause(0.3)
    return ["-p", target.pid]
