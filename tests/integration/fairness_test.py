"""Large calls beside each other: nobody's small question waits for what others, or many, ask at length. The bounds are
tens of times what an idle machine needs, and a fraction of what the queue of the others takes."""

import os
import subprocess
import tempfile
import time
import unittest

import grpc

from support.scenarios import hardware, scenario
from support.server_process import API, BINARY_DIR, ServerProcess

DRIVER = os.path.join(BINARY_DIR, "foretoken-load")
SOON_SECONDS = 2
TOKENS = {"heavy": "0123456789abcdef", "other": "fedcba9876543210"}


class Caller:
    """A channel of its own, and a token; without a name the caller is this machine's address."""

    def __init__(self, server, name=None):
        self.client = API.connect(server.address)
        self.metadata = [("authorization", f"Bearer {TOKENS[name]}")] if name else []

    def begin(self, path, timeout=60, **fields):
        """A call under way: a grpc future."""
        method = API.method(path)
        stub = self.client.channel.unary_unary(self.client._wire_path(path), **self.client._codec(method))
        return stub.future(API.build(method.input_type, fields), timeout=timeout, metadata=self.metadata)

    def seconds_of(self, path, **fields):
        """How long the call takes."""
        began = time.monotonic()
        self.begin(path, **fields).result()
        return time.monotonic() - began


def batch(candidates):
    return {"base": scenario(), "candidates": [{"workload": {"batch_size": 1, "prompt_tokens": 100 + i,
                                                             "output_tokens": 128}} for i in range(candidates)]}


def search():
    return {"base": scenario(slo={"max_tpot_seconds": 0.02}), "solve_for": "SOLVE_FOR_BATCH_SIZE"}


def samples(count):
    """On which two models disagree with all others, so that the fit takes long."""
    models = ["llama-2-7b", "llama-3.1-8b", "mistral-7b-v0.1", "qwen3-8b"]
    return [{"model_id": models[i % 4], "deployment": {"engine": "lab-engine"}, "batch_size": 1 << i % 5,
             "prompt_tokens": 128 << i % 3, "output_tokens": 128, "tpot_seconds": 0.01 * (1 + i % 7),
             "ttft_seconds": (1 << i % 5) * (128 << i % 3) * 1e-4 * (1 + i % 4)} for i in range(count)]


class Driven(unittest.TestCase):
    def drive(self, server, call, **flags):
        """The load driver, until the test ends: a call begins when one ends."""
        process = subprocess.Popen(
            [DRIVER, f"--target={server.address}", f"--call={call}", "--seconds=100",
             *[f"--{name}={value}" for name, value in flags.items()]], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)


class Fairness(Driven):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        tokens = os.path.join(folder.name, "tokens")
        with open(tokens, "w", encoding="ascii") as file:
            file.writelines(f"{name} {token}\n" for name, token in TOKENS.items())
        self.server = ServerProcess(store="memory:", flags=[f"--write_tokens_file={tokens}"])
        self.addCleanup(self.server.__exit__)

    def soon(self, caller, path, **fields):
        """Asks three times; the worst counts."""
        for _ in range(3):
            self.assertLess(caller.seconds_of(path, **fields), SOON_SECONDS, path)

    def wait_for(self, metric, least):
        deadline = time.monotonic() + 30
        while self.value_of(metric) < least:
            self.assertLess(time.monotonic(), deadline, metric)
            time.sleep(0.05)

    def value_of(self, metric):
        return sum(float(line.rsplit(" ", 1)[1]) for line in self.server.metrics().splitlines()
                   if line.startswith(metric))

    def test_a_search_beside_batches_of_a_thousand(self):
        for _ in range(2):
            self.drive(self.server, "batch", candidates=1000, in_flight=300, connections=3)
        self.wait_for('grpc_server_started_total{grpc_service="foretoken.v1.EstimatorService",grpc_method="Batch', 600)
        self.soon(Caller(self.server, "other"), "EstimatorService/Solve", **search())
        self.soon(Caller(self.server), "EstimatorService/Solve", **search())  # the same caller: short work goes first

    def test_a_small_sweep_beside_large_ones(self):
        self.drive(self.server, "sweep", connections=20, values=100)
        for _ in range(2):
            self.drive(self.server, "mix", connections=40, values=100, chunk_points=4096)
        self.wait_for("foretoken_sweep_points_total", 1e6)
        small = {"base": scenario(), "axes": [{"field": "workload.batch_size", "numbers": {"values": [1.0, 2.0, 3.0]}}]}
        began = time.monotonic()
        for _ in range(5):
            _, messages = self.server.client.stream("EstimatorService/Sweep", **small)
            self.assertEqual([message.WhichOneof("part") for message in messages], ["header", "chunk", "summary"])
        self.assertLess(time.monotonic() - began, SOON_SECONDS)

    def test_a_write_beside_nine_fits_on_trial(self):
        heavy = Caller(self.server, "heavy")
        fits = [heavy.begin("CatalogService/RegisterHardware", spec=hardware("fitted"), samples=samples(10_000),
                            validate_only=True) for _ in range(9)]
        self.addCleanup(lambda: [fit.cancel() for fit in fits])
        self.wait_for('grpc_server_started_total{grpc_service="foretoken.v1.CatalogService",grpc_method="RegisterHard',
                      9)
        for name in ("other", "heavy"):
            self.soon(Caller(self.server, name), "CatalogService/RegisterHardware", spec=hardware("quick"), etag="*")
        self.soon(Caller(self.server, "other"), "EstimatorService/Solve", **search())
        self.assertFalse(all(fit.done() for fit in fits), "the fits were too quick to wait for")


class Refusal(Driven):
    def refused(self, server, in_flight, timeout, message):
        """A batch beside so many others of its caller that is refused with the message: the call and its error."""
        self.drive(server, "batch", candidates=1000, in_flight=in_flight, connections=10)
        caller = Caller(server)
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            call = caller.begin("EstimatorService/BatchEstimate", timeout=timeout, **batch(1000))
            if call.exception() is not None and message in call.details():
                return call, API.refused(call.exception())
        self.fail("nothing was refused")

    def counted(self, server, reason):
        name = f'foretoken_queue_refused_total{{queue="compute",reason="{reason}"}}'
        return next(float(line.rsplit(" ", 1)[1]) for line in server.metrics().splitlines() if line.startswith(name))

    def test_too_many_large_calls_are_refused_with_the_time_to_come_again(self):
        with ServerProcess(store="memory:", flags=["--max_large_calls_per_caller=20"]) as server:
            call, error = self.refused(server, in_flight=60, timeout=60,
                                       message="your large calls: 20 in the server, 1 asked; allowed 20 at once")
            self.assertEqual((error.code, error.reason), (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED"))
            self.assertGreater(self.counted(server, "caller_calls"), 0)
            self.assertGreaterEqual(self.retry_seconds(call), 0.1)
            trailers = dict(call.trailing_metadata())
            self.assertEqual(int(trailers["grpc-retry-pushback-ms"]), round(1000 * self.retry_seconds(call)))

    def retry_seconds(self, call):
        """Of google.rpc.RetryInfo, whose one field is the delay."""
        status = API.message_class("google.rpc.Status")()
        status.ParseFromString(dict(call.trailing_metadata())["grpc-status-details-bin"])
        retry = next(detail for detail in status.details if detail.type_url.endswith("google.rpc.RetryInfo"))
        delay = API.message_class("google.protobuf.Duration")()
        delay.ParseFromString(retry.value[2:])
        return delay.seconds + delay.nanos / 1e9

    def test_a_call_that_its_deadline_would_cut_is_refused_at_once(self):
        with ServerProcess(store="memory:", flags=["--work_threads=1"]) as server:
            _, error = self.refused(server, in_flight=900, timeout=0.5, message="allowed by your deadline ")
            self.assertEqual((error.code, error.reason), (grpc.StatusCode.RESOURCE_EXHAUSTED, "OVERLOADED"))
            self.assertGreater(self.counted(server, "deadline"), 0)


if __name__ == "__main__":
    unittest.main()
