"""nginx passes requests on over a unix socket, to a server with two processes that is slow to answer."""
import nginx
from scenario import Truth

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


def start(stage):
    path = stage.path("app.sock")
    stage.python(SHOP, path)
    return nginx.start(stage, f"http://unix:{path}:", users=2)
