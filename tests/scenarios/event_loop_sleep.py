"""An asyncio server sleeps in a handler: the requests of all other clients wait for its event loop."""
from scenario import Truth, free_port, pause

GROUP = "runtimes"
SYMPTOM = "an asyncio server answers in 200 ms now and then, with an idle CPU"
READING = """\
`time.sleep` in a handler stops the event loop, and with it every other client. The sleep was asked
for, but not by those who wait. Use `asyncio.sleep`, or a thread."""
TRUTH = Truth(cause=r"event loop waits for .*nanosleep", who="chat")

SERVER = '''
import asyncio
name("chat")
def backoff():
    begin = now()
    time.sleep(0.15)
    say("wait", begin, now() - begin)
async def handle(reader, writer):
    while line := await reader.readline():
        if line == b"slow\\n":
            backoff()
        writer.write(line)
        await writer.drain()
async def main():
    server = await asyncio.start_server(handle, "127.0.0.1", int(sys.argv[1]))
    say("ready")
    await server.serve_forever()
asyncio.run(main())
'''

CLIENT = '''
import socket
def ask(line, pause):
    connection = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    answers = connection.makefile("rb")
    while True:
        connection.sendall(line)
        answers.readline()
        time.sleep(pause)
start("slow", ask, b"slow\\n", 0.2)
start("quick", ask, b"quick\\n", 0.01)
say("ready")
time.sleep(1000)
'''


def start(stage):
    port = free_port()
    server = stage.python(SERVER, port)
    stage.python(CLIENT, port)
    pause(0.5)
    return ["-p", server.pid]
