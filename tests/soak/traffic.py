"""What goes on during the soak: calls at a fixed rate, sweeps that are cancelled half-way, registrations, ends of
replicas.

Each is a thread that counts into one `Tally`. A failure counts only where the replica ran all the time.
"""

import collections
import json
import os
import subprocess
import threading
import time

from support.foretoken_api import Refused
from support.scenarios import hardware, scenario
from support.server_process import BINARY_DIR

DRIVER = os.path.join(BINARY_DIR, "foretoken-load")
CALLS = ("estimate", "live_batch")
SEGMENT_SECONDS = 5
IDS = 50  # of each replica: registrations replace these, so that the catalog does not grow
WRITE_PAUSE_SECONDS = 0.5
SWEEP_PAUSE_SECONDS = 0.5


class Tally:
    """Counts by name, from any thread, and the texts of failures."""

    def __init__(self):
        self.lock = threading.Lock()
        self.counts, self.failures = collections.Counter(), []

    def add(self, name, count=1):
        with self.lock:
            self.counts[name] += count

    def fail(self, text):
        with self.lock:
            self.failures.append(text)


class Replica:
    """A server that may be killed; `ends` is odd while it is down."""

    def __init__(self, name, server):
        self.name, self.server, self.ends = name, server, 0

    def kill(self):
        self.ends += 1
        self.server.kill()
        self.server.start()
        self.ends += 1


def drive(replica, call, seconds, **flags):
    """The figures of foretoken-load; None where it failed, with what it said."""
    flags = {"target": replica.server.address, "call": call, "seconds": seconds, "warm_up": 0.1, **flags}
    done = subprocess.run([DRIVER, *[f"--{name}={value}" for name, value in flags.items()]], capture_output=True,
                          text=True, check=False, timeout=seconds + 60)
    return (json.loads(done.stdout), "") if done.returncode == 0 else (None, done.stderr.strip())


def capacity(replicas, seconds):
    """Calls a second of each kind and replica, while all are asked as fast as they answer: (name, call) -> rate."""
    rates = {}

    def measure(replica, call):
        figures, said = drive(replica, call, seconds, in_flight=16)
        if figures is None:
            raise RuntimeError(said)
        rates[replica.name, call] = figures["calls_per_second"]

    threads = [threading.Thread(target=measure, args=(replica, call)) for replica in replicas for call in CALLS]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return rates


class Worker(threading.Thread):
    """Repeats `work()` at one replica while it runs, until told to stop."""

    def __init__(self, replica, tally, pause=0.0):
        super().__init__(daemon=True)
        self.replica, self.tally, self.pause = replica, tally, pause
        self.ending = threading.Event()
        self.start()

    def run(self):
        while not self.ending.wait(self.pause):
            ends = self.replica.ends
            if ends % 2:
                time.sleep(0.05)
                continue
            try:
                self.work()
            except (Refused, RuntimeError, ValueError) as failure:  # ValueError: of a channel that was closed
                self._failed(failure, ends)

    def _failed(self, failure, ends):
        time.sleep(0.1)  # a call may end before its server's end is known here
        if self.replica.ends == ends:
            self.tally.fail(f"{self.replica.name} {type(self).__name__}: {failure}")
        else:
            self.tally.add("cut by a kill")

    def stop(self):
        self.ending.set()
        self.join(timeout=60)


class Calls(Worker):
    """One kind of call at a fixed rate."""

    def __init__(self, replica, tally, call, rate):
        self.call, self.rate = call, max(1.0, rate)
        super().__init__(replica, tally)

    def work(self):
        figures, said = drive(self.replica, self.call, SEGMENT_SECONDS, rate=self.rate)
        if figures is None:
            raise RuntimeError(f"{self.call}: {said}")
        self.tally.add(self.call, int(figures["calls"]))


class HalfSweeps(Worker):
    """Sweeps of 40,000 points in 40 chunks; every second one is cancelled after half of them."""

    number = 0

    def work(self):
        axes = [{"field": f"workload.{name}_tokens", "linear": {"start": 1.0, "stop": 2000.0, "count": 200}}
                for name in ("prompt", "output")]
        call, messages = self.replica.server.client.stream("EstimatorService/Sweep", base=scenario(), axes=axes,
                                                           chunk_points=1024)
        self.number += 1
        chunks = 0
        for message in messages:
            chunks += message.WhichOneof("part") == "chunk"
            if self.number % 2 and chunks == 20:
                call.cancel()
                self.tally.add("cancelled sweeps")
                return
        if chunks != 40:
            raise RuntimeError(f"a sweep ended after {chunks} chunks of 40")
        self.tally.add("whole sweeps")


class Registrations(Worker):
    """Replaces entries of a fixed set."""

    number = 0

    def work(self):
        self.number += 1
        identifier = f"soak-{self.replica.name}-{self.number % IDS}"
        spec = hardware(identifier, notes=f"written {self.number}")
        try:
            self.register(spec, etag="*")
        except Refused as refused:
            if refused.code.name != "NOT_FOUND":
                raise
            self.register(spec)
        self.tally.add("registrations")

    def register(self, spec, **fields):
        request_id = f"{self.replica.name}-{self.replica.ends}-{self.number}-{len(fields)}"
        self.replica.server.client.call("CatalogService/RegisterHardware", spec=spec, timeout=10,
                                        request_id=request_id, **fields)


class Killer(threading.Thread):
    """Ends one replica after the other by SIGKILL, and starts it again."""

    def __init__(self, replicas, tally, pause, before):
        """`before(replica)` is called before each end."""
        super().__init__(daemon=True)
        self.replicas, self.tally, self.pause, self.before = replicas, tally, pause, before
        self.ending = threading.Event()
        self.start()

    def run(self):
        number = 0
        while not self.ending.wait(self.pause):
            replica = self.replicas[number % len(self.replicas)]
            self.before(replica)
            replica.kill()
            self.tally.add("kills")
            number += 1

    def stop(self):
        self.ending.set()
        self.join(timeout=60)
