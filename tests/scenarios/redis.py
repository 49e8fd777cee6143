"""redis-server for the scenarios. Not a scenario."""
import contextlib
import socket

from scenario import eventually, must, tool


def start(stage, *options):
    """Returns the server's process and the path of its socket."""
    path = stage.path("redis.sock")
    process = stage.start(tool("redis-server"), "--port", "0", "--unixsocket", path, "--save", "", "--dir",
                          stage.folder, *options)
    eventually(lambda: ask(path, "PING").startswith("+PONG"), 30, "redis-server does not come up")
    return process, path


def ask(path, command):
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as server:
        server.settimeout(20)
        server.connect(path)
        server.sendall(command.encode() + b"\r\n")
        return server.recv(1000).decode()
    return ""


def fill(path, keys, size):
    must([tool("redis-benchmark"), "-s", path, "-q", "-t", "set", "-r", keys, "-n", keys, "-d", size, "-P", "50"],
         timeout=120)
