"""The deployment of deploy/compose, as processes: what its callers notice of an operator's work and of the end of
etcd's leader.

A scheduler and a dashboard keep one channel of the client library each, a CI job runs the command line, all through the
proxy. A second scheduler balances by itself over the replicas, with gRPC's own means. Each call has ten seconds.
"""

import contextlib
import json
import os
import re
import subprocess
import tempfile
import threading
import time
import unittest

import grpc
import yaml

from support.deployment import DEPLOY, Deployment, Replica, Secrets, compose_file
from support.replicas import entries, wait_until
from support.scenarios import hardware, scenario
from support.server_process import API, BINARY_DIR, CLI

CALLER = os.path.join(BINARY_DIR, "foretoken-caller")
DEADLINE_SECONDS = 10
ROLLS = 2  # of every replica


def service_config():
    """What docs/deployment.md tells a caller that balances by itself."""
    with open(os.path.join(DEPLOY, "..", "docs", "deployment.md"), encoding="utf-8") as file:
        return json.loads(re.search(r"^```\n(\{\n.*?^\})\n```$", file.read(), re.MULTILINE | re.DOTALL).group(1))


class Caller:
    """foretoken-caller in one role."""

    def __init__(self, role, deployment, pause):
        self.role = role
        self.process = subprocess.Popen(
            [CALLER, f"--server={deployment.proxy.address}", f"--ca_file={deployment.secrets.path('jobs', 'ca.crt')}",
             f"--role={role}", f"--pause={pause}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def finish(self):
        said, _ = self.process.communicate(timeout=30)  # which closes its input
        found = re.search(r"calls (\d+) failures (\d+) longest_seconds (\S+)", said)
        self.calls, self.longest = int(found.group(1)), float(found.group(3))
        self.failures = [line for line in said.splitlines() if line.startswith("failure")]


class Looping(threading.Thread):
    """Calls `self.call()` until told to stop; it returns what failed, or None."""

    def __init__(self, role, pause):
        super().__init__(daemon=True)
        self.role, self.pause = role, pause
        self.calls, self.failures, self.longest = 0, [], 0.0
        self.ending = threading.Event()

    def run(self):
        while not self.ending.wait(self.pause):
            began = time.monotonic()
            failure = self.call(self.calls)
            self.longest = max(self.longest, time.monotonic() - began)
            self.calls += 1
            if failure is not None:
                self.failures.append(failure)

    def finish(self):
        self.ending.set()
        self.join(timeout=30)


class CiJob(Looping):
    """Registers one entry after the other by the command line, with the token that its folder holds at the time."""

    def __init__(self, deployment):
        super().__init__("CI job", 0.2)
        self.deployment, self.known = deployment, []
        with open(os.path.join(DEPLOY, "example-hardware.textproto"), encoding="utf-8") as file:
            self.example = file.read()
        self.start()

    def call(self, number):
        identifier = f"ci-{number}"
        secrets = self.deployment.secrets
        done = subprocess.run(
            [CLI, "--server", self.deployment.proxy.address, "--ca-file", secrets.path("jobs", "ca.crt"),
             "--token-file", secrets.path("jobs", "token"), "register-hardware", "-"], text=True, capture_output=True,
            check=False, input=self.example.replace('"example-accelerator"', f'"{identifier}"'), timeout=60)
        if done.returncode != 0:
            return f"{identifier}: {done.returncode} {done.stderr}"
        self.known.append(identifier)
        return None


class BalancingScheduler(Looping):
    """Knows both replicas, asks their health, and calls one after the other."""

    def __init__(self, deployment):
        super().__init__("scheduler that balances by itself", 0.01)
        options = [("grpc.service_config", json.dumps(service_config())), ("grpc.ssl_target_name_override", "foretokend"),
                   ("grpc.use_local_subchannel_pool", 1), ("grpc.initial_reconnect_backoff_ms", 50),
                   ("grpc.max_reconnect_backoff_ms", 1000)]
        self.channel = grpc.secure_channel("ipv4:" + ",".join(replica.address for replica in deployment.replicas),
                                           deployment.secrets.credentials(), options=options)
        method = API.method("EstimatorService/BatchEstimate")
        candidates = [{"live_load": {"running_sequences": i}} for i in range(10)]
        workload = {"batch_size": 1, "prompt_tokens": 1024, "output_tokens": 128}
        self.request = API.build(method.input_type, {"base": scenario(workload=workload), "candidates": candidates})
        self.stub = self.channel.unary_unary(
            "/foretoken.v1.EstimatorService/BatchEstimate",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=API.message_class("foretoken.v1.BatchEstimateResponse").FromString)
        self.start()

    def call(self, number):
        try:
            results = self.stub(self.request, timeout=DEADLINE_SECONDS).results
            return None if all(result.HasField("estimate") for result in results) else f"call {number}: {results}"
        except grpc.RpcError as error:
            return f"call {number}: {error.code()} {error.details()}"

    def finish(self):
        super().finish()
        self.channel.close()


def probes():
    """The commands by which Docker and Kubernetes ask for the health of a replica."""
    with open(os.path.join(DEPLOY, "kubernetes", "deployment.yaml"), encoding="utf-8") as file:
        container, = yaml.safe_load(file)["spec"]["template"]["spec"]["containers"]
    by_kubernetes = [container[f"{name}Probe"]["exec"]["command"] for name in ("startup", "readiness", "liveness")]
    return [*by_kubernetes, compose_file()["services"]["foretoken-1"]["healthcheck"]["test"][1:]]


class Probes(unittest.TestCase):
    def test_they_find_a_replica_that_serves_and_notice_one_that_does_not(self):
        with tempfile.TemporaryDirectory() as folder:
            service = compose_file()["services"]["foretoken-1"]
            with Replica(service, "memory:", Secrets(folder)) as replica:
                for command in probes():
                    self.assertEqual((command[0], replica.probe(command)), ("foretoken", 0))
                replica.kill()
                for command in probes():
                    self.assertNotEqual(replica.probe(command), 0)


class NoCallFails(unittest.TestCase):
    def test_while_replicas_roll_secrets_change_and_the_leader_dies(self):
        with Deployment() as deployment:
            callers = [Caller("scheduler", deployment, "1ms"), Caller("dashboard", deployment, "20ms"),
                       CiJob(deployment), BalancingScheduler(deployment)]
            try:
                for work in (self.roll_every_replica, self.replace_the_token, self.renew_certificates,
                             self.kill_the_leader):
                    began = time.monotonic()
                    work(deployment, callers[2])
                    print(f"{work.__name__}: {time.monotonic() - began:.1f} s", flush=True)
                    self.wait_for_calls(callers[2])
            finally:
                for caller in callers:
                    caller.finish()
            for caller in callers:
                print(f"{caller.role}: {caller.calls} calls, {len(caller.failures)} failed, "
                      f"longest {caller.longest:.2f} s")
            self.assertEqual(self.compressed(deployment), grpc.StatusCode.UNIMPLEMENTED)
            self.assertEqual([failure for caller in callers for failure in caller.failures], [], deployment.proxy.log())
            for caller in callers:
                self.assertGreater(caller.calls, 30, caller.role)
            for replica in deployment.replicas:
                self.assertEqual(set(callers[2].known) - set(entries(replica, "ci-")), set())

    @staticmethod
    def wait_for_calls(job):
        """Time in which every caller calls, and the one that is slowest twice."""
        before = job.calls
        wait_until(lambda: job.calls >= before + 2, 30, "two registrations")

    def roll_every_replica(self, deployment, _):
        for replica in deployment.replicas * ROLLS:
            before = replica.process.pid
            self.assertEqual(deployment.roll(replica), 0)
            self.assertNotEqual(replica.process.pid, before)

    def replace_the_token(self, deployment, job):
        with open(deployment.secrets.path("jobs", "token"), encoding="ascii") as file:
            old = file.read().strip()
        deployment.secrets.make("token")
        self.wait_for_calls(job)  # a job that holds the last token has ended
        self.assertTrue(self.counts(deployment, old))
        deployment.secrets.make("retire")
        self.assertFalse(self.counts(deployment, old))

    def counts(self, deployment, token):
        """Whether a registration with the token is taken; only tried."""
        method = API.method("CatalogService/RegisterHardware")
        request = API.build(method.input_type, {"spec": hardware("tried"), "validate_only": True})
        client = deployment.connect()
        call = client.channel.unary_unary("/foretoken.v1.CatalogService/RegisterHardware",
                                          request_serializer=lambda message: message.SerializeToString())
        try:
            call(request, timeout=DEADLINE_SECONDS, metadata=[("authorization", f"Bearer {token}")])
            return True
        except grpc.RpcError as error:
            self.assertEqual(error.code(), grpc.StatusCode.UNAUTHENTICATED)
            return False
        finally:
            client.close()

    @staticmethod
    def compressed(deployment):
        """The code by which the proxy ends a call whose message is compressed."""
        client = deployment.connect()
        call = client.channel.unary_unary("/foretoken.v1.EstimatorService/Estimate")
        with contextlib.closing(client):
            try:
                call(b"0" * 1000, timeout=DEADLINE_SECONDS, compression=grpc.Compression.Gzip)
            except grpc.RpcError as error:
                return error.code()
        return grpc.StatusCode.OK

    def renew_certificates(self, deployment, _):
        deployment.renew_certificates()

    def kill_the_leader(self, deployment, job):
        leader = deployment.cluster.leader()
        deployment.cluster.kill(leader)
        self.wait_for_calls(job)
        deployment.cluster.wait_for_leader()
        deployment.cluster.start(leader)


if __name__ == "__main__":
    unittest.main()
