"""TLS, client certificates and write tokens of the server, as its command line and an independent client meet them."""

import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import time
import unittest

import grpc

from support.certificates import Certificates
from support.replicas import metric, wait_until
from support.scenarios import hardware
from support.server_process import API, SERVER, ServerProcess

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
        revisions = ("revisions", "hardware", "example-accelerator", "--output", "csv")
        self.assertIn(",ci,ipv4:127.0.0.1:",
                      self.server.cli("--token-file", self.path("token"), *revisions).stdout)
        self.assertIn(",register,,,", self.server.cli(*revisions).stdout)  # who wrote, and from where, is for writers

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


class DefaultDeny(AccessTestCase):
    """192.0.2.1 is no address of this machine: a server that may listen there ends with 1 because it cannot."""

    def setUp(self):
        super().setUp()
        write(self.path("tokens"), f"ci {TOKEN}\n")
        c = Certificates(self.folder)
        self.tls = [f"--tls_cert_file={c.cert}", f"--tls_key_file={c.key}"]
        self.tokens = [f"--write_tokens_file={self.path('tokens')}"]

    def end_of(self, *flags):
        ended = subprocess.run([SERVER, "--catalog_store=memory:", "--metrics_listen=", *flags], text=True,
                               capture_output=True, timeout=60, check=False)
        return ended.returncode, ended.stderr

    def test_an_open_door_stops_the_start(self):
        for address in ("192.0.2.1:50051", "0.0.0.0:50051", "[::]:50051", "example.org:50051", "127.0.0.2.org:50051",
                        "127.0.0.1:50051,192.0.2.1:50051", "localhost.example.org:50051", "128.0.0.1:1"):
            for flags, missing in (([], "--tls_cert_file and --tls_key_file, and with --write_tokens_file; or"),
                                   (self.tls, "with --write_tokens_file; or"),
                                   (self.tokens, "with --tls_cert_file and --tls_key_file; or")):
                with self.subTest(f"{address} {missing}"):
                    code, said = self.end_of(f"--listen={address}", *flags)
                    self.assertEqual(code, 2, said)
                    self.assertIn("is open to other machines; allowed " + ("with " if flags == [] else ""), said)
                    self.assertIn(missing, said)
                    self.assertIn("--insecure", said)

    def test_what_closes_it_or_says_so_lets_it_start(self):
        for flags in ([*self.tls, *self.tokens], ["--insecure"]):
            code, said = self.end_of("--listen=192.0.2.1:50051", *flags)
            self.assertEqual(code, 1, said)
            self.assertIn("event=listen_failed", said)

    def test_addresses_of_this_machine_need_nothing(self):
        localhost = ["localhost:0"] if self.knows("localhost") else []  # not on a machine without /etc/hosts
        for address in ("127.0.0.1:0", "127.0.0.2:0", *localhost, "[::1]:0", f"unix:{self.path('socket')}"):
            server = self.serve([f"--listen=ADDRESS,{address}"])
            self.assertIn("event=serving", server.log())

    @staticmethod
    def knows(host):
        try:
            return bool(socket.getaddrinfo(host, None))
        except socket.gaierror:
            return False

    def test_what_insecure_leaves_open_is_logged(self):
        server = self.serve(["--insecure"])
        self.assertIn('level=warning event=insecure traffic="in plain text" writes="by anyone"', server.log())

    def test_reading_can_be_restricted_with_tokens_alone(self):
        code, said = self.end_of("--require_token_to_read")
        self.assertEqual((code, said), (2, "foretokend: --require_token_to_read goes with --write_tokens_file, which is "
                                           "absent\n"))


class Roles(AccessTestCase):
    """A reader, a writer and an admin, at a server that answers nobody else."""

    def setUp(self):
        super().setUp()
        self.bearers = {role: f"{TOKEN}-{role}" for role in ("read", "write", "admin")}
        write(self.path("tokens"), "".join(f"{role}er {token} {role}\n" for role, token in self.bearers.items()))
        for role, token in self.bearers.items():
            write(self.path(role), token + "\n")
        self.store = self.path("store.db")
        self.server = ServerProcess(store=self.store, flags=[f"--write_tokens_file={self.path('tokens')}",
                                                             "--require_token_to_read"])
        self.addCleanup(self.server.__exit__)

    def run_as(self, role, *arguments):
        return self.server.cli(*(["--token-file", self.path(role)] if role else []), *arguments)

    def test_each_role_may_what_those_below_it_may(self):
        estimate = ("estimate", "llama-3.1-8b", "nvidia-h100-sxm-80gb", "--batch", "1", "--prompt", "10",
                    "--output-tokens", "10")
        sweep = ("sweep", *estimate[1:], "--axis", "workload.batch_size=1,2")
        for role, asks, writes in ((None, 8, 8), ("read", 0, 8), ("write", 0, 0), ("admin", 0, 0)):
            with self.subTest(role):
                self.assertEqual(self.run_as(role, *estimate).returncode, asks)
                self.assertEqual(self.run_as(role, *sweep).returncode, asks)
                self.assertEqual(self.run_as(role, "list", "hardware").returncode, asks)
                self.assertEqual(self.run_as(role, "catalog-status").returncode, asks)
                self.assertEqual(self.run_as(role, "health").returncode, 0)  # probes have no token
                self.assertEqual(self.run_as(role, "register-hardware", "--etag", "*", SPEC).returncode, writes)

    def test_who_wrote_is_for_writers(self):
        self.assertEqual(self.run_as("write", "register-hardware", SPEC).returncode, 0)
        revisions = ("revisions", "hardware", "example-accelerator")
        self.assertIn("writeer", self.run_as("write", *revisions).stdout)
        self.assertRegex(self.run_as("admin", *revisions).stdout, "127.0.0.1")
        shown = self.run_as("read", *revisions)
        self.assertEqual(shown.returncode, 0)
        self.assertNotIn("writeer", shown.stdout)
        self.assertNotIn("127.0.0.1", shown.stdout)

    def test_where_the_store_is_is_for_admins(self):
        os.rename(self.store, self.path("elsewhere"))
        refused = self.run_as("write", "register-hardware", SPEC)
        self.assertEqual(refused.returncode, 5)
        self.assertIn("the file was removed or replaced while it was open", refused.stderr)
        self.assertNotIn(self.folder, refused.stderr)
        self.assertIn(self.store, self.server.log())
        for role, told in (("read", False), ("write", False), ("admin", True)):
            status = self.run_as(role, "catalog-status")
            self.assertEqual(self.store in status.stdout, told, role)

    def test_a_token_counts_within_two_seconds_of_its_removal(self):
        self.assertEqual(self.run_as("read", "list", "hardware").returncode, 0)
        write(self.path("tokens"), f"writer {self.bearers['write']}\n")
        wait_until(lambda: self.run_as("read", "list", "hardware").returncode == 8, 10, "the token is refused")
        self.assertEqual(self.run_as("write", "list", "hardware").returncode, 0)

    def test_refusals_are_counted(self):
        self.run_as(None, "list", "hardware")
        self.run_as("read", "register-hardware", SPEC)
        self.assertEqual(metric(self.server, 'foretoken_authentication_failures_total{reason="no_token"}'), 1)
        self.assertEqual(metric(self.server, 'foretoken_authentication_failures_total{reason="role"}'), 1)


class Descriptors(AccessTestCase):
    """Server reflection, as grpcurl asks for it."""

    def reflect(self, server, symbol):
        """The files of grpc.reflection.v1alpha that describe a symbol, as names of messages and services."""
        request = b"\x22" + bytes([len(symbol)]) + symbol.encode()
        stub = server.client.channel.stream_stream("/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")
        return next(stub(iter([request]), timeout=10))

    def test_the_health_service_is_described_too(self):
        server = self.serve([])
        for symbol in ("grpc.health.v1.Health", "foretoken.v1.EstimatorService"):
            reply = self.reflect(server, symbol)
            self.assertNotIn(b"not found", reply)
            self.assertIn(symbol.rsplit(".", 1)[0].encode(), reply)
        self.assertIn(b"HealthCheckRequest", self.reflect(server, "grpc.health.v1.Health"))
        listed = next(server.client.channel.stream_stream(
            "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo")(iter([b"\x3a\x00"]), timeout=10))
        self.assertIn(b"grpc.health.v1.Health", listed)

    def test_reflection_can_be_left_out(self):
        server = self.serve(["--reflection=false"])
        with self.assertRaises(grpc.RpcError) as refused:
            self.reflect(server, "foretoken.v1.EstimatorService")
        self.assertEqual(refused.exception.code(), grpc.StatusCode.UNIMPLEMENTED)


class CertificateMetrics(AccessTestCase):
    def test_expiry_is_told(self):
        c = Certificates(self.folder)
        server = self.serve([f"--tls_cert_file={c.cert}", f"--tls_key_file={c.key}", f"--tls_client_ca_file={c.ca}"],
                            c.channel_credentials())
        for use in ("server", "client_ca"):
            expiry = metric(server, f'foretoken_certificate_expiry_timestamp_seconds{{use="{use}"}}')
            self.assertAlmostEqual(expiry, time.time() + 2 * 24 * 3600, delta=600)  # they are made for two days
        os.rename(c.cert, c.cert + ".gone")
        self.assertEqual(metric(server, 'foretoken_certificate_readable{use="server"}'), 0)
        self.assertIsNone(metric(server, 'foretoken_certificate_expiry_timestamp_seconds{use="server"}'))


if __name__ == "__main__":
    unittest.main()
