"""A real etcd cluster (Debian's etcd-server) on free loopback ports with a folder of its own.

Members end by SIGKILL to their own process ids: without a quorum etcd does not end by SIGTERM.
"""

import os
import random
import shutil
import socket
import subprocess
import tempfile
import time

import grpc

START_SECONDS = 60


def member_port():
    """A free port below those that the system gives to clients, so that it is free still when a member comes back."""
    for _ in range(1000):
        port = random.SystemRandom().randrange(15000, 32000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise RuntimeError("no free port")


def field(number, payload):
    """A length-delimited field of a protocol buffer, shorter than 16 KiB."""
    size = len(payload)
    length = bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])
    return bytes([number << 3 | 2]) + length + payload


def varint(number, value):
    out = bytes([number << 3])
    while value >= 128:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def varints(message):
    """The varint fields of a message by number, and the messages in it as bytes."""
    found, at = {}, 0
    while at < len(message):
        tag, at = read_varint(message, at)
        if tag & 7 == 0:
            found[tag >> 3], at = read_varint(message, at)
        else:
            size, at = read_varint(message, at)
            found[tag >> 3] = message[at:at + size]
            at += size
    return found


def read_varint(message, at):
    value, shift = 0, 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


class EtcdCluster:
    """Starts `size` members at once and waits until they have a leader."""

    def __init__(self, size=3, flags=(), scheme="http", credentials=None):
        """`scheme` of the client addresses; `credentials` of calls to them, where it is https."""
        self.scheme, self.credentials = scheme, credentials
        self.folder = tempfile.mkdtemp(prefix="foretoken-etcd-")
        self.flags = list(flags)
        self.names = [f"m{i}" for i in range(size)]
        self.processes = {}
        for _ in range(3):
            if self._start_all():
                return
            self._clear()
        raise RuntimeError("etcd did not start")

    def _start_all(self):
        """Whether all members live and have a leader; another process may take a free port first."""
        self.clients = {name: f"127.0.0.1:{member_port()}" for name in self.names}
        self.peers = {name: f"127.0.0.1:{member_port()}" for name in self.names}
        for name in self.names:
            self.start(name)
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and len(self.alive()) == len(self.names):
            if self.leader() is not None:
                return True
            time.sleep(0.05)
        return False

    def _clear(self):
        for name in self.alive():
            self.kill(name)
        for name in self.names:
            shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)

    def start(self, name):
        """Also after kill(name): with its data."""
        cluster = ",".join(f"{other}=http://{self.peers[other]}" for other in self.names)
        with open(os.path.join(self.folder, name + ".log"), "ab") as log:
            self.processes[name] = subprocess.Popen(
                ["etcd", "--name", name, "--data-dir", os.path.join(self.folder, name),
                 "--listen-client-urls", f"{self.scheme}://{self.clients[name]}",
                 "--advertise-client-urls", f"{self.scheme}://{self.clients[name]}",
                 "--listen-peer-urls", f"http://{self.peers[name]}",
                 "--initial-advertise-peer-urls", f"http://{self.peers[name]}",
                 "--initial-cluster", cluster, *self.flags], stdout=log, stderr=log)

    def kill(self, name):
        self.processes[name].kill()
        self.processes[name].wait(timeout=30)

    def alive(self):
        return [name for name in self.names if self.processes[name].poll() is None]

    def call(self, name, method, request, timeout=2):
        options = [("grpc.use_local_subchannel_pool", 1)]
        with (grpc.secure_channel(self.clients[name], self.credentials, options=options) if self.credentials else
              grpc.insecure_channel(self.clients[name], options=options)) as channel:
            return channel.unary_unary("/etcdserverpb." + method)(request, timeout=timeout, wait_for_ready=True)

    def status(self, name):
        """Varint fields of StatusResponse: 4 leader, 1 header (2: the member's own id, 3: the revision)."""
        return varints(self.call(name, "Maintenance/Status", b""))

    def leader(self):
        """The name of the leader; None: there is none, or it is dead."""
        for name in self.alive():
            try:
                status = self.status(name)
                if status.get(4) and status[4] == varints(status[1]).get(2):
                    return name
            except grpc.RpcError:
                pass
        return None

    def wait_for_leader(self):
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.leader() is not None:
                return
            time.sleep(0.05)
        raise RuntimeError("etcd has no leader:\n" + "\n".join(self.log(name)[-2000:] for name in self.names))

    def log(self, name):
        with open(os.path.join(self.folder, name + ".log"), encoding="utf-8", errors="replace") as log:
            return log.read()

    def put(self, key, value):
        """Past the server, as a hand on etcdctl would."""
        self.call(self.alive()[0], "KV/Put", field(1, key.encode()) + field(2, value), timeout=10)

    def compact(self):
        """Forgets every revision but the last."""
        name = self.alive()[0]
        revision = varints(self.status(name)[1])[3]
        self.call(name, "KV/Compact", varint(1, revision) + varint(2, 1), timeout=10)

    def store(self, addresses=None):
        """The name of the store as --catalog_store takes it."""
        return "etcd:" + ",".join(addresses or self.clients.values()) + "/test"

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        for name in self.alive():
            self.kill(name)
        shutil.rmtree(self.folder, ignore_errors=True)
