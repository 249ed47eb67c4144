"""The Python client against real servers: answers, refusals, access, deadlines, retries."""

import concurrent.futures
import os
import shutil
import tempfile
import time
import unittest

import grpc

import foretoken
from foretoken import retry, v1
from support.certificates import Certificates
from support.replicas import metric, wait_until
from support.server_process import ServerProcess

H100 = "nvidia-h100-sxm-80gb"
ASKED = {"prompt_tokens": 2048, "output_tokens": 256, "engine": "vllm"}
TOKEN = "0123456789abcdef"
LONG = {"batching_policy": "continuous", "batch_size": 64, "requests": 100_000, "max_steps": 10_000_000,
        "output_lengths": {"uniform": {"low_tokens": 10, "high_tokens": 4000}}}
ASKED_STATUS = ('grpc_server_handled_total{grpc_service="foretoken.v1.CatalogService",grpc_method="GetCatalogStatus",'
                'grpc_type="unary",grpc_code="OK"}')


class Asking(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(store="memory:")
        cls.client = foretoken.Client(cls.server.address)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def refusal(self, function, *arguments, **fields):
        with self.assertRaises(foretoken.Error) as refused:
            function(*arguments, **fields)
        return refused.exception

    def test_estimate(self):
        reply = self.client.estimate("llama-3.1-8b", H100, tp=2, include_operators=True, **ASKED)
        estimate = reply.estimate
        self.assertAlmostEqual(estimate.e2e.seconds, estimate.ttft.seconds + 255 * estimate.tpot.seconds, places=9)
        self.assertEqual(estimate.devices, 2)
        self.assertTrue(estimate.decode_operators)
        self.assertTrue(reply.catalog_revision.bundle_digest)

    def test_specs_of_ones_own(self):
        spec = self.client.call("GetHardware", hardware_id=H100).entry.spec
        twice = v1.HardwareSpec()
        twice.CopyFrom(spec)
        twice.memory_bandwidth_bytes_per_second *= 2
        asked = {**ASKED, "method": "speed_of_light"}
        one, two = (self.client.estimate("llama-3.1-8b", hardware, **asked).estimate for hardware in (H100, twice))
        self.assertAlmostEqual(one.tpot.seconds / two.tpot.seconds, 2, places=2)

    def test_batch(self):
        reply = self.client.batch_estimate(
            "llama-3.1-8b", rank_by="ttft", **ASKED, candidates=[
                {"candidate_id": "slow", "hardware": "nvidia-a100-sxm-80gb"}, {"candidate_id": "fast", "hardware": H100},
                {"candidate_id": "none", "hardware": "nix"}, v1.Candidate(candidate_id="message", hardware_id=H100)])
        self.assertEqual([reply.results[i].candidate_id for i in reply.ranking[:3]], ["fast", "message", "slow"])
        refused = foretoken.Error(reply.results[2].status)
        self.assertEqual((refused.code, refused.reason), (grpc.StatusCode.NOT_FOUND, "UNKNOWN_ID"))
        self.assertEqual(refused.fields[0].path, "candidates[2].hardware_id")

    def test_a_candidate_changes_single_fields(self):
        base = {"model": "llama-3.1-8b", "hardware": H100, "weight_dtype": "fp8", **ASKED}
        batch = self.client.batch_estimate(candidates=[{"tp": 2}, {"deployment": {"tensor_parallel": 2}}], **base)
        changed, replaced = (result.estimate.ttft.seconds for result in batch.results)
        self.assertEqual(changed, self.client.estimate(tp=2, **base).estimate.ttft.seconds)
        plain = {name: value for name, value in base.items() if name not in ("weight_dtype", "engine")}
        self.assertEqual(replaced, self.client.estimate(tp=2, **plain).estimate.ttft.seconds)

    def test_solve(self):
        largest = self.client.solve("llama-3.1-8b", H100, solve_for="batch_size", max_tpot_seconds=0.02, **ASKED)
        self.assertTrue(largest.satisfied)
        self.assertEqual(largest.binding_constraint, v1.CONSTRAINT_MAX_TPOT)
        cheapest = self.client.solve("llama-3.1-8b", solve_for="hardware", **ASKED, candidates=[
            {"hardware": "nvidia-l4", "price_per_device_hour": 9.0},
            {"hardware": H100, "tp": 2, "price_per_device_hour": 1.0}])
        self.assertEqual((cheapest.value, cheapest.estimate.devices), (1, 2))

    def test_simulate(self):
        reply = self.client.simulate("llama-3.1-8b", H100, batching_policy="continuous", request_rate_per_second=2.0,
                                     requests=200, prompt_lengths={"uniform": {"low_tokens": 10, "high_tokens": 4000}},
                                     **ASKED)
        self.assertEqual(reply.requests, 200)
        self.assertGreater(reply.ttft.p99.seconds, reply.ttft.p50.seconds)

    def test_other_calls_by_name(self):
        self.assertEqual(len(self.client.call("ListHardware", page_size=3).entries), 3)
        with self.assertRaisesRegex(TypeError, "'ListHardwares' is no RPC of one reply; near: ListHardware"):
            self.client.call("ListHardwares")

    def test_a_refusal_says_which_fields(self):
        refused = self.refusal(self.client.estimate, "llama-3.1-8b", H100, prompt_tokens=1, output_tokens=0, tp=0)
        self.assertEqual((refused.code, refused.reason), (grpc.StatusCode.INVALID_ARGUMENT, "INVALID_FIELD"))
        self.assertEqual([field.path for field in refused.fields],
                         ["scenario.deployment.tensor_parallel", "scenario.workload.output_tokens"])
        self.assertIn("  field scenario.deployment.tensor_parallel: tensor_parallel 0; allowed 1 to 1024", str(refused))

    def test_a_deadline_ends_a_call(self):
        began = time.monotonic()
        refused = self.refusal(self.client.simulate, "llama-3.1-8b", H100, timeout=0.02, **ASKED, **LONG)
        self.assertIs(refused.code, grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertLess(time.monotonic() - began, 5)

    def test_the_address_of_the_environment(self):
        os.environ["FORETOKEN_SERVER"] = self.server.address
        self.addCleanup(os.environ.pop, "FORETOKEN_SERVER")
        with foretoken.Client() as client:
            self.assertTrue(client.call("GetCatalogStatus").catalog_revision.bundle_digest)


class Access(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="foretoken-python-")
        self.addCleanup(shutil.rmtree, self.folder)

    def serve(self, flags, credentials=None):
        server = ServerProcess(store="memory:", flags=flags, credentials=credentials)
        self.addCleanup(server.__exit__)
        return server

    def code(self, address, **options):
        try:
            with foretoken.Client(address, **options) as client:
                client.estimate("llama-3.1-8b", H100, timeout=2, **ASKED)
            return None
        except foretoken.Error as error:
            return error.code

    def test_tls_with_a_certificate_of_the_caller(self):
        c = Certificates(self.folder)
        server = self.serve([f"--tls_cert_file={c.cert}", f"--tls_key_file={c.key}", f"--tls_client_ca_file={c.ca}"],
                            c.channel_credentials())
        self.assertIsNone(self.code(server.address, ca_file=c.ca, cert_file=c.cert, key_file=c.key))
        for refused in ({}, {"ca_file": c.ca}):
            self.assertIn(self.code(server.address, **refused),
                          (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED))
        with self.assertRaisesRegex(ValueError, "cert_file goes with key_file and ca_file"):
            foretoken.Client(server.address, cert_file=c.cert)

    def test_tokens(self):
        tokens = os.path.join(self.folder, "tokens")
        with open(tokens, "w", encoding="ascii") as file:
            file.write(f"ci {TOKEN}\n")
        server = self.serve([f"--write_tokens_file={tokens}", "--require_token_to_read"])
        self.assertIsNone(self.code(server.address, token=TOKEN))
        self.assertIs(self.code(server.address), grpc.StatusCode.UNAUTHENTICATED)
        self.assertIs(self.code(server.address, token=TOKEN + "x"), grpc.StatusCode.UNAUTHENTICATED)


class Fake(grpc.GenericRpcHandler):
    """A server that ends each call with the next of `codes`, then answers."""

    def __init__(self, *codes):
        self.codes, self.calls, self.metadata = list(codes), 0, {}

    def service(self, details):
        def answer(_request, context):
            self.calls += 1
            self.metadata = dict(details.invocation_metadata)
            if self.codes:
                context.abort(self.codes.pop(0), "not now")
            return b""
        return grpc.unary_unary_rpc_method_handler(answer)


class Retries(unittest.TestCase):
    def ask(self, fake, rpc="GetCatalogStatus", fields=None, **options):
        """The code of a call to a fake server, and how often it was called."""
        server = grpc.server(concurrent.futures.ThreadPoolExecutor(2), handlers=[fake])
        port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            with foretoken.Client(f"127.0.0.1:{port}", **options) as client:
                client.call(rpc, **(fields or {}))
            return None, fake.calls
        except foretoken.Error as error:
            return error.code, fake.calls
        finally:
            server.stop(None)

    def test_only_what_is_safe_to_repeat_is_repeated(self):
        gone, dropped, wrong = (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED,
                                grpc.StatusCode.INVALID_ARGUMENT)
        for codes, rpc, fields, want in (
                ([gone, gone], "GetCatalogStatus", {}, (None, 3)),
                ([dropped], "GetCatalogStatus", {}, (None, 2)),
                ([gone] * 9, "GetCatalogStatus", {}, (gone, 4)),
                ([wrong], "GetCatalogStatus", {}, (wrong, 1)),
                ([gone], "DeleteHardware", {"hardware_id": "x"}, (gone, 1)),
                ([gone], "DeleteHardware", {"hardware_id": "x", "request_id": "r"}, (None, 2))):
            with self.subTest(codes=codes, rpc=rpc, fields=fields):
                self.assertEqual(self.ask(Fake(*codes), rpc, fields), want)

    def test_not_beyond_the_deadline(self):
        code, calls = self.ask(Fake(*[grpc.StatusCode.UNAVAILABLE] * 9), timeout=0.06)
        self.assertIs(code, grpc.StatusCode.UNAVAILABLE)
        self.assertLess(calls, 4)

    def test_the_author_is_sent(self):
        fake = Fake()
        self.ask(fake, "DeleteHardware", author="me")
        self.assertEqual(fake.metadata["foretoken-author"], "me")

    def test_waits_grow_to_a_second(self):
        self.assertEqual([retry.backoff(attempt, 1) for attempt in (1, 2, 3, 9)], [0.05, 0.1, 0.2, 1.0])
        self.assertEqual(retry.backoff(1, 0), 0.025)


class Replicas(unittest.TestCase):
    def test_they_take_turns_and_one_that_ends_gets_none(self):
        servers = [ServerProcess(store="memory:") for _ in range(2)]
        for server in servers:
            self.addCleanup(server.__exit__)
        with foretoken.Client("ipv4:" + ",".join(server.address for server in servers)) as client:
            asked = [metric(server, ASKED_STATUS) for server in servers]

            def both_were_asked():
                client.call("GetCatalogStatus")
                return all(metric(server, ASKED_STATUS) > before for server, before in zip(servers, asked))

            wait_until(both_were_asked, 10, "calls go to both")
            servers[0].terminate()
            for _ in range(20):
                client.call("GetCatalogStatus")


if __name__ == "__main__":
    unittest.main()
