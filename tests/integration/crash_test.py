"""kill -9 during a stream of registrations: what was acknowledged is there after a restart on the same store.

A write is acknowledged (OK), refused (an answer that is an error) or unknown (no answer). Acknowledged writes must be
there with the value written; refused ones must not; unknown ones may be either, but whole.
"""

import random
import threading
import time
import unittest

from support.foretoken_api import Refused
from support.scenarios import hardware
from support.server_process import ServerProcess

ROUNDS = 5
WRITERS = 4


class Journal:
    """What each write was told."""

    def __init__(self):
        self.lock = threading.Lock()
        self.acknowledged, self.refused, self.unknown = {}, {}, {}

    def add(self, kind, identifier, notes):
        with self.lock:
            getattr(self, kind)[identifier] = notes


class Crash(unittest.TestCase):
    def write_until_killed(self, server, journal, round_number, writer):
        """Registers entries one after the other until the server stops answering."""
        for i in range(10_000):
            identifier, notes = f"crash-{round_number}-{writer}-{i}", f"{round_number}/{writer}/{i}" * 50
            spec = hardware(identifier, notes=notes)
            if i % 5 == 4:  # a write that the server refuses
                spec["memory_bandwidth_bytes_per_second"] = -1.0
            try:
                server.client.call("CatalogService/RegisterHardware", spec=spec, timeout=5)
                journal.add("acknowledged", identifier, notes)
            except Refused as refused:
                if refused.code.name == "INVALID_ARGUMENT":
                    journal.add("refused", identifier, notes)
                    continue
                journal.add("unknown", identifier, notes)
                return
            except ValueError:  # the channel was closed before the call began
                return

    def crash_once(self, server, journal, round_number):
        writers = [threading.Thread(target=self.write_until_killed, args=(server, journal, round_number, writer))
                   for writer in range(WRITERS)]
        for writer in writers:
            writer.start()
        time.sleep(random.uniform(0.2, 0.8))
        server.process.kill()
        for writer in writers:
            writer.join(timeout=60)
            self.assertFalse(writer.is_alive())
        server.kill()

    def entries(self, server):
        found, token = {}, ""
        for _ in range(1000):
            page = server.client.call("CatalogService/ListHardware", page_size=1000, page_token=token,
                                      id_contains="crash-")
            found.update({entry.spec.id: entry.spec.notes for entry in page.entries})
            token = page.next_page_token
            if not token:
                return found
        self.fail("pages without end")

    def check(self, found, journal):
        for identifier, notes in journal.acknowledged.items():
            self.assertEqual(found.get(identifier), notes, f"acknowledged write {identifier} is lost or changed")
        for identifier in journal.refused:
            self.assertNotIn(identifier, found)
        for identifier, notes in found.items():
            known = journal.acknowledged.get(identifier, journal.unknown.get(identifier))
            self.assertEqual(notes, known, f"{identifier} was never written so")

    def test_nothing_acknowledged_is_lost(self):
        random.seed(1)
        journal = Journal()
        with ServerProcess() as server:
            for round_number in range(ROUNDS):
                self.crash_once(server, journal, round_number)
                server.start()
                self.check(self.entries(server), journal)
        self.assertGreater(len(journal.acknowledged), 10 * ROUNDS)
        self.assertGreater(len(journal.unknown), 0)
        self.assertGreater(len(journal.refused), 0)
        print(f"{ROUNDS} crashes: {len(journal.acknowledged)} acknowledged, {len(journal.refused)} refused, "
              f"{len(journal.unknown)} unknown")

    def test_the_checker_sees_a_loss(self):
        journal = Journal()
        journal.add("acknowledged", "crash-a", "x")
        self.check({"crash-a": "x"}, journal)
        for found in ({}, {"crash-a": "y"}, {"crash-a": "x", "crash-b": "z"}):
            with self.assertRaises(AssertionError):
                self.check(found, journal)


if __name__ == "__main__":
    unittest.main()
