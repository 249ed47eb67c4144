"""Faults of the embedded store's file: nothing acknowledged is lost, estimates go on, and the answer says why."""

import os
import shutil
import sqlite3
import struct
import subprocess
import tempfile
import time
import unittest

from support.foretoken_api import Refused
from support.journal import NOTHING, Journal
from support.replicas import Writer, check_agreement, entries, metric, wait_until
from support.scenarios import hardware, scenario
from support.server_process import ServerProcess

TMPFS_BYTES = 3 << 20


def namespace():
    """The command that runs another in a mount namespace of its own; None where this machine does not allow it."""
    for command in (["unshare", "--mount", "--propagation", "private"], ["unshare", "--user", "--map-root-user", "--mount"]):
        if subprocess.run([*command, "true"], check=False, capture_output=True).returncode == 0:
            return command
    return None


class Locked(unittest.TestCase):
    def test_a_locked_file_is_named_in_the_callers_time(self):
        with ServerProcess() as server:
            server.client.call("CatalogService/RegisterHardware", spec=hardware("held"))
            holder = sqlite3.connect(server.store, isolation_level=None)
            holder.execute("BEGIN IMMEDIATE")
            for timeout in (1, 3):
                began = time.monotonic()
                with self.assertRaises(Refused) as refused:
                    server.client.call("CatalogService/RegisterHardware", spec=hardware("late"), timeout=timeout)
                self.assertLess(time.monotonic() - began, timeout)
                self.assertEqual(refused.exception.code.name, "UNAVAILABLE")
                self.assertIn("database is locked (another process holds its lock)", refused.exception.message)
                self.assertTrue(refused.exception.message.endswith(NOTHING), refused.exception.message)
            self.check_command_line(server)
            server.client.call("EstimatorService/Estimate", scenario=scenario(hardware_id="held"))
            holder.execute("ROLLBACK")
            holder.close()
            self.assertEqual(list(entries(server)), ["held"])
            server.client.call("CatalogService/RegisterHardware", spec=hardware("late"))

    def check_command_line(self, server):
        told = server.cli("register-hardware", "-", "--timeout", "2s",
                          input="id: 'late' memory_bandwidth_bytes_per_second: 1e12")
        self.assertEqual(told.returncode, 5)
        self.assertIn("database is locked", told.stderr)


class ReadOnly(unittest.TestCase):
    """The server runs as a user who may read the file and not write it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretoken-read-only-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = os.path.join(self.folder, "catalog.db")
        self.wrapper = []
        if os.geteuid() == 0:
            self.wrapper = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
        os.chmod(self.folder, 0o777)

    def test_entries_are_served_and_writes_say_why_not(self):
        with ServerProcess(store=self.store) as server:
            server.client.call("CatalogService/RegisterHardware", spec=hardware("kept"))
            server.terminate()
        os.chmod(self.store, 0o444)
        with ServerProcess(store=self.store, wrapper=self.wrapper) as server:
            server.client.call("EstimatorService/Estimate", scenario=scenario(hardware_id="kept"))
            with self.assertRaises(Refused) as refused:
                server.client.call("CatalogService/RegisterHardware", spec=hardware("late"))
            self.assertEqual(refused.exception.code.name, "UNAVAILABLE")
            self.assertIn("readonly database (this user must be able to write", refused.exception.message)
            self.assertTrue(refused.exception.message.endswith(NOTHING), refused.exception.message)
            self.assertEqual(list(entries(server)), ["kept"])


class DiskFull(unittest.TestCase):
    def setUp(self):
        self.command = namespace()
        if self.command is None:
            self.skipTest("this machine gives no mount namespaces")
        self.folder = tempfile.mkdtemp(prefix="foretoken-disk-full-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def start(self):
        """A server that sees a small file system at the folder, which nobody else sees."""
        script = f'mount -t tmpfs -o size={TMPFS_BYTES} none "$0" && exec "$@"'
        return ServerProcess(store=os.path.join(self.folder, "catalog.db"),
                             wrapper=[*self.command, "sh", "-c", script, self.folder])

    def ballast(self, server):
        """The path of a file on the server's small file system, as seen from here."""
        return f"/proc/{server.process.pid}/root{self.folder}/ballast"

    def test_a_full_disk_refuses_and_loses_nothing(self):
        with self.start() as server:
            with open(self.ballast(server), "wb") as file:
                file.write(b"x" * (TMPFS_BYTES // 3))
            journal = Journal()
            writer = Writer(server, journal, "w", pause=3600)
            i = 0
            while journal.codes["UNAVAILABLE"] < 3 and i < 2000:
                i += 1
                writer.write(f"big-{i}", f"{i}/" + "x" * 4000)
            self.assertGreater(journal.counts()["acknowledged"], 10)
            self.assertGreaterEqual(journal.codes["UNAVAILABLE"], 3)
            with self.assertRaises(Refused) as refused:
                sources = [{"citation": "x" * 4000}] * 30
                server.client.call("CatalogService/RegisterHardware", spec=hardware("huge", sources=sources))
            self.assertIn("disk is full (free some space beside it)", refused.exception.message)
            server.client.call("EstimatorService/Estimate", scenario=scenario(hardware_id="big-1"))
            os.remove(self.ballast(server))
            wait_until(lambda: writer.write("after", "1", etag="*") is not None, 10, "writes go on with room on the disk")
            writer.stop()
            check_agreement(self, [server], journal)
            print(f"disk full: {dict(journal.counts())}")


class OutOfPlace(unittest.TestCase):
    """The file is removed or replaced while a server has it open: what it would write there is lost with it."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretoken-out-of-place-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = os.path.join(self.folder, "inner", "catalog.db")
        os.mkdir(os.path.dirname(self.store))

    def remove_file(self):
        for suffix in ("", "-wal", "-shm"):
            os.remove(self.store + suffix)

    def remove_folder(self):
        shutil.rmtree(os.path.dirname(self.store))

    def replace(self):
        with sqlite3.connect(self.store) as source, sqlite3.connect(self.store + ".new") as copy:
            source.backup(copy)
        source.close()
        copy.close()
        os.rename(self.store + ".new", self.store)

    def check(self, displace):
        with ServerProcess(store=self.store) as server:
            server.client.call("CatalogService/RegisterHardware", spec=hardware("kept"))
            displace()
            with self.assertRaises(Refused) as refused:
                server.client.call("CatalogService/RegisterHardware", spec=hardware("late"))
            self.assertEqual(refused.exception.code.name, "UNAVAILABLE")
            self.assertIn("was removed or replaced while it was open", refused.exception.message)
            self.assertTrue(refused.exception.message.endswith(NOTHING), refused.exception.message)

            def stale():
                reply = server.client.call("EstimatorService/Estimate", scenario=scenario(hardware_id="kept"))
                return reply.catalog_revision.HasField("stale_since")

            wait_until(stale, 10, "estimates go on, marked as stale")
            self.assertIn("event=catalog_stale", server.log())

    def test_a_removed_file(self):
        self.check(self.remove_file)

    def test_a_removed_folder(self):
        self.check(self.remove_folder)

    def test_a_replaced_file(self):
        self.check(self.replace)


class Damage(unittest.TestCase):
    """A bit flips in the file while no server has it open."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretoken-damage-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.store = os.path.join(self.folder, "catalog.db")
        with ServerProcess(store=self.store) as server:
            server.client.call("CatalogService/RegisterHardware",
                               spec=hardware("flipped", memory_bandwidth_bytes_per_second=1.23e12))
            server.client.call("CatalogService/RegisterHardware", spec=hardware("sound"))
            server.terminate()
        with sqlite3.connect(self.store) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()

    def change(self, old, new, start=0):
        with open(self.store, "r+b") as file:
            data = file.read()
            at = data.find(old, start)
            while at >= 0:
                file.seek(at)
                file.write(new)
                at = data.find(old, at + 1)

    def test_a_flipped_figure_is_not_served(self):
        # The bit that makes 6.15e11 of 1.23e12, in every copy that the file has.
        self.change(struct.pack("<d", 1.23e12), struct.pack("<d", 0.615e12))
        with ServerProcess(store=self.store) as server:
            with self.assertRaises(Refused) as refused:
                server.client.call("EstimatorService/Estimate", scenario=scenario(hardware_id="flipped"))
            self.assertEqual(refused.exception.reason, "UNKNOWN_ID")
            self.assertEqual(list(entries(server)), ["sound"])
            status = server.client.call("CatalogService/GetCatalogStatus")
            self.assertEqual([one.name for one in status.skipped_entries], ["hardware/flipped"])
            self.assertIn("its checksum is not that of its contents", status.skipped_entries[0].reason)
            self.assertEqual(metric(server, "foretoken_catalog_skipped_entries"), 1)
            self.assertIn("event=entry_skipped entry=hardware/flipped", server.log())
            server.client.call("CatalogService/RegisterHardware", spec=hardware("flipped"), etag="*")
            self.assertEqual(metric(server, "foretoken_catalog_skipped_entries"), 0)

    def test_a_damaged_structure_leaves_the_bundle(self):
        with sqlite3.connect(self.store) as database:
            page = database.execute("SELECT rootpage FROM sqlite_master WHERE name = 'entries'").fetchone()[0]
        database.close()
        with open(self.store, "r+b") as file:
            file.seek((page - 1) * 4096)
            file.write(b"\xff" * 100)
        with ServerProcess(store=self.store) as server:
            server.client.call("EstimatorService/Estimate", scenario=scenario(hardware_id="nvidia-h100-sxm-80gb"))
            status = server.client.call("CatalogService/GetCatalogStatus")
            self.assertEqual([one.name for one in status.skipped_entries], ["unknown/sqlite-file"])
            with self.assertRaises(Refused) as refused:
                server.client.call("CatalogService/RegisterHardware", spec=hardware("late"))
            self.assertEqual(refused.exception.code.name, "UNAVAILABLE")
            self.assertTrue(refused.exception.message.endswith(NOTHING), refused.exception.message)
            self.assertIn("unknown/sqlite-file", server.cli("catalog-status").stdout)


class Limits(unittest.TestCase):
    def test_a_store_takes_so_many_entries_and_bytes(self):
        with ServerProcess(flags=["--max_store_entries=2", "--max_store_bytes=1048576"]) as server:
            for name in ("a", "b"):
                server.client.call("CatalogService/RegisterHardware", spec=hardware(name))
            self.check(server, hardware("c"), "one more than the 2 entries of the store; allowed up to 2")
            large = hardware("a", sources=[{"citation": "x" * 4000}] * 60)
            for i in range(20):
                try:
                    server.client.call("CatalogService/RegisterHardware", spec=large, etag="*")
                except Refused as refused:
                    self.assertIn("bytes, kept revisions included; allowed up to 1048576", refused.message)
                    break
            self.assertLess(i, 8)
            self.check(server, hardware("b", sources=[{"citation": "x" * 4000}] * 65), "bytes; allowed up to 256000")
            server.client.call("CatalogService/DeleteHardware", hardware_id="a")
            self.assertEqual(list(entries(server)), ["b"])

    def check(self, server, spec, said):
        with self.assertRaises(Refused) as refused:
            server.client.call("CatalogService/RegisterHardware", spec=spec, etag="*")
        self.assertEqual((refused.exception.code.name, refused.exception.reason), ("INVALID_ARGUMENT", "LIMIT_EXCEEDED"))
        self.assertIn(said, refused.exception.message)


class OtherFiles(unittest.TestCase):
    def test_a_file_of_another_program_is_left_alone(self):
        with tempfile.TemporaryDirectory(prefix="foretoken-foreign-") as folder:
            path = os.path.join(folder, "photos.db")
            with sqlite3.connect(path) as database:
                database.execute("CREATE TABLE photos(name TEXT)")
            database.close()
            with open(path, "rb") as file:
                before = file.read()
            with self.assertRaisesRegex(RuntimeError, "event=catalog_unavailable .*database of another program"):
                ServerProcess(store=path)
            with open(path, "rb") as file:
                self.assertEqual(file.read(), before)


if __name__ == "__main__":
    unittest.main()
