"""HAProxy with deploy/haproxy/guard.cfg in front of a server, on a free loopback port, ended by its process id."""

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from support.server_process import free_port

CONFIGURATION = Path(__file__).resolve().parent.parent.parent / "deploy/haproxy/guard.cfg"
START_SECONDS = 10


class Proxy:
    """Listens when it is made. Debian's package is needed: nothing is skipped without it."""

    def __init__(self, server_address):
        self.address = f"127.0.0.1:{free_port()}"
        program = shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin")
        environment = {**os.environ, "FORETOKEN_BIND": self.address, "FORETOKEN_SERVER": server_address}
        self.process = subprocess.Popen([program, "-f", str(CONFIGURATION)], env=environment,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self._wait()

    def _wait(self):
        host, port = self.address.rsplit(":", 1)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            try:
                socket.create_connection((host, int(port)), timeout=1).close()
                return
            except OSError:
                time.sleep(0.02)
        raise RuntimeError("haproxy did not start")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.kill()
        self.process.wait(timeout=10)
