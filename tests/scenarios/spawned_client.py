"""A program that Overdue starts fetches pages in an event loop from a server that computes."""
from scenario import PREAMBLE, Account, Truth, free_port, tool

GROUP = "network"
SYMPTOM = "a script that fetches ten pages takes a second"
READING = """\
The event loop of a program that only connects waits for answers. The server ran meanwhile."""
TRUTH = Truth(cause=r"epoll_wait", who="fetcher", by="pages")

SERVER = '''
import socket
name("pages")
with socket.create_server(("127.0.0.1", int(sys.argv[1]))) as server:
    say("ready")
    while True:
        connection = server.accept()[0]
        connection.recv(1000)
        until = now() + 80_000_000
        while now() < until:
            pass
        connection.close()
'''

PROGRAM = '''
import asyncio
name("fetcher")
out = open(sys.argv[2], "w")
async def fetch():
    for _ in range(10):
        reader, writer = await asyncio.open_connection("127.0.0.1", int(sys.argv[1]))
        writer.write(b"page")
        begin = now()
        await reader.read()
        print("wait", begin, now() - begin, file=out, flush=True)
        writer.close()
asyncio.run(fetch())
'''


def start(stage):
    port = free_port()
    stage.python(SERVER, port)
    stage.waits = stage.path("waits")
    return ["--", tool("/usr/bin/python3"), "-I", "-S", "-B", stage.write("fetcher.py", PREAMBLE + PROGRAM), port,
            stage.waits]


def account(stage, _begin, _end):
    with open(stage.waits, encoding="ascii") as file:
        return Account(None, sum(int(line.split()[2]) for line in file))
