"""A program resolves names through a server that never answers, in namespaces of its own."""
from scenario import Truth, pause, tool
from overdue_test import require_root

GROUP = "network"
SYMPTOM = "a program does nothing for seconds before each connection"
READING = """\
`poll` in a DNS look-up ended by its timeout: the name server did not answer within the time that
`resolv.conf` gives it."""
TRUTH = Truth(cause=r"DNS|getaddrinfo", who="resolves",
              example=r"127\.0\.0\.1|getaddrinfo|res_")

# The loopback of a new network namespace is down; SIOCSIFFLAGS sets it up.
PROGRAM = '''
import fcntl, os, socket, struct, subprocess
name("resolves")
with open("/etc/resolv.conf", encoding="ascii"):
    pass
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
    fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", 1))
silent = subprocess.Popen([sys.executable, "-I", "-S", "-c",
                           "import socket, time; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
                           "s.bind(('127.0.0.1', 53)); print(1, flush=True); time.sleep(1000)"],
                          stdout=subprocess.PIPE)
silent.stdout.readline()
say("ready")
number = 0
while True:
    begin = now()
    number += 1
    try:
        socket.getaddrinfo(f"shop{number}.example.com", 80)
    except OSError:
        pass
    say("wait", begin, now() - begin)
'''


def start(stage):
    require_root()
    conf = stage.write("resolv.conf", "nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
    nss = stage.write("nsswitch.conf", "hosts: dns\n")
    script = f"mount --bind {conf} $(realpath /etc/resolv.conf) && mount --bind {nss} /etc/nsswitch.conf && exec \"$@\""
    before = [tool("unshare"), "-m", "-n", tool("sh"), "-c", script, "sh"]
    process = stage.python(PROGRAM, before=before)
    pause(0.3)
    return ["-p", process.pid]
