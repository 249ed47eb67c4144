#!/usr/bin/env python3
"""A store of many hardware and as many model entries: how long a server takes to start on it, what one registration
costs at another replica, and memory. Prints what it measures.

    FORETOKEN_BINARY_DIR=build/release tests/integration/large_catalog.py --store etcd --entries 10000
"""

import argparse
import contextlib
import os
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

from support.etcd_cluster import EtcdCluster
from support.replicas import wait_until
from support.scenarios import hardware, model
from support.server_process import ServerProcess

THREADS = 8
REGISTRATIONS = 50


def cpu_seconds(server):
    with open(f"/proc/{server.process.pid}/stat", encoding="ascii") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_bytes(server):
    with open(f"/proc/{server.process.pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmRSS:"))


def fill(server, count):
    """Registers `count` of each kind, of the size of a bundled entry: about 1 kB."""
    notes = "measured by the vendor, checked against the data sheet of the product. " * 8
    calls = [("RegisterHardware", hardware(f"chip-{i}", notes=notes)) for i in range(count)]
    calls += [("RegisterModel", model(f"model-{i}", notes=notes)) for i in range(count)]
    began = time.monotonic()
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda call: server.client.call("CatalogService/" + call[0], spec=call[1]), calls))
    return time.monotonic() - began


def started(store):
    """A server on the store and the seconds until it serves."""
    began = time.monotonic()
    server = ServerProcess(store=store)
    return server, time.monotonic() - began


def propagate(writer, reader):
    """Seconds until each registration is at the other replica, and the CPU seconds that it costs there."""
    times, before = [], cpu_seconds(reader)
    for i in range(REGISTRATIONS):
        began = time.monotonic()
        reply = writer.client.call("CatalogService/RegisterHardware", spec=hardware(f"late-{i}"))
        revision = reply.catalog_revision.store_revision
        wait_until(lambda: reader.client.call("CatalogService/GetCatalogStatus").catalog_revision.store_revision
                   >= revision, 5, "it is at the other replica")
        times.append(time.monotonic() - began)
    return sorted(times), (cpu_seconds(reader) - before) / REGISTRATIONS


def idle_cpu(server, seconds):
    before = cpu_seconds(server)
    time.sleep(seconds)
    return (cpu_seconds(server) - before) / seconds


def measure(kind, store, count):
    with ServerProcess(store=store) as writer:
        empty = memory_bytes(writer)
        filled = fill(writer, count)
        reader, seconds = started(store)
        with reader:
            total = reader.client.call("CatalogService/ListHardware", id_contains="chip-", page_size=1).total_size
            assert total == count, total
            memory = memory_bytes(reader)
            times, cpu = propagate(writer, reader)
            print(f"{kind}, {count} hardware and {count} models: filled in {filled:.1f} s; start {seconds:.2f} s; "
                  f"memory {memory / 1e6:.0f} MB (empty {empty / 1e6:.0f} MB)\n"
                  f"  a registration is at the other replica after {times[len(times) // 2] * 1e3:.1f} ms (median), "
                  f"{times[-1] * 1e3:.1f} ms (longest), and costs it {cpu * 1e3:.1f} ms of CPU\n"
                  f"  idle, with a full reading each half minute: {idle_cpu(reader, 62) * 100:.2f}% of a core", flush=True)
            return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--store", choices=["sqlite", "etcd"], default="sqlite")
    parser.add_argument("--entries", type=int, default=10_000)
    arguments = parser.parse_args()
    with contextlib.ExitStack() as stack:
        if arguments.store == "etcd":
            store = stack.enter_context(EtcdCluster(3)).store()
        else:
            store = os.path.join(stack.enter_context(tempfile.TemporaryDirectory(prefix="foretoken-large-")), "catalog.db")
        return 0 if measure(arguments.store, store, arguments.entries) < 3 else 1


if __name__ == "__main__":
    sys.exit(main())
