"""A script runs a check until it succeeds, which it does not: each run fails, and a sleep follows."""
from scenario import Account, Truth, tool

GROUP = "loops"
SYMPTOM = "a deployment hangs: its script waits for a service to be ready"
READING = """\
Each process is short, and each sleep is wanted; the exit status says that the script tries again.
The name is that of the program whose check fails."""
TRUTH = Truth(cause=r"retries: \d+ processes grep, each ended with an exit status that is not 0, and a sleep of",
              who="grep", kinds=("retry",), first=2)  # on a busy machine, it waits for a CPU longer

SCRIPT = "until grep -q ready status; do sleep 0.05; done"


def start(stage):
    stage.write("status", "starting\n")
    return ["-p", stage.start(tool("sh"), "-c", SCRIPT).pid]


def account(_stage, begin, end):
    return Account(None, end - begin)  # the script does nothing else
