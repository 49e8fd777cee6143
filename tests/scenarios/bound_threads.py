"""The threads of a pool are all bound to one CPU, and another CPU is idle."""
import glob

from scenario import Account, Truth, pause, tool

GROUP = "cpu"
SYMPTOM = "a pool of threads is no faster than one thread, and the machine has idle CPUs"
READING = """\
The threads wait for the CPU behind each other, since they may run on no other one. Look for
`taskset`, a call of sched_setaffinity(), or a cpuset."""
TRUTH = Truth(cause=r"CPU behind hasher.*bound to CPU 0, while the other .* idle \d+ % of the time", who="hasher",
              by="hasher", kinds=("runqueue",))

PROGRAM = '''
import hashlib, threading
name("hasher")
data = bytes(1 << 22)
def work():
    while True:
        hashlib.sha256(data).digest()
for _ in range(3):
    threading.Thread(target=work).start()
say("ready")
'''


def start(stage):
    stage.process = stage.python(PROGRAM, before=[tool("taskset"), "-c", "0"])
    pause(0.3)
    stage.before = run_delay_ns(stage.process.pid)
    return ["-p", stage.process.pid]


def run_delay_ns(pid):
    """Time in run queues, by the scheduler's own account."""
    total = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with open(path, encoding="ascii") as file:
            total += int(file.read().split()[1])
    return total


def account(stage, _begin, _end):
    """A little more than the session."""
    return Account(None, run_delay_ns(stage.process.pid) - stage.before)
