"""Replicas on one etcd: what they promise each other, and what the end of one or a value that cannot be read does."""

import threading
import time
import unittest

from support.etcd_cluster import EtcdCluster
from support.foretoken_api import Refused
from support.journal import Journal
from support.replicas import Writer, check_agreement, entries, metric, replicas, wait_until
from support.scenarios import hardware


class Healthy(unittest.TestCase):
    def test_a_registration_is_everywhere_within_a_second(self):
        with EtcdCluster(1) as cluster, replicas([cluster.store()] * 3) as servers:
            times = []
            for i in range(20):
                writer, others = servers[i % 3], [s for s in servers if s is not servers[i % 3]]
                began = time.monotonic()
                writer.client.call("CatalogService/RegisterHardware", spec=hardware(f"chip-{i}"))
                for other in others:
                    wait_until(lambda: f"chip-{i}" in entries(other, f"chip-{i}"), 5, "it is at the other replicas")
                times.append(time.monotonic() - began)
            print(f"registration to all three replicas: median {sorted(times)[10] * 1e3:.1f} ms, "
                  f"longest {max(times) * 1e3:.1f} ms")
            self.assertLess(max(times), 1.0)

    def test_of_two_jobs_with_one_etag_one_wins(self):
        with EtcdCluster(1) as cluster, replicas([cluster.store()] * 2) as servers:
            journal = Journal()
            jobs = [Writer(server, journal, f"job{i}", pause=3600) for i, server in enumerate(servers)]
            etag = jobs[0].write("chip", "first")
            for round_number in range(10):
                codes, etags = self.race(servers, etag, round_number)
                self.assertEqual(sorted(codes), ["ABORTED", "OK"])
                self.assertEqual(len(set(etags)), 1, "the loser is told the winner's etag")
                etag = etags[0]
            # The loser retries with the etag that it was told.
            self.assertIsNotNone(jobs[1].write("chip", "last", etag=etag))
            for job in jobs:
                job.stop()
            check_agreement(self, servers, journal)

    def race(self, servers, etag, round_number):
        codes, etags, together = [], [], threading.Barrier(2)

        def job(i):
            together.wait(timeout=10)
            try:
                reply = servers[i].client.call("CatalogService/RegisterHardware", etag=etag,
                                               spec=hardware("chip", notes=f"{round_number}/{i}"))
                codes.append("OK")
                etags.append(reply.entry.etag)
            except Refused as refused:
                codes.append(refused.code.name)
                etags.append(refused.metadata.get("current_etag"))

        threads = [threading.Thread(target=job, args=(i,)) for i in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=30)
        return codes, etags

    def test_history_and_rollback_work_at_any_replica(self):
        with EtcdCluster(1) as cluster, replicas([cluster.store()] * 2) as (one, other):
            first = one.client.call("CatalogService/RegisterHardware", spec=hardware("chip", notes="good"))
            bad = other.client.call("CatalogService/RegisterHardware", spec=hardware("chip", notes="bad"), etag="*")
            then = one.client.call("CatalogService/GetHardware", hardware_id="chip",
                                   store_revision=bad.catalog_revision.store_revision - 1)
            self.assertEqual(then.entry, first.entry)
            undone = one.client.call("CatalogService/RollbackHardware", hardware_id="chip",
                                     store_revision=first.catalog_revision.store_revision)
            self.assertEqual(undone.entry.spec.notes, "good")
            history = other.client.call("CatalogService/ListRevisions", hardware_id="chip").revisions
            self.assertEqual([r.action for r in history], [3, 1, 1])
            self.assertEqual(list(history[0].changed_fields), ["notes"])
            self.assertIn("127.0.0.1", history[0].peer)


class Replicas(unittest.TestCase):
    def test_a_replica_is_killed_in_the_middle_of_writes(self):
        with EtcdCluster(1) as cluster, replicas([cluster.store()] * 2) as (one, other):
            journal = Journal()
            for round_number in range(4):
                crowd = [Writer(one, journal, f"r{round_number}-{i}") for i in range(4)]
                time.sleep(0.4)
                one.process.kill()
                for writer in crowd:
                    writer.stop()
                one.kill()
                one.start()
            check_agreement(self, [one, other], journal)
            print(f"replica killed four times: {dict(journal.counts())}")
            self.assertGreater(journal.counts()["acknowledged"], 40)
            self.assertGreater(journal.counts()["unknown"], 0)


class Values(unittest.TestCase):
    def test_what_cannot_be_read_is_skipped_and_named(self):
        with EtcdCluster(1) as cluster, replicas([cluster.store()] * 2) as servers:
            journal = Journal()
            writer = Writer(servers[0], journal, "w", pause=3600)
            writer.write("good", "1")
            cluster.put("/test/entries/hardware/garbage", b"\xff\xff")
            cluster.put("/test/entries/hardware/future", bytes([8, 99]))  # format_version 99
            cluster.put("/test/entries/fabric/ethernet", b"x")
            names = ["hardware/garbage", "hardware/future", "unknown/fabric/ethernet"]
            for server in servers:
                wait_until(lambda: metric(server, "foretoken_catalog_skipped_entries") == 3, 10, "they are counted")
                for name in names:
                    self.assertEqual(metric(server, 'foretoken_catalog_skipped_entry{entry="%s"}' % name), 1)
                    wait_until(lambda: f"event=entry_skipped entry={name}" in server.log(), 5, f"{name} is in the log")
                status = server.client.call("CatalogService/GetCatalogStatus")
                self.assertEqual(sorted(entry.name for entry in status.skipped_entries), sorted(names))
            writer.write("after", "1")
            writer.write("garbage", "mended", etag="*")
            writer.stop()
            check_agreement(self, servers, journal)
            with replicas([cluster.store()]) as (fresh,):
                check_agreement(self, [*servers, fresh], journal)
                self.assertEqual(metric(fresh, "foretoken_catalog_skipped_entries"), 2)


class Start(unittest.TestCase):
    def test_a_server_does_not_start_without_its_store(self):
        with EtcdCluster(1) as cluster:
            cluster.kill("m0")
            with self.assertRaisesRegex(RuntimeError, "event=catalog_unavailable .*etcd:127.0.0.1"):
                replicas([cluster.store()]).__enter__()


if __name__ == "__main__":
    unittest.main()
