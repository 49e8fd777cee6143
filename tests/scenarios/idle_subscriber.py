"""A Node server that answers at once, and meanwhile waits for news: Redis messages and jobs, and a long poll."""
import node
import redis
from scenario import NOTHING, free_port, pause

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

# Holds each request back for a second, or until there is news.
NEWS = '''
import http.server, queue
news = queue.Queue()
class Poll(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        try:
            text = news.get(timeout=1)
        except queue.Empty:
            text = b""
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def log_message(self, *words):
        pass
def publish():
    while True:
        time.sleep(0.7)
        news.put(b"rain")
start("publish", publish)
say("ready")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Poll).serve_forever()
'''

SERVER = '''
const http = require("http"), net = require("net");
const [own, redis, news] = process.argv.slice(2).map(Number);
const ask = (command, again) => {
  const socket = net.connect(redis, "127.0.0.1", () => socket.write(command));
  socket.on("data", () => again && socket.write(command));
};
ask("SUBSCRIBE news\\r\\n", false);
ask("BLPOP jobs 0\\r\\n", true);
const agent = new http.Agent({keepAlive: true});
const poll = () => http.get({port: news, host: "127.0.0.1", agent}, (answer) => answer.on("end", poll).resume());
poll();
http.createServer((request, response) => response.end("ok")).listen(own, "127.0.0.1", () => say("ready"));
'''

WORLD = '''
import http.client, socket
redis = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
say("ready")
while True:
    for command in b"PUBLISH news rain\\r\\n", b"RPUSH jobs one\\r\\n":
        time.sleep(0.15)
        redis.sendall(command)
        redis.recv(1000)
        server.request("GET", "/")
        server.getresponse().read()
'''


def start(stage):
    own, port, news = free_port(), free_port(), free_port()
    redis.start(stage, "--port", str(port))
    stage.python(NEWS, news)
    target = node.start(stage, "server", SERVER, own, port, news)
    stage.python(WORLD, own, port)
    pause(1)
    return ["-p", target.pid]
