"""A program writes a file that is larger than the memory of its cgroup: its writes reclaim pages."""
import os

from scenario import Truth, pause

GROUP = "memory"
SYMPTOM = "a container writes slower than the machine around it"
READING = """\
The program reclaims memory itself, because its cgroup is at its limit: it waits for the disk in its
own writes."""
TRUTH = Truth(cause=r"reclaims memory of cgroup /odt-memory-\d+: .* of 64\.0 MB used \(memory\.(max|limit_in_bytes)\)", who="indexer", by="disk|indexer|memory reclaim")
LIMIT = 64 << 20

PROGRAM = '''
import os
name("indexer")
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
file = os.open("data", os.O_RDWR | os.O_CREAT)
for at in range(0, 256 << 20, 1 << 20):
    os.pwrite(file, os.urandom(1 << 20), at)
kept = bytearray(24 << 20)
say("ready")
while True:
    for at in range(0, 256 << 20, 65536):
        os.pwrite(file, b"x" * 65536, at)
'''


def start(stage):
    stage.require_disk()
    v1 = os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    root, file = (("/sys/fs/cgroup/memory", "memory.limit_in_bytes") if v1 else ("/sys/fs/cgroup", "memory.max"))
    process = stage.python(PROGRAM, stage.cgroup(root, "odt-memory", file, str(LIMIT)), ready=False)
    stage.await_text(process, "ready", 60)
    pause(0.5)
    return ["-p", process.pid]
