"""One flood against one server, with a polite client beside it, and what both saw."""

import collections
import contextlib
import dataclasses
import json
import os
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Optional

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
# pylint: disable=wrong-import-position
from http2 import SOURCE, Closed, Connection  # noqa: E402
from support.foretoken_api import Refused  # noqa: E402
from support.scenarios import hardware, scenario  # noqa: E402
from support.server_process import API, ServerProcess  # noqa: E402

ADDRESS_SPACE = 16 << 30  # past this the server ends, so that this machine does not
REST_SECONDS = 2  # after a flood, until memory is read again
LOOK_SECONDS = 0.02
SERVED_SECONDS = 10
ENTRY_SIZES = (4_000_000, 250_000)  # of a registered entry, about: the largest that is taken


def status_bytes(pid, key):
    """A line of /proc/PID/status in bytes, such as VmHWM, the most memory so far."""
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return next(1024 * int(line.split()[1]) for line in status if line.startswith(key))


class Attack:
    """What a flood is given: where to send, when to stop, and where to say what happened."""

    def __init__(self, server, address, seconds, full):
        self.server = server
        self.address = address
        self.full = full
        self.sent = 0
        self.refusals = collections.Counter()
        self.stop = threading.Event()
        self._seconds = seconds
        self._end = time.monotonic() + seconds
        self._open = []

    def over(self):
        return self.stop.is_set() or time.monotonic() >= self._end

    def left(self):
        return max(0.0, self._end - time.monotonic())

    def rest(self):
        self.stop.wait(self.left())

    def many(self, count):
        """The whole count, or a fourth of it in a short run."""
        return count if self.full else max(1, count // 4)

    @contextlib.contextmanager
    def connection(self, reads=True, stays=False):
        """A connection whose end by the server ends the block. With `stays` it is open until the attack is over."""
        connection = Connection(self.address, reads=reads)
        self._open.append(connection)
        try:
            yield connection
        except Closed:
            pass
        finally:
            if not stays:
                connection.wait(0.2)
                connection.close()

    def silent_connection(self):
        host, port = self.address.rsplit(":", 1)
        self._open.append(socket.create_connection((host, int(port)), timeout=5, source_address=(SOURCE, 0)))

    def close(self):
        for connection in self._open:
            self.refusals.update(getattr(connection, "refusals", {}))
            connection.close()

    def message(self, path, **fields):
        return API.build(API.method(path).input_type, fields).SerializeToString()

    @staticmethod
    def scenario():
        return scenario()

    def fill_catalog(self, count, sizes=ENTRY_SIZES):
        """Registers entries of the first size that the server takes, outside the attack's time."""
        client = API.connect(self.server.address)
        for size in sizes:
            try:
                for index in range(count):
                    client.call("CatalogService/RegisterHardware", spec=self._large(f"large-{index}", size))
                break
            except Refused as refused:
                self.refusals[f"register {size:,} bytes: {refused.code.name} {refused.reason}"] += 1
        client.close()
        self._end = time.monotonic() + self._seconds

    @staticmethod
    def _large(identifier, size):
        """Texts of an allowed length, 40 kB a source."""
        source = {"citation": "c" * 4000, "url": "u" * 4000, "fields": ["f" * 4000] * 8}
        return hardware(identifier, sources=[source] * (size // 40_000))


class Polite:
    """The polite client, from start to the end of the block."""

    def __init__(self, address):
        self._process = subprocess.Popen([sys.executable, "-B", str(HERE / "polite.py"), address],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self._process.stdout.readline()  # it begins

    def result(self):
        text, _ = self._process.communicate(timeout=60)
        return json.loads(text)


class Watch:
    """Follows the memory of the server, and stops the attack where it passes what this machine can spare."""

    def __init__(self, server, attack, ceiling):
        self.passed_ceiling = False
        self._pid = server.process.pid
        self._attack = attack
        self._ceiling = ceiling
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self):
        while not self._ending.wait(LOOK_SECONDS):
            try:
                if status_bytes(self._pid, "VmRSS:") < self._ceiling:
                    continue
            except (OSError, StopIteration):
                pass  # the server ended
            else:
                self.passed_ceiling = True
            self._attack.stop.set()
            return

    def end(self):
        self._ending.set()
        self._thread.join()


@dataclasses.dataclass
class Outcome:
    """What a flood did. Bytes and seconds."""

    flood: str
    what: str
    sent: int = 0
    peak_bytes: int = 0
    rest_bytes: int = 0  # after the flood
    passed_ceiling: bool = False  # the flood was stopped by the watch
    ended: Optional[int] = None  # how the server ended, if it did
    serves_afterwards: bool = False  # a new connection is served
    cpu_seconds: float = 0.0
    polite: dict = dataclasses.field(default_factory=dict)
    refused: dict = dataclasses.field(default_factory=dict)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
        fields = stat.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def is_served(address):
    """Whether a new client gets an answer, within the seconds for which a server may refuse connections."""
    client = API.connect(address)
    deadline = time.monotonic() + SERVED_SECONDS
    try:
        while time.monotonic() < deadline:
            with contextlib.suppress(Refused):
                client.call("EstimatorService/Estimate", scenario=scenario(), timeout=3)
                return True
            time.sleep(0.1)
        return False
    finally:
        client.close()


def carry_out(flood, seconds, full, ceiling, flags=(), rest_seconds=REST_SECONDS):
    """The flood against a server of its own."""
    with ServerProcess(store="memory:", flags=flags,
                       wrapper=["prlimit", f"--as={ADDRESS_SPACE}", *flood.wrapper]) as server:
        pid = server.process.pid
        polite = Polite(server.address)
        attack = Attack(server, server.address, seconds, full)
        watch = Watch(server, attack, ceiling)
        outcome = Outcome(flood.name, flood.what)
        try:
            flood.run(attack)
        except Closed:
            pass
        finally:
            watch.end()
            outcome.polite = polite.result()
            attack.close()
        time.sleep(rest_seconds)
        outcome.sent, outcome.refused = attack.sent, dict(attack.refusals)
        outcome.passed_ceiling = watch.passed_ceiling
        outcome.ended = server.process.poll()
        if outcome.ended is None:
            outcome.peak_bytes = status_bytes(pid, "VmHWM:")
            outcome.rest_bytes = status_bytes(pid, "VmRSS:")
            outcome.cpu_seconds = cpu_seconds(pid)
            outcome.serves_afterwards = is_served(server.address)
        return outcome
