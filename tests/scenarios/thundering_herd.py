"""Every event wakes all workers of a server, and one of them has something to do."""
import glob

from scenario import Account, Truth, pause
from bound_threads import run_delay_ns

GROUP = "cpu"
SYMPTOM = "a server with many workers is slower than one with few, and no worker computes for long"
READING = """\
The workers wait for a CPU behind each other, each for some microseconds, and very often. All of them
wait for one descriptor, so each event wakes all. Look for `EPOLLEXCLUSIVE` or `SO_REUSEPORT`, or
have fewer workers."""
TRUTH = Truth(cause=r"CPU behind worker", who="worker", by="worker", kinds=("runqueue",))

PROGRAM = '''
import ctypes, os, select
jobs = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_SEMAPHORE)
def work():
    events = select.epoll()
    events.register(jobs, select.EPOLLIN)
    while True:
        events.poll()
        try:
            os.eventfd_read(jobs)
        except BlockingIOError:
            pass
for number in range(24):
    if os.fork() == 0:
        ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG: not longer than the dispatcher
        name(f"worker-{number}")
        work()
name("dispatcher")
say("ready")
while True:
    os.eventfd_write(jobs, 1)
    time.sleep(0.002)
'''


def start(stage):
    stage.process = stage.python(PROGRAM)
    pause(0.3)
    stage.before = all_run_delays_ns(stage.process.pid)
    return ["-p", stage.process.pid]


def all_run_delays_ns(pid):
    """Those of the process and its workers."""
    children = ""
    for path in glob.glob(f"/proc/{pid}/task/*/children"):
        with open(path, encoding="ascii") as file:
            children += file.read()
    return sum(map(run_delay_ns, [pid, *children.split()]))


def account(stage, _begin, _end):
    """A little more than the session."""
    return Account(None, all_run_delays_ns(stage.process.pid) - stage.before)
