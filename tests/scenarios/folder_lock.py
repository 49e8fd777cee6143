"""Threads create and remove files in one folder that is written synchronously: one at a time."""
from scenario import Truth, must, tool

GROUP = "locks"
SYMPTOM = "a mail server with many workers delivers no more mail than with one"
READING = """\
A folder has one lock for all that create, rename or remove files in it. The thread that holds it
waits for the disk meanwhile, since the folder is synchronous (`chattr +D`). Spread the files over
several folders, or write the folder once for many files."""
TRUTH = Truth(cause=r"lock of a folder's inode", who="deliver", by="deliver", example="rename|openat|unlink")

PROGRAM = '''
import os
def deliver(number):
    while True:
        path = f"mail/{number}"
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
        os.rename(path, path + ".new")
        os.unlink(path + ".new")
for number in range(4):
    start(f"deliver-{number}", deliver, number)
time.sleep(0.3)
say("ready")
time.sleep(1000)
'''


def start(stage):
    stage.require_disk()
    must([tool("mkdir"), stage.path("mail")])
    must([tool("chattr"), "+D", stage.path("mail")])
    return ["-p", stage.python(PROGRAM).pid]
