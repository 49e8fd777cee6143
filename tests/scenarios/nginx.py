"""nginx with two workers, for scenarios."""
from scenario import await_port, free_port, pause, tool

CONFIGURATION = """\
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
worker_processes 2;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{ listen 127.0.0.1:{port}; {location} }}
}}
"""

USER = '''
import http.client
def ask():
    server = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]))
    while True:
        server.request("GET", "/")
        server.getresponse().read()
for _ in range(int(sys.argv[2])):
    start("user", ask)
say("ready")
time.sleep(1000)
'''


def start(stage, upstream="", users=0):
    """Starts nginx, which passes requests on to `upstream` if there is one, and users who ask without a
    pause. Returns the arguments for the processes of nginx."""
    port = free_port()
    location = f"location / {{ proxy_pass {upstream}; }}" if upstream else ""
    text = CONFIGURATION.format(folder=stage.folder, port=port, location=location)
    server = stage.start(tool("nginx"), "-e", stage.path("error.log"), "-c", stage.write("nginx.conf", text))
    await_port(port)
    if users:
        stage.python(USER, port, users)
    pause(0.5)
    with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as file:
        return ["-p", ",".join([str(server.pid), *file.read().split()])]
