"""A program looks for work in a loop, and sleeps for a microsecond after each look."""
from scenario import Account, Truth

GROUP = "loops"
SYMPTOM = "a program that does nothing takes a fifth of a CPU"
READING = """\
No sleep is long: their number is the cause. Wait for the event instead."""
TRUTH = Truth(cause=r"nanosleep [\d,]+ times", who="poller", kinds=("calls",), least=0.05, most=20,
              first=2)  # on a busy machine, it waits for a CPU longer than it runs

PROGRAM = '''
name("poller")
say("ready")
while True:
    begin = now()
    for _ in range(1000):
        time.sleep(1e-6)
    say("turn", begin, now() - begin)
'''


def start(stage):
    return ["-p", stage.python(PROGRAM).pid]


def account(stage, begin, end):
    turns = stage.printed("turn", begin, end)
    return Account(int(sum(1_000 * within / length for length, within in turns)))
