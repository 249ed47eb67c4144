"""TLS, client certificates and write tokens of the server, as its command line and an independent client meet them."""

import os
import shutil
import ssl
import tempfile
import unittest

import grpc

from support.certificates import Certificates
from support.replicas import wait_until
from support.scenarios import hardware
from support.server_process import API, ServerProcess

TOKEN = "0123456789abcdef"
SPEC = os.path.join(os.environ["FORETOKEN_SOURCE_DIR"], "deploy", "example-hardware.textproto")


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


class AccessTestCase(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretoken-access-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def serve(self, flags, credentials=None):
        server = ServerProcess(store="memory:", flags=flags, credentials=credentials)
        self.addCleanup(server.__exit__)
        return server


class Tls(AccessTestCase):
    def setUp(self):
        super().setUp()
        self.certificates = Certificates(self.folder)
        c = self.certificates
        self.flags = [f"--tls_cert_file={c.cert}", f"--tls_key_file={c.key}"]

    def shown(self, server):
        """The certificate that a new connection is shown."""
        host, port = server.address.split(":")
        return ssl.get_server_certificate((host, int(port)))

    def test_the_command_line_calls_over_tls_and_no_other_way(self):
        server = self.serve(self.flags, self.certificates.channel_credentials())
        self.assertEqual(server.cli("--ca-file", self.certificates.ca, "health").stdout, "SERVING\n")
        plain = server.cli("--timeout", "2s", "health")
        self.assertEqual((plain.returncode, plain.stderr.splitlines()[-1]),
                         (5, f"  server {server.address}, in plain text"))
        other = self.path("other")
        os.mkdir(other)
        self.assertEqual(server.cli("--ca-file", Certificates(other).ca, "--timeout", "2s", "health").returncode, 5)

    def test_callers_show_a_certificate_where_the_server_asks_for_one(self):
        c = self.certificates
        server = self.serve([*self.flags, f"--tls_client_ca_file={c.ca}"], c.channel_credentials())
        self.assertEqual(server.cli("--ca-file", c.ca, "--timeout", "2s", "health").returncode, 5)
        shown = ["--ca-file", c.ca, "--cert-file", c.cert, "--key-file", c.key]
        self.assertEqual(server.cli(*shown, "health").returncode, 0)
        done = server.cli(*shown, "register-hardware", SPEC)
        self.assertEqual(done.returncode, 0, done.stderr)
        revisions = server.client.call("CatalogService/ListRevisions", hardware_id="example-accelerator").revisions
        self.assertEqual([one.author for one in revisions], ["tester"])  # the certificate's first name

    def test_a_new_certificate_is_shown_without_a_restart(self):
        server = self.serve(self.flags, self.certificates.channel_credentials())
        before = self.shown(server)
        self.certificates.issue("IP:127.0.0.1")
        wait_until(lambda: self.shown(server) != before, 30, "the new certificate")
        self.assertEqual(server.cli("--ca-file", self.certificates.ca, "health").returncode, 0)

    def test_files_that_do_not_belong_together_stop_the_start(self):
        c = self.certificates
        for flags, said in (([f"--tls_cert_file={c.cert}"], "tls_cert_file goes with tls_key_file"),
                            ([f"--tls_client_ca_file={c.ca}"], "tls_client_ca_file with both"),
                            ([f"--tls_cert_file={c.cert}", f"--tls_key_file={c.ca_key}"], "key values mismatch"),
                            (["--tls_cert_file=/nowhere", f"--tls_key_file={c.key}"], "/nowhere: cannot be read"),
                            ([*self.flags, "--tls_client_ca_file=/nowhere"], "tls_client_ca_file /nowhere")):
            with self.assertRaisesRegex(RuntimeError, f"event=tls_unavailable.*{said}"):
                ServerProcess(store="memory:", flags=flags)


class Tokens(AccessTestCase):
    def setUp(self):
        super().setUp()
        write(self.path("tokens"), f"# writers\nci {TOKEN}\n")
        write(self.path("token"), TOKEN + "\n")
        self.server = self.serve([f"--write_tokens_file={self.path('tokens')}"])

    def test_writes_need_a_token_and_carry_its_name(self):
        refused = self.server.cli("register-hardware", SPEC)
        self.assertEqual(refused.returncode, 8)
        self.assertIn("WRITE_NOT_ALLOWED", refused.stderr)
        self.assertIn("--token-file names the file of a token", refused.stderr)
        done = self.server.cli("--token-file", self.path("token"), "register-hardware", SPEC)
        self.assertEqual(done.returncode, 0, done.stderr)
        revisions = self.server.client.call("CatalogService/ListRevisions", hardware_id="example-accelerator").revisions
        self.assertEqual([one.author for one in revisions], ["ci"])

    def test_a_token_that_is_taken_out_of_the_file_counts_no_more(self):
        write(self.path("tokens"), "other fedcba9876543210\n")
        done = self.server.cli("--token-file", self.path("token"), "register-hardware", SPEC)
        self.assertEqual(done.returncode, 8)
        self.assertIn("none of this server's", done.stderr)

    def test_any_client_sends_it_as_a_bearer_token(self):
        with self.assertRaises(grpc.RpcError) as refused:
            self.register(f"Bearer {TOKEN}x")
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAUTHENTICATED)
        self.register(f"Bearer {TOKEN}")

    def register(self, authorization):
        method = API.method("CatalogService/RegisterHardware")
        request = API.build(method.input_type, {"spec": hardware("chip")})
        channel = self.server.client.channel
        call = channel.unary_unary("/foretoken.v1.CatalogService/RegisterHardware",
                                   request_serializer=lambda message: message.SerializeToString(),
                                   response_deserializer=bytes)
        return call(request, timeout=10, metadata=[("authorization", authorization)])

    def test_a_malformed_file_stops_the_start(self):
        write(self.path("bad"), "ci short\n")
        with self.assertRaisesRegex(RuntimeError, "event=write_tokens_unavailable.*line 1: allowed: a name and"):
            ServerProcess(store="memory:", flags=[f"--write_tokens_file={self.path('bad')}"])


if __name__ == "__main__":
    unittest.main()
