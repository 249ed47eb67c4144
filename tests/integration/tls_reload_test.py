"""Certificates that are replaced while clients connect: whoever gets a connection sees one certificate with its own key,
the server goes on, and once the files rest every connection succeeds."""

import os
import shutil
import socket
import ssl
import tempfile
import threading
import time
import unittest

from support.certificates import Certificates
from support.replicas import wait_until
from support.server_process import ServerProcess

ROUNDS = 2
RELOAD_SECONDS = 10


class Reload(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretoken-tls-reload-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.mkdir(os.path.join(self.folder, "ca"))
        self.certificates = Certificates(os.path.join(self.folder, "ca"))
        self.publish()
        live = os.path.join(self.folder, "live")
        self.server = ServerProcess(store="memory:", credentials=self.certificates.channel_credentials(),
                                    flags=[f"--tls_cert_file={live}/cert.pem", f"--tls_key_file={live}/key.pem"])
        self.addCleanup(self.server.__exit__)

    def publish(self):
        """A new pair in the place of the old one, by one renaming, as Kubernetes does."""
        self.certificates.issue("IP:127.0.0.1")
        fresh = tempfile.mkdtemp(dir=self.folder)
        shutil.copy(self.certificates.cert, os.path.join(fresh, "cert.pem"))
        shutil.copy(self.certificates.key, os.path.join(fresh, "key.pem"))
        os.symlink(fresh, fresh + ".link")
        os.rename(fresh + ".link", os.path.join(self.folder, "live"))

    def handshake(self):
        """The certificate that a new connection is shown, checked against the authority; None where there is none."""
        host, port = self.server.address.split(":")
        context = ssl.create_default_context(cafile=self.certificates.ca)
        context.set_alpn_protocols(["h2"])
        try:
            with socket.create_connection((host, int(port)), timeout=5) as plain:
                with context.wrap_socket(plain, server_hostname=host) as secure:
                    return secure.getpeercert(binary_form=True)
        except (ssl.SSLError, OSError):
            return None

    def test_pairs_that_are_swapped_under_connections(self):
        shown, failed, stop = set(), [], threading.Event()

        def connect():
            while not stop.is_set():
                certificate = self.handshake()
                (shown.add if certificate else failed.append)(certificate)

        clients = [threading.Thread(target=connect) for _ in range(4)]
        for client in clients:
            client.start()
        swaps = 0
        try:
            until = time.monotonic() + ROUNDS * RELOAD_SECONDS
            while time.monotonic() < until:
                self.publish()
                swaps += 1
                time.sleep(0.2)
        finally:
            stop.set()
            for client in clients:
                client.join()
        self.assertIsNone(self.server.process.poll(), self.server.log())
        self.assertGreater(len(shown), 1, "no reload was seen")
        print(f"{swaps} swaps, {len(shown)} certificates shown, {len(failed)} connections without one")
        with open(self.certificates.cert, encoding="ascii") as file:
            last = ssl.PEM_cert_to_DER_cert(file.read())
        wait_until(lambda: self.handshake() == last, 3 * RELOAD_SECONDS, "the last pair is shown")
        for _ in range(20):
            self.assertEqual(self.handshake(), last)
        self.assertEqual(self.server.client.health(), 1)  # a connection of before goes on

    def test_files_that_are_torn_do_not_end_the_server(self):
        key = os.path.realpath(os.path.join(self.folder, "live", "key.pem"))
        with open(key, "rb") as file:
            sound = file.read()
        for torn in (b"", sound[:100], b"garbage", sound[:-40]):
            with open(key, "wb") as file:
                file.write(torn)
            time.sleep(3)
            self.assertIsNone(self.server.process.poll(), self.server.log())
            self.assertEqual(self.server.client.health(), 1)  # open connections go on
        with open(key, "wb") as file:
            file.write(sound)
        wait_until(lambda: self.handshake() is not None, 3 * RELOAD_SECONDS, "connections succeed again")


if __name__ == "__main__":
    unittest.main()
