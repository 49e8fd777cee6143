"""MariaDB for the scenarios. Not a scenario."""
import os

from overdue_test import NOBODY
from scenario import NOBODY_ID, eventually, must, run, spare, tool, unittest


class Server:
    def __init__(self, stage, *options):
        server, client = spare("mariadbd"), spare("mariadb")
        if not server or not client:
            raise unittest.SkipTest("MariaDB is not installed")
        self.stage = stage
        os.chown(stage.folder, NOBODY_ID, NOBODY_ID)
        data, socket = stage.path("data"), stage.path("socket")
        must([*NOBODY, tool("mariadb-install-db"), "--no-defaults", f"--datadir={data}",
              "--auth-root-authentication-method=normal", "--skip-test-db"], cwd="/", timeout=120)
        self.process = stage.start(*NOBODY, server, "--no-defaults", f"--datadir={data}", f"--socket={socket}",
                                   f"--pid-file={stage.path('pid')}", "--skip-networking",
                                   "--innodb-buffer-pool-size=16M", *options)
        self.client = [client, "--no-defaults", "-S", socket, "-u", "root", "-N", "-n"]
        eventually(lambda: run([*self.client, "-e", "create database o"]).status == 0, 60, "MariaDB does not come up")
        self.client.append("o")

    def sql(self, text):
        return must([*self.client, "-e", text]).out

    def session(self, text):
        """A connection that runs the statements in the background, and stays open."""
        script = self.stage.write(f"session{len(self.stage.outputs)}.sql", text + "\n")
        return self.stage.start("/bin/sh", "-c", 'file=$1; shift; { cat "$file"; sleep 1000; } | "$@"', "sh", script,
                                *self.client)
