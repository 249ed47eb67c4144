"""TLS, client certificates, and user and password between server and etcd."""

import os
import shutil
import tempfile
import unittest

from support.certificates import Certificates
from support.etcd_cluster import EtcdCluster, field, varint
from support.foretoken_api import Refused
from support.replicas import entries, wait_until
from support.scenarios import hardware
from support.server_process import ServerProcess


class Tls(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="foretoken-tls-")
        cls.certificates = Certificates(cls.folder)
        c = cls.certificates
        cls.cluster = EtcdCluster(1, scheme="https", credentials=c.channel_credentials(),
                                  flags=["--cert-file", c.cert, "--key-file", c.key, "--client-cert-auth",
                                         "--trusted-ca-file", c.ca])

    @classmethod
    def tearDownClass(cls):
        cls.cluster.__exit__()
        shutil.rmtree(cls.folder)

    def test_a_client_certificate_opens_the_store(self):
        c = self.certificates
        flags = [f"--etcd_ca_file={c.ca}", f"--etcd_cert_file={c.cert}", f"--etcd_key_file={c.key}"]
        with ServerProcess(store=self.cluster.store(), flags=flags) as one:
            one.client.call("CatalogService/RegisterHardware", spec=hardware("chip"))
            with ServerProcess(store=self.cluster.store(), flags=flags) as other:
                other.client.call("CatalogService/GetHardware", hardware_id="chip")

    def test_without_it_the_server_does_not_start(self):
        with self.assertRaisesRegex(RuntimeError, "event=catalog_unavailable"):
            ServerProcess(store=self.cluster.store(), flags=[f"--etcd_ca_file={self.certificates.ca}"])


class Password(unittest.TestCase):
    """The user may do anything below the store's prefix, and nothing else."""

    def enable(self, cluster):
        def auth(method, request=b""):
            cluster.call("m0", "Auth/" + method, request)
        auth("UserAdd", field(1, b"root") + field(2, b"root-password"))
        auth("UserGrantRole", field(1, b"root") + field(2, b"root"))
        auth("UserAdd", field(1, b"foretoken") + field(2, b"secret"))
        auth("RoleAdd", field(1, b"catalog"))
        permission = varint(1, 2) + field(2, b"/test/") + field(3, b"/test0")  # READWRITE
        auth("RoleGrantPermission", field(1, b"catalog") + field(2, permission))
        auth("UserGrantRole", field(1, b"foretoken") + field(2, b"catalog"))
        auth("AuthEnable")

    @staticmethod
    def registers(server, identifier):
        try:
            server.client.call("CatalogService/RegisterHardware", spec=hardware(identifier), request_id=identifier)
        except Refused:
            return False
        return True

    def test_user_and_password_open_the_store(self):
        with EtcdCluster(1) as cluster, tempfile.TemporaryDirectory() as folder:
            cluster.call("m0", "Auth/RoleAdd", field(1, b"root"))
            self.enable(cluster)
            path = os.path.join(folder, "password")
            with open(path, "w", encoding="ascii") as file:
                file.write("secret\n")
            flags = ["--etcd_user=foretoken", f"--etcd_password_file={path}"]
            with ServerProcess(store=cluster.store(), flags=flags) as one, \
                    ServerProcess(store=cluster.store(), flags=flags) as other:
                one.client.call("CatalogService/RegisterHardware", spec=hardware("chip"), request_id="1")
                cluster.kill("m0")  # tokens live in the member's memory: new ones are needed
                cluster.start("m0")
                wait_until(lambda: self.registers(one, "late"), 20, "a registration with a new token")
                wait_until(lambda: set(entries(other)) == {"chip", "late"}, 10, "the watch goes on with a new token")
            with self.assertRaisesRegex(RuntimeError, "event=catalog_unavailable"):
                ServerProcess(store=cluster.store())


if __name__ == "__main__":
    unittest.main()
