"""A service with an event loop is slow, because the server that it asks for each request is."""
from scenario import Truth, free_port, pause

GROUP = "network"
SYMPTOM = "every request takes a quarter of a second, and the service idles"
READING = """\
An event loop waits for all its sockets at once, so no call of it is late. The service sent a
question to another server each time, and the answer came late: the name of the cause is the address
of that server, and the process that has the other end follows."""
TRUTH = Truth(cause=r"answer of 127\.0\.0\.1", who="gateway", by="stock", least=0.8)

BACKEND = '''
import socket
name("stock")
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
say("ready")
connection, _ = server.accept()
while connection.recv(100):
    time.sleep(0.2)
    connection.sendall(b"3 left")
'''

# Takes requests and asks the backend for each, all in one thread.
GATEWAY = '''
import asyncio
name("gateway")

async def main(port, backend):
    reader, writer = await asyncio.open_connection("127.0.0.1", backend)
    one = asyncio.Lock()
    async def serve(client, answers):
        while await client.read(100):
            async with one:
                begin = now()
                writer.write(b"how many?")
                await reader.read(100)
                say("wait", begin, now() - begin)
            answers.write(b"3")
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    say("ready")
    await server.serve_forever()

asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
'''

USER = '''
import socket
name("user")
service = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
say("ready")
while True:
    service.sendall(b"?")
    service.recv(100)
    time.sleep(0.02)
'''


def start(stage):
    port, backend = free_port(), free_port()
    stage.python(BACKEND, backend)
    target = stage.python(GATEWAY, port, backend)
    stage.python(USER, port)
    pause(0.5)
    return ["-p", target.pid]
