"""A network loses packets for 300 ms of each second: TCP sends them again, after a time-out."""
import os
import subprocess

from scenario import Truth, unittest

GROUP = "network"
SYMPTOM = "now and then a request to another host takes a quarter of a second, and the server saw it at once"
READING = """\
The client's kernel sent the request more than once, because the server's kernel did not acknowledge it: packets are
lost on the way, or the host is not there. Neither program can do anything about it. `ip -s link` and `nstat` count
what is lost where."""
TRUTH = Truth(cause=r"network: 10\.203\.\d+\.2:80 did not acknowledge, data was sent again: recv", who="client",
              by="network", not_by="server")

# In a network of its own, as in a container.
SERVER = '''
import ctypes, socket
name("server")
assert ctypes.CDLL(None).unshare(0x40000000) == 0, "CLONE_NEWNET"
say("apart")
sys.stdin.readline()
with socket.create_server((sys.argv[1], 80)) as server:
    say("ready")
    connection = server.accept()[0]
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while connection.recv(4, socket.MSG_WAITALL):
        connection.sendall(b"okay")
'''

CLIENT = '''
import socket
name("client")
server = socket.create_connection((sys.argv[1], 80))
server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
say("ready")
while True:
    begin = now()
    server.sendall(b"call")
    server.recv(4, socket.MSG_WAITALL)
    if now() - begin > 50_000_000:
        say("wait", begin, now() - begin)
    time.sleep(0.01)
'''

# Packets to a wrong address of the other card are lost.
LOSS = '''
import subprocess
name("loss")
link, host, right = sys.argv[1:]
say("ready")
while True:
    for address, seconds in ((right, 0.7), ("02:00:00:00:00:01", 0.3)):
        subprocess.run(["/usr/sbin/ip", "neigh", "replace", host, "lladdr", address, "dev", link], check=True)
        time.sleep(seconds)
'''


def ip(*words, of=None):
    inside = ["nsenter", "-t", str(of), "-n"] if of else []
    done = subprocess.run([*inside, "/usr/sbin/ip", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise unittest.SkipTest(f"no network to lose packets in: ip {' '.join(words)}: {done.stderr.strip()}")
    return done.stdout


def start(stage):
    number = os.getpid() % 250
    link, near, host = f"lossy{number}", f"10.203.{number}.1", f"10.203.{number}.2"
    server = stage.python(SERVER, host, stdin=subprocess.PIPE, ready=False)
    stage.await_text(server, "apart")
    ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", str(server.pid))
    stage.undo.callback(subprocess.run, ["/usr/sbin/ip", "link", "del", link], stderr=subprocess.DEVNULL, check=False)
    ip("addr", "add", f"{near}/24", "dev", link)
    ip("link", "set", link, "up")
    for words in ("link set lo up", f"addr add {host}/24 dev eth0", "link set eth0 up"):
        ip(*words.split(), of=server.pid)
    right = ip("-brief", "link", "show", "dev", "eth0", of=server.pid).split()[2]
    server.stdin.write(b"\n")
    server.stdin.flush()
    stage.await_text(server, "ready")
    client = stage.python(CLIENT, host)
    stage.python(LOSS, link, host, right)
    return ["-p", client.pid]
