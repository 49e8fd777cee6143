"""A job in the background reads from its terminal: the kernel stops it."""
import time

from scenario import Truth, whole_session

GROUP = "endless"
SYMPTOM = "an import that was started with `&` does not go on"
READING = """\
A process that is not in the terminal's foreground may not read from it: the kernel stops it with
SIGTTIN until `fg`. Give the job another input (`</dev/null`)."""
TRUTH = Truth(cause=r"stopped, and not continued; a read of /dev/pts/\d+ in the background stops a process \(SIGTTIN\)",
              who="importer", kinds=("open",), by="stopped", least=0.9)

SHELL = '''
import os, pty
child, terminal = pty.fork()
if child == 0:
    name("shell")
    if os.fork() == 0:
        os.setpgid(0, 0)
        name("importer")
        sys.stdin.readline()
        os._exit(0)
    time.sleep(1000)
say("ready")
time.sleep(1000)
'''


def start(stage):
    process = stage.python(SHELL)
    time.sleep(1)  # for the job to begin
    return ["-p", process.pid]


account = whole_session
