#!/usr/bin/python3
"""The ready-made span `http`, of real servers, compared with the account of its client."""
import contextlib
import http.client
import json
import os
import signal
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from kernel_tracer import children_of
from overdue_test import SLOWER, Live, attached, eventually, main, overdue, read_ndjson, tool
from request_case import MS, Case, free_port, rows_of


# A client may have the answer before the server's thread, preempted in its last write, has returned from it.
RETURN = 100 * MS * SLOWER


class Http(Case):
    PYTHON = """
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/never": time.sleep(600)
        if self.path == "/parts": return self.send_parts()
        if self.path == "/large": return self.send_large()
        if self.path == "/other": return self.change_protocol()
        time.sleep(0.01)
        self.send_response(200); self.send_header("Content-Length", "5"); self.end_headers(); self.wfile.write(b"hello")
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"])); self.do_GET()
    do_DELETE = do_GET
    def send_parts(self):
        self.send_response(200); self.send_header("Transfer-Encoding", "chunked"); self.end_headers()
        for part in (b"one", b"two", b"three"):
            time.sleep(0.02); self.wfile.write(b"%x\\r\\n%s\\r\\n" % (len(part), part))
        time.sleep(0.02); self.wfile.write(b"0\\r\\n\\r\\n")
    def send_large(self):
        self.send_response(200); self.send_header("Content-Length", str(8 << 20)); self.end_headers()
        self.wfile.write(b"x" * (8 << 20))
    def change_protocol(self):
        self.send_response(101); self.send_header("Upgrade", "websocket"); self.end_headers()
        for _ in range(3): time.sleep(0.02); self.wfile.write(b"frame")
        self.close_connection = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
    NODE = """
const http = require("http");
http.createServer((request, response) => {
  if (request.url == "/never") return;
  request.resume();
  request.on("end", () => setTimeout(() => response.end("hello"), 10));
}).listen(+process.argv[1], "127.0.0.1");
"""

    def ask(self, connection, method="GET", path="/", body=None):
        """How long the client waited."""
        begin = time.monotonic_ns()
        connection.request(method, path, body)
        connection.getresponse().read()
        return time.monotonic_ns() - begin

    @contextlib.contextmanager
    def serving(self, *server):
        """The port on which the server, which gets the port as its last argument, listens, and its process."""
        port = free_port()
        with self.listening(port, *server, port) as live:
            yield port, live

    @contextlib.contextmanager
    def listening(self, port, *server):
        def connects():
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
                return True
            return False
        with Live(*server) as live:
            eventually(connects, 20 * SLOWER, "the server does not listen")
            yield live

    def check(self, *server):
        with self.serving(*server) as (port, live):
            seen = []
            with self.measured("http", "-p", live.pid) as reports:
                for _ in range(2):
                    connection = http.client.HTTPConnection("127.0.0.1", port)
                    seen += [self.ask(connection) for _ in range(8)]
                    # The body comes in parts, one of which looks like a request.
                    seen.append(self.ask(connection, "POST", "/", b"x" * 70000 + b"GET / HTTP/1.1" + b"y" * 70000))
                    seen.append(self.ask(connection, "DELETE"))
                    connection.close()
                never = http.client.HTTPConnection("127.0.0.1", port)
                never.request("GET", "/never")
                time.sleep(0.2)
            never.close()
        row = rows_of(reports[0])["http"]
        self.assertEqual(row["calls"], len(seen))
        # A timer of Node.js may expire a millisecond early.
        self.assertGreaterEqual(row["min_ns"], 9 * MS)
        self.assertLessEqual(row["max_ns"], max(seen) + RETURN)
        self.assertEqual([one["name"] for one in reports[0]["unfinished"]], ["pair http"])
        self.assertNotIn("spans_unread", str(reports[0]["receipt"]["lost_by"]))

    def test_a_server_in_python(self):
        self.check(tool("python3"), "-c", self.PYTHON)

    def test_a_server_in_node(self):
        self.check(tool("node"), "-e", self.NODE)

    def one_by_one(self, port, *paths):
        """Asks over one connection that stays open, which is idle for a while before and after each request."""
        connection = http.client.HTTPConnection("127.0.0.1", port)
        seen = []
        for path in paths:
            seen.append(self.ask(connection, path=path))
            time.sleep(0.3)
        connection.close()
        return seen

    def test_an_answer_in_parts_ends_with_the_last(self):
        """Also of a connection that is still open when the session ends. What follows the answer is not of the span."""
        with self.serving(tool("python3"), "-c", self.PYTHON) as (port, live):
            with self.measured("http", "-p", live.pid) as reports:
                last = http.client.HTTPConnection("127.0.0.1", port)
                seen = [*self.one_by_one(port, "/", "/parts", "/parts", "/"), self.ask(last, path="/parts")]
            last.close()
        row = rows_of(reports[0])["http"]
        self.assertEqual(row["calls"], len(seen))
        self.assertGreaterEqual(row["max_ns"], 80 * MS)
        self.assertGreaterEqual(row["total_ns"], 3 * 80 * MS + 2 * 10 * MS)
        self.assertLessEqual(row["max_ns"], max(seen) + RETURN)
        self.assertEqual(reports[0]["unfinished"], [])

    def test_the_wait_between_the_parts_is_in_the_ledger(self):
        path = f"{self.folder}/stalls.ndjson"
        with self.serving(tool("python3"), "-c", self.PYTHON) as (port, live):
            with attached("stalls", "-f", "ndjson", "-o", path, "--span", "http", "-T", "http=60ms", "-p",
                          live.pid) as stalls:
                self.one_by_one(port, "/", "/parts", "/")
                stalls.signal(signal.SIGINT)
                self.assertEqual(stalls.finish().status, 0)
        found = [line for line in read_ndjson(path) if line["type"] == "stall"]
        self.assertEqual([one["name"] for one in found], ["http"])
        for finding, parts in self.ledgers_of(found):
            self.assertGreaterEqual(finding["latency_ns"], 80 * MS)
            self.assertGreaterEqual(parts["blocked_ns"], 70 * MS)

    def test_a_slow_reader_is_within_the_span(self):
        """One write of the server, which returns when the client has read most of the body."""
        with self.serving(tool("python3"), "-c", self.PYTHON) as (port, live):
            with self.measured("http", "-p", live.pid) as reports, socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
                client.connect(("127.0.0.1", port))
                client.sendall(b"GET /large HTTP/1.1\r\n\r\n")
                time.sleep(0.1)
                left = 8 << 20
                while left > 0:
                    left -= len(client.recv(1 << 20))
        self.assertGreaterEqual(rows_of(reports[0])["http"]["max_ns"], 90 * MS)

    def test_another_protocol_has_no_requests(self):
        with self.serving(tool("python3"), "-c", self.PYTHON) as (port, live):
            with self.measured("http", "-p", live.pid) as reports:
                with socket.create_connection(("127.0.0.1", port)) as client:
                    client.sendall(b"GET /other HTTP/1.1\r\nUpgrade: websocket\r\n\r\n")
                    while client.recv(4096):
                        pass
                self.one_by_one(port, "/")
        self.assertEqual(rows_of(reports[0])["http"]["calls"], 1)
        self.assertLess(rows_of(reports[0])["http"]["max_ns"], 60 * MS + RETURN)

    def test_nginx_before_a_server_in_python(self):
        """The proxy's span has the whole answer, as the server's behind it."""
        nginx = tool("nginx")
        with self.serving(tool("python3"), "-c", self.PYTHON) as (behind, _):
            config = f"{self.folder}/nginx.conf"
            port = free_port()
            with open(config, "w", encoding="utf-8") as file:
                file.write(f"pid {self.folder}/nginx.pid; daemon off; error_log stderr; worker_processes 1;\n"
                           "events { }\n"
                           f"http {{ access_log off; client_body_temp_path {self.folder}/body; "
                           f"proxy_temp_path {self.folder}/proxy; fastcgi_temp_path {self.folder}/fastcgi; "
                           f"uwsgi_temp_path {self.folder}/uwsgi; scgi_temp_path {self.folder}/scgi;\n"
                           f"  server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://127.0.0.1:{behind}; "
                           "proxy_http_version 1.1; proxy_buffering off; } } }\n")
            os.chmod(self.folder, 0o755)
            with self.listening(port, nginx, "-p", self.folder, "-c", config) as live:
                workers = eventually(lambda: children_of(live.pid), 10, "nginx started no worker")
                with self.measured("http", "-p", ",".join(map(str, workers))) as reports:
                    seen = self.one_by_one(port, "/", "/parts", "/parts", "/")
        row = rows_of(reports[0])["http"]
        self.assertEqual(row["calls"], len(seen))
        self.assertGreaterEqual(row["max_ns"], 80 * MS)
        self.assertGreaterEqual(row["total_ns"], 2 * 80 * MS + 2 * 10 * MS)
        self.assertLessEqual(row["max_ns"], max(seen) + RETURN)
        self.assertLess(row["total_ns"], sum(seen) + RETURN)

    def test_a_client_has_none(self):
        port = free_port()
        with Live(tool("python3"), "-c", self.PYTHON, port):
            text = ("import time, urllib.request\n"
                    "for _ in range(100):\n"
                    " try: urllib.request.urlopen('http://127.0.0.1:%d/').read(); break\n"
                    " except OSError: time.sleep(0.1)" % port)
            path = f"{self.folder}/report.json"
            finished = overdue("spans", "-f", "json", "-o", path, "--span", "http", "--", tool("python3"), "-c", text)
        self.assertEqual(finished.status, 0, finished)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(rows_of(json.load(file)), {})


if __name__ == "__main__":
    main()
