"""An nginx server without requests."""
from scenario import NOTHING, await_port, free_port, pause, tool

GROUP = "idle"
SYMPTOM = "none"
TRUTH = NOTHING

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
  server {{ listen 127.0.0.1:{port}; }}
}}
"""


def start(stage):
    port = free_port()
    path = stage.write("nginx.conf", CONFIGURATION.format(folder=stage.folder, port=port))
    server = stage.start(tool("nginx"), "-e", stage.path("error.log"), "-c", path)
    await_port(port)
    pause(0.5)
    with open(f"/proc/{server.pid}/task/{server.pid}/children", encoding="ascii") as file:
        return ["-p", ",".join([str(server.pid), *file.read().split()])]
