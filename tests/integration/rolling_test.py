"""A rolling restart of two replicas under six clients that ask without a pause: no call fails.

The clients balance between the replicas and watch their health, as Client's Dial and any gRPC library can. A replica
that is told to end says NOT_SERVING first, and goes on answering for --drain_grace, in which the clients leave it.
"""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import grpc

from support.replicas import wait_until
from support.scenarios import scenario
from support.server_process import API, CLI, SERVER, free_port

CLIENTS = 6
ROUNDS = 2  # each restarts both replicas
GRACE_SECONDS = 1
# From one replica's SERVING to the end of the next: gRPC looks again at a replica that was not healthy after a second.
SETTLE_SECONDS = 2
IN_TURN = json.dumps({"loadBalancingConfig": [{"round_robin": {}}],
                      "healthCheckConfig": {"serviceName": "foretoken.v1.EstimatorService"}})


class Replica:
    """A server that starts again on its address."""

    def __init__(self, folder):
        self.address = f"127.0.0.1:{free_port()}"
        self.log = os.path.join(folder, self.address + ".log")
        self.store = os.path.join(folder, "catalog.db")
        self.start()

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [SERVER, f"--listen={self.address}", "--metrics_listen=", f"--catalog_store=sqlite:{self.store}",
                 f"--drain_grace={GRACE_SECONDS}s"], stdout=log, stderr=log)
        probe = API.connect(self.address)
        wait_until(lambda: self.is_serving(probe), 30, "the replica serves")
        probe.close()

    @staticmethod
    def is_serving(probe):
        try:
            return probe.health() == 1
        except grpc.RpcError:
            return False

    def restart(self):
        """Its exit code."""
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=30)
        self.start()
        return code

    def kill(self):
        self.process.kill()
        self.process.wait(timeout=30)


class Asker(threading.Thread):
    """Asks both replicas in turn, without a pause and without a retry of its own."""

    def __init__(self, target):
        super().__init__(daemon=True)
        options = [("grpc.service_config", IN_TURN), ("grpc.use_local_subchannel_pool", 1),
                   ("grpc.initial_reconnect_backoff_ms", 50), ("grpc.max_reconnect_backoff_ms", 200)]
        self.channel = grpc.insecure_channel(target, options=options)
        method = API.method("EstimatorService/Estimate")
        self.request = API.build(method.input_type, {"scenario": scenario()}).SerializeToString()
        self.ending = threading.Event()
        self.answered, self.failed = 0, []
        self.start()

    def run(self):
        call = self.channel.unary_unary("/foretoken.v1.EstimatorService/Estimate")
        while not self.ending.is_set():
            try:
                call(self.request, timeout=10)
                self.answered += 1
            except grpc.RpcError as error:
                self.failed.append((error.code().name, error.details()))
        self.channel.close()


class Rolling(unittest.TestCase):
    def setUp(self):
        folder = tempfile.mkdtemp(prefix="foretoken-rolling-")
        self.addCleanup(shutil.rmtree, folder)
        self.replicas = [Replica(folder) for _ in range(2)]
        for replica in self.replicas:
            self.addCleanup(replica.kill)
        self.target = "ipv4:" + ",".join(replica.address for replica in self.replicas)

    def test_no_call_fails(self):
        askers = [Asker(self.target) for _ in range(CLIENTS)]
        wait_until(lambda: all(asker.answered > 10 for asker in askers), 30, "the clients are answered")
        for _ in range(ROUNDS):
            for replica in self.replicas:
                self.assertEqual(replica.restart(), 0)
                time.sleep(SETTLE_SECONDS)
        for asker in askers:
            asker.ending.set()
            asker.join(timeout=30)
        self.assertEqual([failure for asker in askers for failure in asker.failed], [])
        self.assertGreater(sum(asker.answered for asker in askers), 1000)

    def test_the_command_line_finds_the_replica_that_is_left(self):
        first, second = self.replicas
        first.process.send_signal(signal.SIGTERM)
        for _ in range(3):  # while it drains, and once it is gone
            done = subprocess.run([CLI, "--server", self.target, "list", "hardware", "--ids"], capture_output=True,
                                  text=True, timeout=60, check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            time.sleep(GRACE_SECONDS / 2)
        self.assertEqual(first.process.wait(timeout=30), 0)
        self.assertIsNone(second.process.poll())


if __name__ == "__main__":
    unittest.main()
