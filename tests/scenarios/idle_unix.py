"""Clients wait for jobs and for news over unix sockets, in event loops and in calls; the servers wait for them."""
from scenario import NOTHING, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

# The queue's thread for each connection blocks.
QUEUE = '''
import queue, socket
jobs = queue.Queue()
def serve(connection):
    while line := connection.recv(1000):
        connection.sendall(jobs.get() if line == b"get" else (jobs.put(line) or b"done"))
with socket.socket(socket.AF_UNIX) as local:
    local.bind("queue.sock")
    local.listen()
    say("ready")
    while True:
        start("serve", serve, local.accept()[0])
'''

PRODUCER = '''
import socket
queue = socket.socket(socket.AF_UNIX)
queue.connect("queue.sock")
say("ready")
while True:
    time.sleep(0.2)
    queue.sendall(b"job")
    queue.recv(1000)
'''

WORKER = '''
import socket
queue = socket.socket(socket.AF_UNIX)
queue.connect("queue.sock")
say("ready")
while True:
    queue.sendall(b"get")
    queue.recv(1000)
'''

LOOP = '''
import asyncio
async def main():
    reader, writer = await asyncio.open_unix_connection("queue.sock")
    say("ready")
    while True:
        writer.write(b"get")
        await reader.read(1000)
asyncio.run(main())
'''

# Sends news, unasked.
NEWS = '''
import socket
news = socket.socket(socket.AF_UNIX)
news.bind("news.sock")
news.listen()
say("ready")
reader, _ = news.accept()
while True:
    time.sleep(0.3)
    reader.sendall(b"rain")
'''

READER = '''
import socket
news = socket.socket(socket.AF_UNIX)
news.connect("news.sock")
say("ready")
while True:
    news.recv(1000)
'''


def start(stage):
    target = [stage.python(program).pid for program in (QUEUE, WORKER, LOOP, NEWS, READER)]
    stage.python(PRODUCER)
    pause(0.5)
    return ["-p", ",".join(map(str, target))]
