#!/usr/bin/python3
"""The ready-made span `http`, of real servers, compared with the account of its client."""
import contextlib
import http.client
import json
import os
import socket
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from overdue_test import SLOWER, Live, eventually, main, overdue, tool
from request_case import MS, Case, free_port, rows_of


class Http(Case):
    PYTHON = """
import http.server, sys, time
class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        if self.path == "/never": time.sleep(600)
        time.sleep(0.01)
        self.send_response(200); self.send_header("Content-Length", "5"); self.end_headers(); self.wfile.write(b"hello")
    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"])); self.do_GET()
    do_DELETE = do_GET
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

    def check(self, *server):
        port = free_port()
        with Live(*server, port) as live:
            def connects():
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 5):
                    return True
                return False
            eventually(connects, 20 * SLOWER, "the server does not listen")
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
        self.assert_within(row, seen)
        self.assertEqual([one["name"] for one in reports[0]["unfinished"]], ["pair http"])
        self.assertNotIn("spans_unread", str(reports[0]["receipt"]["lost_by"]))

    def test_a_server_in_python(self):
        self.check(tool("python3"), "-c", self.PYTHON)

    def test_a_server_in_node(self):
        self.check(tool("node"), "-e", self.NODE)

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
