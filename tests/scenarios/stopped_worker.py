"""A pool's only worker is stopped; the program waits for its result."""
from scenario import Truth, whole_session

GROUP = "endless"
SYMPTOM = "a batch stands still"
READING = """\
A process of the target is stopped (SIGSTOP), whatever call it was in. `kill -CONT` continues it."""
TRUTH = Truth(cause=r"stopped, and not continued", who="python3", kinds=("open",), by="stopped", least=0.9, not_by="batch")

PROGRAM = '''
import multiprocessing, os, signal
if __name__ == "__main__":
    pool = multiprocessing.Pool(1)
    pool.map(str, [1])
    os.kill(pool._pool[0].pid, signal.SIGSTOP)
    name("batch")
    say("ready")
    pool.map(str, [1, 2])
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]


account = whole_session
