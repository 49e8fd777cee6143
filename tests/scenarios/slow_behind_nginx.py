"""nginx passes requests on to a server that is slow to answer; its workers wait for hundreds of sockets."""
import idle_nginx
from scenario import Truth, await_port, free_port, pause, tool

GROUP = "network"
SYMPTOM = "pages take 150 ms, and nginx uses no CPU"
READING = """\
No call of an nginx worker is late, since it waits for all its sockets at once. But clients of nginx
wait while the server behind it does: the name of the cause is the address of that server."""
TRUTH = Truth(cause=r"answer of 127\.0\.0\.1", who="nginx", by="shop", least=0.7)

SHOP = '''
import http.server
name("shop")
class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        begin = now()
        time.sleep(0.15)
        say("wait", begin, now() - begin)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")
    def log_message(self, *words):
        pass
say("ready")
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Page).serve_forever()
'''

USER = '''
import http.client
def ask():
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    while True:
        server.request("GET", "/")
        server.getresponse().read()
for _ in range(4):
    start("user", ask)
say("ready")
time.sleep(1000)
'''


def start(stage):
    port, behind = free_port(), free_port()
    text = idle_nginx.CONFIGURATION.format(folder=stage.folder, port=port)
    served = f"listen 127.0.0.1:{port};"
    path = stage.write("nginx.conf", text.replace(
        served, f"{served} location / {{ proxy_pass http://127.0.0.1:{behind}; }}"))
    stage.python(SHOP, behind)
    server = stage.start(tool("nginx"), "-e", stage.path("error.log"), "-c", path)
    await_port(port)
    stage.python(USER, port)
    pause(0.5)
    with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as file:
        return ["-p", ",".join([str(server.pid), *file.read().split()])]
