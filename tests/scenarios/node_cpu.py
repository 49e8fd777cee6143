"""A Node server sorts a large array in a handler; other requests wait for the event loop's turn to end."""
import node
from scenario import Truth, free_port, pause

GROUP = "runtimes"
SYMPTOM = "requests to a Node server take 80 ms, most of them without a reason of their own"
READING = """\
Nothing blocks: the event loop computes. The function on the CPU is the handler that every other
request waits for. Without `--perf-basic-prof`, Node's functions have no names."""
TRUTH = Truth(cause=r"CPU|computes|event loop|turn", who="node", kinds=("cpu",), oncpu="makeReport|makeKey")

SERVER = '''
const http = require("http");
function makeKey(n) {
  let key = n;
  for (let i = 0; i < 200; i++) key = (key * 1103515245 + 12345) % 2147483648;
  return key;
}
function makeReport() {
  const until = now() + 80_000_000n;
  let sum = 0;
  while (now() < until) for (let i = 0; i < 200; i++) sum += makeKey(i);
  return sum;
}
http.createServer((request, response) => {
  if (request.url === "/report") timed(makeReport);
  response.end("done");
}).listen(Number(process.argv[2]), "127.0.0.1", () => say("ready"));
'''

CLIENT = '''
import http.client
def ask(path, pause):
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    while True:
        server.request("GET", path)
        server.getresponse().read()
        time.sleep(pause)
start("reports", ask, "/report", 0.1)
start("pages", ask, "/", 0.01)
say("ready")
time.sleep(1000)
'''


def start(stage):
    port = free_port()
    path = stage.write("server.js", node.PREAMBLE + SERVER)
    server = stage.start(node.tool("node"), "--perf-basic-prof", "--interpreted-frames-native-stack", path, port)
    stage.await_text(server, "ready")
    stage.python(CLIENT, port)
    pause(1)  # the compiler of Node settles
    return ["-p", server.pid]
