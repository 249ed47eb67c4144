"""Faults of etcd's members and of the network before them: after each, every acknowledged registration is on every
replica, the same bytes, and none that was refused."""

import time
import unittest

from support.etcd_cluster import EtcdCluster
from support.foretoken_api import Refused
from support.gate import Gate
from support.journal import MAY_BE, NOTHING, Journal
from support.replicas import Writer, check_agreement, entries, is_stale, metric, replicas, revision, wait_until, writers
from support.scenarios import hardware

STORE_HEALTH = b"foretoken.catalog.store"


def acknowledged_after(journal, moment):
    return [write for write in journal.writes if write.outcome == "acknowledged" and write.began > moment]


class Members(unittest.TestCase):
    def test_the_leader_is_killed_under_registrations(self):
        with EtcdCluster(3) as cluster, replicas([cluster.store()] * 3) as servers:
            journal = Journal()
            with writers(servers, journal):
                time.sleep(1)
                leader = cluster.leader()
                cluster.kill(leader)
                killed = time.monotonic()
                wait_until(lambda: acknowledged_after(journal, killed + 0.1), 15, "writes go on without the member")
                resumed = time.monotonic() - killed
                time.sleep(1)
                cluster.start(leader)
                time.sleep(2)
            check_agreement(self, servers, journal)
            print(f"leader killed: writes again after {resumed:.2f} s; {dict(journal.counts())}")
            self.assertGreater(journal.counts()["acknowledged"], 100)
            self.assertGreater(len(acknowledged_after(journal, killed)), 20)

    def test_all_members_are_gone_for_ten_seconds(self):
        with EtcdCluster(3) as cluster, replicas([cluster.store()] * 3) as servers:
            journal = Journal()
            with writers(servers, journal, timeout=3.0) as running:
                time.sleep(1)
                for name in cluster.names:
                    cluster.kill(name)
                away = time.monotonic()
                wait_until(lambda: all(is_stale(server) for server in servers), 9, "replies are marked")
                self.check_while_away(servers[0], running[0])
                while time.monotonic() < away + 10:
                    revision(servers[1])  # estimates go on
                    time.sleep(0.05)
                for name in cluster.names:
                    cluster.start(name)
                back = time.monotonic()
                wait_until(lambda: not any(is_stale(server) for server in servers), 30, "replies are not marked")
                wait_until(lambda: acknowledged_after(journal, back), 30, "writes go on")
                time.sleep(1)
            check_agreement(self, servers, journal)
            self.assertEqual(metric(servers[0], "foretoken_catalog_stale"), 0)
            self.assertEqual(servers[0].client.health(STORE_HEALTH), 1)
            print(f"all members away: {dict(journal.counts())}, codes {dict(journal.codes)}")

    def check_while_away(self, server, writer):
        began = time.monotonic()
        with self.assertRaises(Refused) as refused:
            server.client.call("CatalogService/RegisterHardware", spec=hardware("late"), timeout=3)
        self.assertEqual((refused.exception.code.name, refused.exception.reason), ("UNAVAILABLE", "STORE_UNAVAILABLE"))
        self.assertTrue(refused.exception.message.endswith(NOTHING), refused.exception.message)
        self.assertLess(time.monotonic() - began, 3)
        self.assertEqual(metric(server, "foretoken_catalog_stale"), 1)
        self.assertGreater(metric(server, "foretoken_catalog_staleness_seconds"), 2)
        self.assertGreater(metric(server, "foretoken_catalog_last_error_timestamp_seconds"), 1e9)
        self.assertEqual((server.client.health(), server.client.health(STORE_HEALTH)), (1, 2))
        status = server.client.call("CatalogService/GetCatalogStatus")
        self.assertEqual(status.store_kind, "etcd")
        self.assertGreater(status.age_seconds, 2)
        self.assertIn("etcd:127.0.0.1", status.last_error)
        self.assertEqual(server.cli("catalog-status").returncode, 1)
        self.assertIn("event=catalog_stale", server.log())


class Network(unittest.TestCase):
    """The replica under test reaches every member through a gate."""

    def setUp(self):
        self.cluster = EtcdCluster(3)
        self.addCleanup(self.cluster.__exit__)
        self.gates = [Gate(address) for address in self.cluster.clients.values()]
        for gate in self.gates:
            self.addCleanup(gate.close)
        self.far_store = self.cluster.store([gate.address for gate in self.gates])

    def shut(self):
        for gate in self.gates:
            gate.shut()

    def reopen(self):
        for gate in self.gates:
            gate.reopen()

    def test_a_replica_is_cut_off_and_joins_again(self):
        with replicas([self.cluster.store(), self.far_store]) as (near, far):
            journal = Journal()
            with writers([near, far], journal, timeout=3.0, pause=0.02):
                time.sleep(1)
                self.shut()
                wait_until(lambda: is_stale(far), 10, "the replica that is cut off says so")
                self.assertFalse(is_stale(near))
                time.sleep(2)
                self.reopen()
                wait_until(lambda: not is_stale(far), 15, "it has joined again")
                time.sleep(1)
            check_agreement(self, [near, far], journal)
            print(f"cut off: {dict(journal.counts())}, codes {dict(journal.codes)}")

    def test_a_write_whose_answer_is_lost_says_that_it_may_have_happened(self):
        with replicas([self.cluster.store(), self.far_store]) as (near, far):
            for gate in self.gates:
                gate.hold_replies_after(b"lost answer", self.gates)
            write = {"spec": hardware("chip", notes="lost answer"), "request_id": "job-7"}
            with self.assertRaises(Refused) as refused:
                far.client.call("CatalogService/RegisterHardware", timeout=4, **write)
            self.assertEqual(refused.exception.code.name, "UNAVAILABLE")
            self.assertIn(MAY_BE, refused.exception.message)
            self.reopen()
            there = near.client.call("CatalogService/GetHardware", hardware_id="chip").entry
            again = near.client.call("CatalogService/RegisterHardware", **write).entry
            self.assertEqual(again, there, "the repetition gets the first answer")
            self.assertEqual(len(near.client.call("CatalogService/ListRevisions", hardware_id="chip").revisions), 1)
            wait_until(lambda: entries(near) == entries(far), 15, "the replicas agree")

    def test_a_write_whose_answer_one_member_loses_is_made_once(self):
        with replicas([self.cluster.store(), self.far_store]) as (near, far):
            for i in range(3):
                for gate in self.gates:  # whichever member is asked
                    gate.hold_replies_after(b"lost %d" % i, [gate])
                reply = far.client.call("CatalogService/RegisterHardware", timeout=10,
                                        spec=hardware(f"chip-{i}", notes=f"lost {i}"))
                self.reopen()
                there = near.client.call("CatalogService/GetHardware", hardware_id=f"chip-{i}").entry
                self.assertEqual(there, reply.entry)
                history = near.client.call("CatalogService/ListRevisions", hardware_id=f"chip-{i}").revisions
                self.assertEqual(len(history), 1)

    def test_compaction_while_a_replica_is_away(self):
        with replicas([self.cluster.store(), self.far_store]) as (near, far):
            journal = Journal()
            writer = Writer(near, journal, "near", pause=3600)
            writer.write("stays", "1")
            near.client.call("CatalogService/RegisterHardware", spec=hardware("goes"))
            wait_until(lambda: "goes" in entries(far), 5, "it is at the other replica")
            self.shut()
            wait_until(lambda: is_stale(far), 10, "the replica is away")
            for i in range(20):
                writer.write(f"new-{i}", "1")
            near.client.call("CatalogService/DeleteHardware", hardware_id="goes")
            self.cluster.compact()
            writer.write("after", "1")
            self.reopen()
            wait_until(lambda: not is_stale(far), 15, "it is back")
            wait_until(lambda: entries(far) == entries(near), 5, "it has what it missed, without the half minute's wait")
            self.assertNotIn("goes", entries(far))
            writer.stop()
            check_agreement(self, [near, far], journal)


if __name__ == "__main__":
    unittest.main()
