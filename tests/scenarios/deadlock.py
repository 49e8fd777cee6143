"""Two threads each hold the mutex that the other wants."""
from scenario import Truth, pause, whole_session

GROUP = "endless"
SYMPTOM = "a program hangs now and then, for ever, without CPU"
READING = """\
Each of the two threads holds the lock for which the other waits. The stack of the examples shows
where each wants its second lock."""
TRUTH = Truth(cause=r"held by .*(booker|payer).*: a deadlock", who="payer|booker", by="payer|booker", kinds=("open",),
              most=10)  # two threads, from their start, before the session

PROGRAM = '''
import ctypes
library = ctypes.CDLL(None)
mutexes = [ctypes.create_string_buffer(64) for _ in range(2)]
met = threading.Barrier(2)
def transfer(first, second):
    library.pthread_mutex_lock(first)
    met.wait()
    library.pthread_mutex_lock(second)
start("payer", transfer, mutexes[0], mutexes[1])
start("booker", transfer, mutexes[1], mutexes[0])
time.sleep(0.3)
say("ready")
time.sleep(1000)
'''

account = whole_session


def start(stage):
    target = stage.python(PROGRAM)
    pause(0.1)
    return ["-p", target.pid]
