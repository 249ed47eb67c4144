"""Several servers on one store, writers that keep a journal, and what must hold of both."""

import contextlib
import re
import threading
import time

from support.foretoken_api import Refused
from support.journal import Journal, outcome_of
from support.scenarios import hardware, scenario
from support.server_process import ServerProcess

AGREE_SECONDS = 40  # a replica that missed its news reads the whole store after 30 s


@contextlib.contextmanager
def replicas(stores, flags=()):
    """A server on each of the stores."""
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(ServerProcess(store=store, flags=flags)) for store in stores]


def entries(server, prefix=""):
    """Every registered hardware entry whose id contains `prefix`: id -> the entry's bytes and its notes."""
    found, token = {}, ""
    while True:
        page = server.client.call("CatalogService/ListHardware", page_size=1000, page_token=token, id_contains=prefix)
        for entry in page.entries:
            if entry.origin == 2:
                found[entry.spec.id] = (entry.SerializeToString(deterministic=True), entry.spec.notes)
        token = page.next_page_token
        if not token:
            return found


def wait_until(condition, seconds, what):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return
        time.sleep(0.02)
    raise AssertionError(f"not within {seconds} s: {what}")


def metric(server, series):
    found = re.search("^" + re.escape(series) + r" (\S+)$", server.metrics(), re.MULTILINE)
    return float(found.group(1)) if found else None


def revision(server):
    """The catalog's revision in an estimate's reply."""
    return server.client.call("EstimatorService/Estimate", scenario=scenario(), timeout=5).catalog_revision


def is_stale(server):
    return revision(server).HasField("stale_since")


def check_agreement(test, servers, journal, prefix=""):
    """Every replica has the same entries, byte for byte, and they are such as the journal allows."""
    wait_until(lambda: all(entries(server, prefix) == entries(servers[0], prefix) for server in servers[1:]),
               AGREE_SECONDS, "the replicas agree")
    for server in servers:
        found = {identifier: notes for identifier, (_, notes) in entries(server, prefix).items()}
        test.assertEqual(journal.faults(found), [])


class Writer(threading.Thread):
    """Registers entries at one server, one after the other, until told to stop.

    Every fourth is one that the server refuses; every third replaces an entry that it has written before.
    """

    def __init__(self, server, journal, name, timeout=5.0, pause=0.0):
        super().__init__(daemon=True)
        self.server, self.journal, self.timeout, self.pause = server, journal, timeout, pause
        self.label = name
        self.ending = threading.Event()
        self.known = []
        self.start()

    def run(self):
        i = 0
        while not self.ending.wait(self.pause):
            i += 1
            old = self.known[i % len(self.known)] if self.known and i % 3 == 0 else None
            self.write(old or f"{self.label}-{i}", f"{self.label}/{i}", etag="*" if old else None, valid=i % 4 != 0)

    def write(self, identifier, value, etag=None, valid=True, request_id=None):
        """One write, in the journal; its etag where it was acknowledged."""
        spec = hardware(identifier, notes=value)
        if not valid:
            spec["memory_bandwidth_bytes_per_second"] = -1.0
        fields = {"spec": spec, "request_id": request_id or value[:64], **({"etag": etag} if etag else {})}
        began = time.monotonic()
        try:
            reply = self.server.client.call("CatalogService/RegisterHardware", timeout=self.timeout, **fields)
        except Refused as refused:
            self.journal.add(identifier, value, outcome_of(refused), began, code=refused.code.name)
            return None
        except ValueError:  # the channel was closed before the call began
            return None
        self.known.append(identifier)
        self.journal.add(identifier, value, "acknowledged", began, reply.entry.etag)
        return reply.entry.etag

    def stop(self):
        self.ending.set()
        self.join(timeout=60)


@contextlib.contextmanager
def writers(servers, journal, **options):
    """One writer at each server while the block runs."""
    running = [Writer(server, journal, f"w{i}", **options) for i, server in enumerate(servers)]
    try:
        yield running
    finally:
        for writer in running:
            writer.stop()
