"""nginx passes requests on over a unix socket, to a server with two processes that is slow to answer."""
import idle_nginx
from scenario import Truth, await_port, free_port, pause, tool

GROUP = "network"
SYMPTOM = "pages take 150 ms, and nginx uses no CPU"
READING = """\
No call of an nginx worker is late, since it waits for all its sockets at once. But clients of nginx
wait while the server behind it does: the name of the cause is the path of that server's socket, and
the process that answered follows."""
TRUTH = Truth(cause=r"answer of unix /.*/app\.sock", who="nginx", by="shop", least=0.7)

SHOP = '''
import http.server, os, socketserver
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
    def address_string(self):
        return "nginx"
    def log_message(self, *words):
        pass
server = socketserver.UnixStreamServer(sys.argv[1], Page)
os.chmod(sys.argv[1], 0o777)
if os.fork():
    say("ready")
server.serve_forever()
'''

USER = '''
import http.client
def ask():
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    while True:
        server.request("GET", "/")
        server.getresponse().read()
for _ in range(2):
    start("user", ask)
say("ready")
time.sleep(1000)
'''


def start(stage):
    port, path = free_port(), stage.path("app.sock")
    text = idle_nginx.CONFIGURATION.format(folder=stage.folder, port=port)
    served = f"listen 127.0.0.1:{port};"
    configuration = stage.write("nginx.conf", text.replace(
        served, f"{served} location / {{ proxy_pass http://unix:{path}:; }}"))
    stage.python(SHOP, path)
    server = stage.start(tool("nginx"), "-e", stage.path("error.log"), "-c", configuration)
    await_port(port)
    stage.python(USER, port)
    pause(0.5)
    with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as file:
        return ["-p", ",".join([str(server.pid), *file.read().split()])]
