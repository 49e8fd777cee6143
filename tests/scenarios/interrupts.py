"""Packets for others take the CPU of a program that computes."""
from scenario import Truth, pause, tool
from overdue_test import require_root

GROUP = "network"
SYMPTOM = "an encoder has a CPU for itself, and encodes far less since a service logs over UDP"
READING = """\
Another thread's packets are received on the encoder's CPU, at the end of the interrupts that announce
them. The time is not the encoder's, though the kernel books it as such. `overdue spans` shows what the
softirqs do; `rps_cpus` of the network device, and the affinity of its interrupts, say on which CPU."""
# The encoder itself is on the CPU, too; when packets are very many, the kernel hands them to ksoftirqd.
TRUTH = Truth(cause=r"interrupts|ksoftirqd", who="encoder", kinds=("cpu", "runqueue"), first=2)

FLOOD = '''
import socket
sink = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sink.bind(("127.0.0.1", 0))
log = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
log.connect(sink.getsockname())
name("logger")
say("ready")
while True:
    for _ in range(400):
        log.send(b"x" * 64)
    time.sleep(0.0005)
'''

PROGRAM = '''
name("encoder")
say("ready")
def encode():
    last = begin = now()
    lost = 0
    while last - begin < 20_000_000:
        at = now()
        if at - last > 3_000:  # a turn takes a tenth of that
            lost += at - last
        last = at
    say("wait", begin, lost)
while True:
    encode()
'''


def start(stage):
    require_root()
    taskset = tool("taskset")
    script = ("mount -t sysfs none /sys && ip link set lo up && "
              "echo 1 >/sys/class/net/lo/queues/rx-0/rps_cpus && exec \"$@\"")
    stage.python(FLOOD, before=[tool("unshare"), "-m", "-n", tool("sh"), "-c", script, "sh", taskset, "-c", "1"])
    target = stage.python(PROGRAM, before=[taskset, "-c", "0"])
    pause(0.3)
    return ["-p", target.pid]
