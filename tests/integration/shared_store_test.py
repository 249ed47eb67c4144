"""Several servers on one store, one after the other or at once."""

import sqlite3
import threading
import time
import unittest

from support.foretoken_api import Refused
from support.scenarios import hardware, model, scenario
from support.server_process import ServerProcess

VISIBLE_SECONDS = 3  # "about a second", with room for a busy machine


class SharedStore(unittest.TestCase):
    def test_two_servers_see_each_others_writes(self):
        with ServerProcess() as one, ServerProcess(store=one.store) as other:
            for writer, reader in ((one, other), (other, one)):
                identifier = "shared-" + ("one" if writer is one else "other")
                writer.client.call("CatalogService/RegisterHardware", spec=hardware(identifier))
                writer.client.call("CatalogService/RegisterModel", spec=model(identifier))
                self.wait_for(reader, identifier)
                writer.client.call("CatalogService/DeleteModel", model_id=identifier)
                self.wait_for(reader, identifier, gone=True)

    def wait_for(self, reader, identifier, gone=False):
        deadline = time.monotonic() + VISIBLE_SECONDS
        while time.monotonic() < deadline:
            listed = reader.client.call("CatalogService/ListModels", id_contains=identifier).total_size
            if (listed == 0) == gone:
                return
            time.sleep(0.05)
        self.fail(f"{identifier} not seen within {VISIBLE_SECONDS} s")

    def test_writers_of_two_servers_do_not_lose_each_others_entries(self):
        with ServerProcess() as one, ServerProcess(store=one.store) as other:
            threads = [threading.Thread(target=self.write_many, args=(server, name))
                       for server, name in ((one, "a"), (other, "b"))]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(timeout=60)
            time.sleep(1.5)
            for server in (one, other):
                listed = server.client.call("CatalogService/ListHardware", id_contains="many-").total_size
                self.assertEqual(listed, 100)

    @staticmethod
    def write_many(server, name):
        for i in range(50):
            server.client.call("CatalogService/RegisterHardware", spec=hardware(f"many-{name}-{i}"))

    def test_a_store_that_another_holds_refuses_writes_and_serves_reads(self):
        with ServerProcess() as server:
            server.client.call("CatalogService/RegisterHardware", spec=hardware("held"))
            holder = sqlite3.connect(server.store, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            with self.assertRaises(Refused) as refused:
                server.client.call("CatalogService/RegisterHardware", spec=hardware("late"), timeout=30)
            self.assertEqual((refused.exception.code.name, refused.exception.reason),
                             ("UNAVAILABLE", "STORE_UNAVAILABLE"))
            server.client.call("EstimatorService/Estimate", scenario=scenario(hardware_id="held"))
            holder.execute("ROLLBACK")
            holder.close()
            server.client.call("CatalogService/RegisterHardware", spec=hardware("late"))

    def test_registrations_survive_a_restart(self):
        with ServerProcess() as server:
            etag = server.client.call("CatalogService/RegisterHardware", spec=hardware("kept")).entry.etag
            self.assertEqual(server.terminate(), 0)
            server.start()
            entry = server.client.call("CatalogService/GetHardware", hardware_id="kept").entry
            self.assertEqual(entry.etag, etag)


if __name__ == "__main__":
    unittest.main()
