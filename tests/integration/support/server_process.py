"""A real foretokend on free loopback ports with a store of its own, ended by its process id.

Example:
    with ServerProcess() as server:
        server.client.call("CatalogService/ListHardware")
"""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.request

import grpc

from support.foretoken_api import Api

BINARY_DIR = os.environ["FORETOKEN_BINARY_DIR"]
SERVER = os.path.join(BINARY_DIR, "foretokend")
CLI = os.path.join(BINARY_DIR, "foretoken")
API = Api(os.path.join(BINARY_DIR, "foretoken_v1.pb"))
START_SECONDS = 30


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class ServerProcess:
    """Starts at once and waits until it serves."""

    def __init__(self, store=None, flags=(), wrapper=(), credentials=None):
        """`flags`: ADDRESS in one stands for the server's address; `store`: the path of a SQLite file, or a store's
        whole name; `wrapper`: a command that runs the server; `credentials`: of gRPC, where the server's flags ask for
        TLS."""
        self.folder = tempfile.mkdtemp(prefix="foretoken-test-")
        self.store = store or os.path.join(self.folder, "catalog.db")
        self.flags = list(flags)
        self.wrapper = list(wrapper)
        self.credentials = credentials
        self.process = None
        self.client = None
        self.start()

    def start(self):
        """Also after kill(): the same store, new ports. Another process may take a free port first: three attempts."""
        for attempt in range(3):
            self.address = f"127.0.0.1:{free_port()}"
            self.metrics_address = f"127.0.0.1:{free_port()}"
            self._spawn()
            if self._wait_until_serving():
                return
            self.kill()
        raise RuntimeError("foretokend did not start:\n" + self.log())

    def _spawn(self):
        self.log_path = os.path.join(self.folder, "server.log")
        with open(self.log_path, "ab") as log:
            store = self.store if ":" in self.store else f"sqlite:{self.store}"
            self.process = subprocess.Popen(
                [*self.wrapper, SERVER, f"--listen={self.address}", f"--metrics_listen={self.metrics_address}",
                 f"--catalog_store={store}", *[flag.replace("ADDRESS", self.address) for flag in self.flags]], stdout=log, stderr=log)
        self.client = API.connect(self.address, self.credentials)

    def _wait_until_serving(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            try:
                if self.client.health() == 1:
                    return True
            except grpc.RpcError:
                pass
            time.sleep(0.02)
        return False

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def metrics(self):
        """The text of /metrics."""
        with urllib.request.urlopen(f"http://{self.metrics_address}/metrics", timeout=5) as reply:
            return reply.read().decode()

    def peak_memory_bytes(self):
        """The most memory that the process had so far."""
        with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as status:
            return next(1024 * int(line.split()[1]) for line in status if line.startswith("VmHWM:"))

    def cli(self, *arguments, timeout=60, **kwargs):
        """Runs the command line against this server; the finished process with its texts."""
        environment = {**os.environ, "FORETOKEN_SERVER": self.address}
        return subprocess.run([CLI, *arguments], env=environment, capture_output=True, text=True, timeout=timeout,
                              check=False, **kwargs)

    def kill(self):
        """SIGKILL, as a crash would."""
        self.client.close()
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(timeout=30)

    def terminate(self, timeout=30):
        """SIGTERM; the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=timeout)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)


class ServerTestCase(unittest.TestCase):
    """Tests that share one server."""

    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()
