"""Requests wait for a lock that a Python thread holds while it compresses a report."""
from scenario import Truth

GROUP = "locks"
SYMPTOM = "requests of a Python service take 50 ms now and then"
READING = """\
The root is not the lock but its holder: `reporter` ran in `deflate` while the other threads waited.
Let it compress outside of the lock, or less often."""
TRUTH = Truth(cause=r"lock|futex", who="request", by="reporter", kinds=("blocked",), not_by="ticker")

PROGRAM = '''
import os, zlib
cache = threading.Lock()
data = os.urandom(1 << 20)
def reporter():
    while True:
        with cache:
            until = now() + 50_000_000
            while now() < until:
                zlib.compress(data, 6)  # without the interpreter's lock
        time.sleep(0.1)
def request():
    while True:
        time.sleep(0.005)
        begin = now()
        with cache:
            pass
        if now() - begin > 1_000_000:
            say("wait", begin, now() - begin)
def ticker():
    while True:
        time.sleep(0.002)
start("reporter", reporter)
start("ticker", ticker)
for _ in range(3):
    start("request", request)
time.sleep(0.5)
say("ready")
time.sleep(1000)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]
