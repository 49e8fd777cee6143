"""Event loops whose timers expire, a server that looks for a signal to end twice a second, a loop on a pipe."""
from scenario import NOTHING, free_port, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

TIMERS = '''
import asyncio
async def tick(every):
    while True:
        await asyncio.sleep(every)
async def main():
    ticks = [asyncio.create_task(tick(every)) for every in (0.05, 0.1, 0.3)]
    say("ready")
    await asyncio.wait(ticks)
asyncio.run(main())
'''

SERVER = '''
import socketserver
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(line)
class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
server = Server(("127.0.0.1", int(sys.argv[1])), Echo)
say("ready")
server.serve_forever()
'''

CLIENT = '''
import socket
server = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
answers = server.makefile("rb")
say("ready")
while True:
    server.sendall(b"x\\n")
    answers.readline()
    time.sleep(0.2)
'''

DESKTOP = '''
import os, select
reader, writer = os.pipe()
if os.fork() == 0:
    while True:
        time.sleep(0.03)
        os.write(writer, b"x")
events = select.poll()
events.register(reader, select.POLLIN)
say("ready")
while True:
    if events.poll(100):
        os.read(reader, 10)
'''


def start(stage):
    port = free_port()
    server = stage.python(SERVER, port)
    stage.python(CLIENT, port)
    pids = [server.pid, stage.python(TIMERS).pid, stage.python(DESKTOP).pid]
    pause(0.3)
    return ["-p", ",".join(map(str, pids))]
