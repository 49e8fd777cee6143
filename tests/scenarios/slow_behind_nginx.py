"""nginx passes requests on to a server that is slow to answer; its workers wait for hundreds of sockets."""
import nginx
from scenario import Truth, free_port

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


def start(stage):
    port = free_port()
    stage.python(SHOP, port)
    return nginx.start(stage, f"http://127.0.0.1:{port}", users=4)
