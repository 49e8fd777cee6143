"""A program asks for the state of the same files over and over: each call is short."""
from scenario import Account, Truth

GROUP = "loops"
SYMPTOM = "a watcher of files keeps a CPU busy"
READING = """\
No call is long: their number is the cause. The next command shows which function makes them."""
TRUTH = Truth(cause=r"newfstatat|stat", who="watcher", kinds=("calls",), least=0.2,
              first=2)  # entry to and exit from the kernel is no part of the calls

PROGRAM = '''
import os
name("watcher")
paths = ["/usr/share/.." * 300 + f"/no{i}" for i in range(100)]
say("ready")
while True:
    begin = now()
    for _ in range(20):
        for path in paths:
            try:
                os.stat(path)
            except OSError:
                pass
    say("turn", begin, now() - begin)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]


def account(stage, begin, end):
    turns = stage.printed("turn", begin, end)
    return Account(int(sum(2_000 * within / length for length, within in turns)))
