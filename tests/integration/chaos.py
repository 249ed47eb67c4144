#!/usr/bin/env python3
"""Faults at random, for a stated time and seed, under registrations at three replicas of one etcd cluster; then a check
of what is there against what the writers were told.

    FORETOKEN_BINARY_DIR=build/release tests/integration/chaos.py --seconds 300 --seed 1

Exit code 0: every acknowledged registration is on every replica, the same bytes, and none that was refused.
"""

import argparse
import random
import sys
import threading
import time
import unittest
from collections import Counter

from support.etcd_cluster import EtcdCluster
from support.foretoken_api import Refused
from support.gate import Gate
from support.journal import Journal
from support.replicas import Writer, check_agreement, is_stale, replicas, wait_until
from support.scenarios import scenario

REPLICAS = 3


class Chaos:
    def __init__(self, seed, cluster, servers, gates, journal):
        self.random = random.Random(seed)
        self.cluster, self.servers, self.gates, self.journal = cluster, servers, gates, journal
        self.done = Counter()
        self.estimates = Counter()
        self.restarted = Counter()  # of each replica; odd while it is down
        self.ending = threading.Event()

    # Each fault ends with the system whole again.

    def kill_leader(self):
        name = self.cluster.leader() or self.random.choice(self.cluster.names)
        self.cluster.kill(name)
        time.sleep(self.random.uniform(0.5, 3))
        self.cluster.start(name)

    def kill_all_members(self):
        for name in self.cluster.names:
            self.cluster.kill(name)
        time.sleep(self.random.uniform(1, 6))
        for name in self.cluster.names:
            self.cluster.start(name)

    def cut_off_a_replica(self):
        gates = self.random.choice(self.gates)
        for gate in gates:
            gate.shut()
        time.sleep(self.random.uniform(1, 6))
        for gate in gates:
            gate.reopen()

    def kill_a_replica(self):
        server = self.random.choice(self.servers)
        self.restarted[server] += 1
        server.process.kill()
        server.process.wait(timeout=30)
        self.cluster.wait_for_leader()  # a server does not start without its store
        server.client.close()
        server.start()
        self.restarted[server] += 1

    def compact(self):
        self.cluster.wait_for_leader()
        self.cluster.compact()

    def put_garbage(self):
        self.cluster.wait_for_leader()
        self.cluster.put(f"/test/entries/hardware/garbage-{self.random.randrange(5)}", self.random.randbytes(20))

    def race(self):
        """Two jobs replace one entry with one etag."""
        jobs = [Writer(server, self.journal, f"race{i}", pause=3600) for i, server in
                enumerate(self.random.sample(self.servers, 2))]
        number = f"{self.random.randrange(10**9)}"
        etag = jobs[0].write("raced", f"{number}/0", etag="*")
        if etag is not None:
            threads = [threading.Thread(target=job.write, args=("raced", f"{number}/{i + 1}"), kwargs={"etag": etag})
                       for i, job in enumerate(jobs)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(timeout=30)
            won = [write for write in self.journal.writes
                   if write.value in (f"{number}/1", f"{number}/2") and write.outcome == "acknowledged"]
            if len(won) > 1:
                raise AssertionError(f"two jobs won with one etag: {won}")
        for job in jobs:
            job.stop()

    def faults(self):
        return [self.kill_leader, self.kill_leader, self.kill_all_members, self.cut_off_a_replica, self.kill_a_replica,
                self.compact, self.put_garbage, self.race, self.race]

    def ask_for_estimates(self):
        """Estimates go on at every replica that runs, whatever the store does."""
        while not self.ending.wait(0.02):
            for server in self.servers:
                before = self.restarted[server]
                try:
                    reply = server.client.call("EstimatorService/Estimate", scenario=scenario(), timeout=5)
                    self.estimates["stale" if reply.catalog_revision.HasField("stale_since") else "fresh"] += 1
                except (Refused, ValueError):
                    running = before % 2 == 0 and before == self.restarted[server]
                    self.estimates["failed" if running else "not running"] += 1

    def run(self, seconds):
        asker = threading.Thread(target=self.ask_for_estimates)
        asker.start()
        crowd = [Crowd(self, i) for i in range(REPLICAS)]
        end = time.monotonic() + seconds
        try:
            while time.monotonic() < end:
                time.sleep(self.random.uniform(0.2, 2))
                fault = self.random.choice(self.faults())
                fault()
                self.done[fault.__name__] += 1
        finally:
            for one in crowd:
                one.stop()
            self.ending.set()
            asker.join(timeout=60)


class Crowd(threading.Thread):
    """A writer at one replica, made anew when the replica was."""

    def __init__(self, chaos, index):
        super().__init__(daemon=True)
        self.chaos, self.index = chaos, index
        self.ending = threading.Event()
        self.start()

    def run(self):
        server, number = self.chaos.servers[self.index], 0
        while not self.ending.is_set():
            number += 1
            client = server.client
            writer = Writer(server, self.chaos.journal, f"w{self.index}-{number}", timeout=3.0, pause=0.01)
            while not self.ending.wait(0.1) and server.client is client:
                pass
            writer.stop()

    def stop(self):
        self.ending.set()
        self.join(timeout=60)


def check(chaos):
    """Whatever was done, all is well in the end."""
    chaos.cluster.wait_for_leader()
    wait_until(lambda: not any(is_stale(server) for server in chaos.servers), 60, "no replica is stale")
    check_agreement(unittest.TestCase(), chaos.servers, chaos.journal)
    with replicas([chaos.cluster.store()]) as (fresh,):
        check_agreement(unittest.TestCase(), [*chaos.servers, fresh], chaos.journal)


def run(seconds, seed):
    journal = Journal()
    with EtcdCluster(3) as cluster:
        gates = [[Gate(address) for address in cluster.clients.values()] for _ in range(REPLICAS)]
        stores = [cluster.store([gate.address for gate in own]) for own in gates]
        with replicas(stores) as servers:
            chaos = Chaos(seed, cluster, servers, gates, journal)
            chaos.run(seconds)
            check(chaos)
    print(f"chaos: seed {seed}, {seconds} s\n  faults: {dict(sorted(chaos.done.items()))}\n"
          f"  writes: {dict(sorted(journal.counts().items()))}, ids {len({w.identifier for w in journal.writes})}\n"
          f"  codes: {dict(sorted(journal.codes.items()))}\n  estimates: {dict(sorted(chaos.estimates.items()))}\n"
          f"  every acknowledged registration is on every replica, the same bytes, and none that was refused", flush=True)
    if chaos.estimates["failed"]:
        raise AssertionError(f"{chaos.estimates['failed']} estimates failed at a replica that ran")
    return chaos


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    run(arguments.seconds, arguments.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
