"""Processes of a pool wait for jobs, which come twice a second and are quick."""
from scenario import NOTHING, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

PROGRAM = '''
import multiprocessing
def job(number):
    return number
fork = multiprocessing.get_context("fork")
def echo(pipe):
    while True:
        pipe.send(pipe.recv())
near, far = fork.Pipe()
pool = fork.Pool(3)
fork.Process(target=echo, args=(far,), daemon=True).start()
say("ready")
while True:
    pool.map(job, range(2))
    near.send(1)
    near.recv()
    time.sleep(0.5)
'''


def start(stage):
    process = stage.python(PROGRAM)
    pause(0.3)
    return ["-p", process.pid]
