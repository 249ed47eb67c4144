"""The deployment of deploy/compose as processes on free loopback ports: the replicas with the compose file's flags,
three members of etcd, HAProxy with the file that ships, and secrets by the script that ships.

Example:
    with Deployment() as deployment:
        deployment.roll(deployment.replicas[0])
"""

import contextlib
import os
import re
import shutil
import signal
import ssl
import subprocess
import tempfile
import urllib.request

import grpc
import yaml

from support.etcd_cluster import EtcdCluster, member_port
from support.replicas import wait_until
from support.server_process import API, CLI, ServerProcess

DEPLOY = os.path.join(os.environ["FORETOKEN_SOURCE_DIR"], "deploy")
COMPOSE = os.path.join(DEPLOY, "compose", "compose.yaml")
MOUNTED = "/etc/foretoken/"  # where the containers see their secrets
RELOAD_SECONDS = 60  # the server looks for new files every ten


def compose_file():
    with open(COMPOSE, encoding="utf-8") as file:
        return yaml.safe_load(file)


def haproxy():
    return shutil.which("haproxy", path=os.environ.get("PATH", "") + ":/usr/sbin")


def seconds(duration):
    """45 of "45s"."""
    return int(re.fullmatch(r"(\d+)s", duration).group(1))


def free_address():
    """Stays free while a process that listens there is started again."""
    return f"127.0.0.1:{member_port()}"


def shown_certificate(address):
    host, port = address.split(":")
    return ssl.get_server_certificate((host, int(port)))


class Secrets:
    """Those of make-secrets, in a folder of their own."""

    def __init__(self, folder):
        self.folder = folder
        self.make()

    def make(self, *task):
        subprocess.run([os.path.join(DEPLOY, "compose", "make-secrets"), f"--folder={self.folder}", *task], check=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def credentials(self):
        with open(self.path("authority", "ca.crt"), "rb") as file:
            return grpc.ssl_channel_credentials(file.read())


class Replica(ServerProcess):
    """A service of the compose file at an address that it keeps when it is started again."""

    def __init__(self, service, store, secrets):
        self.own_address, self.own_metrics_address = free_address(), free_address()
        self.secrets = secrets
        self.stop_seconds = seconds(service["stop_grace_period"])
        ours = ("--listen=", "--metrics_listen=", "--catalog_store=", "--trusted_proxies=")
        flags = [flag.replace(MOUNTED, secrets.path("replica", "")) for flag in service["command"]
                 if not flag.startswith(ours)]
        super().__init__(store=store, flags=[*flags, "--trusted_proxies=127.0.0.1"], credentials=secrets.credentials())

    def start(self):
        self.address, self.metrics_address = self.own_address, self.own_metrics_address
        self._spawn()
        if not self._wait_until_serving():
            raise RuntimeError("foretokend did not start:\n" + self.log())

    def probe(self, command):
        """The exit code of a probe that would run in this replica's container."""
        # The certificate names both; a machine without /etc/hosts does not know localhost.
        here = {MOUNTED: self.secrets.path("replica", ""), "localhost:50051": self.address}
        for there, path in here.items():
            command = [argument.replace(there, path) for argument in command]
        return subprocess.run([CLI, *command[1:]], capture_output=True, check=False, timeout=30).returncode


class Proxy:
    """HAProxy as the compose file's proxy."""

    def __init__(self, service, replicas, secrets):
        self.port = free_address().rsplit(":", 1)[1]
        self.address, self.metrics_address = f"127.0.0.1:{self.port}", free_address()
        environment = {name: value.replace(MOUNTED, secrets.path("proxy", ""))
                       for name, value in service["environment"].items()}
        environment |= {"FORETOKEN_BIND": f"127.0.0.1:{self.port}", "FORETOKEN_METRICS_BIND": self.metrics_address,
                        "FORETOKEN_REPLICA_1": replicas[0].address, "FORETOKEN_REPLICA_2": replicas[1].address}
        self.log_path = secrets.path("proxy.log")
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [haproxy(), "-W", "-db", "-f", os.path.join(DEPLOY, "haproxy", "haproxy.cfg")], stdout=log, stderr=log,
                env={**os.environ, **environment})

    def is_up(self, name):
        """Whether calls go to the replica that haproxy.cfg calls `name`."""
        try:
            with urllib.request.urlopen(f"http://{self.metrics_address}/metrics", timeout=5) as reply:
                series = f'haproxy_server_status{{proxy="replicas",server="{name}",state="UP"}} 1'
                return series in reply.read().decode()
        except OSError:
            return False

    def reload(self):
        """The file of the certificate is read again."""
        self.process.send_signal(signal.SIGUSR2)

    def log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as log:
            return log.read()

    def end(self):
        self.process.terminate()
        self.process.wait(timeout=30)


class Deployment:
    """Starts at once and waits until both replicas are called."""

    def __init__(self):
        with contextlib.ExitStack() as stack:
            self.folder = tempfile.mkdtemp(prefix="foretoken-deployment-")
            stack.callback(shutil.rmtree, self.folder)
            services = compose_file()["services"]
            self.secrets = Secrets(self.folder)
            self.cluster = stack.enter_context(EtcdCluster(3))
            self.replicas = [stack.enter_context(Replica(services[name], self.cluster.store(), self.secrets))
                             for name in ("foretoken-1", "foretoken-2")]
            self.proxy = Proxy(services["proxy"], self.replicas, self.secrets)
            stack.callback(self.proxy.end)
            self._wait_until_called(*self.replicas)
            self.stack = stack.pop_all()

    def _wait_until_called(self, *replicas):
        names = dict(zip(self.replicas, ("one", "two")))
        wait_until(lambda: all(self.proxy.is_up(names[replica]) for replica in replicas), 30, "the proxy calls them")

    def connect(self):
        """A client of the proxy."""
        return API.connect(self.proxy.address, self.secrets.credentials())

    def roll(self, replica):
        """As docker compose stops a container and starts it anew; its exit code."""
        code = replica.terminate(timeout=replica.stop_seconds)
        replica.client.close()
        replica.start()
        self._wait_until_called(replica)
        return code

    def renew_certificates(self):
        """Of both replicas, which notice by themselves, and of the proxy, which is told."""
        addresses = [self.proxy.address, *(replica.address for replica in self.replicas)]
        before = [shown_certificate(address) for address in addresses]
        self.secrets.make("certificates")
        self.proxy.reload()
        wait_until(lambda: not any(shown_certificate(address) in before for address in addresses), RELOAD_SECONDS,
                   "all show new certificates")

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.stack.close()
