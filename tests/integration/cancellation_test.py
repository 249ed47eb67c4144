"""Callers who leave at any moment: deadlines of milliseconds and cancellations, of every kind of large call at once,
until the server is told to end. None of it may end the server before."""

import random
import threading
import time
import unittest

import grpc

from support.scenarios import hardware, scenario
from support.server_process import API, ServerProcess

SECONDS = 6
CALLERS = 12
DEADLINES = (0.003, 0.02, 5)


def numbers(field, last):
    return {"field": field, "numbers": {"values": [float(value) for value in range(1, last)]}}


SWEEP = {"base": scenario(), "axes": [numbers("workload.batch_size", 200), numbers("workload.prompt_tokens", 200)]}
CALLS = {
    "EstimatorService/BatchEstimate": {"base": scenario(), "candidates": [
        {"workload": {"batch_size": 1, "prompt_tokens": 100 + i, "output_tokens": 128}} for i in range(900)]},
    "EstimatorService/Solve": {"base": scenario(slo={"max_tpot_seconds": 0.02}), "solve_for": "SOLVE_FOR_BATCH_SIZE"},
    "EstimatorService/Simulate": {
        "scenario": scenario(workload={"batch_size": 64, "prompt_tokens": 500, "output_tokens": 200,
                                       "batching_policy": "BATCHING_POLICY_CONTINUOUS"}),
        "simulation": {"requests": 100_000, "max_steps": 10_000_000}},
    "CatalogService/RegisterHardware": {"spec": hardware("shared"), "etag": "*"},
}


class Caller(threading.Thread):
    def __init__(self, server, seed, end):
        super().__init__()
        self.client, self.random, self.end = API.connect(server.address), random.Random(seed), end
        self.answers, self.given_up = 0, 0

    def run(self):
        while time.monotonic() < self.end:
            try:
                self.random.choice((self.sweep, self.unary))()
                self.answers += 1
            except (grpc.RpcError, grpc.FutureCancelledError):
                self.given_up += 1
        self.client.close()

    def stub(self, make, path, fields):
        method = API.method(path)
        call = make(self.client._wire_path(path), **self.client._codec(method))
        return call, API.build(method.input_type, fields)

    def unary(self):
        path = self.random.choice(list(CALLS))
        call, request = self.stub(self.client.channel.unary_unary, path, CALLS[path])
        reply = call.future(request, timeout=self.random.choice(DEADLINES))
        if self.random.random() < 0.3:
            reply.cancel()
        reply.result()

    def sweep(self):
        call, request = self.stub(self.client.channel.unary_stream, "EstimatorService/Sweep", SWEEP)
        stream = call(request, timeout=self.random.choice(DEADLINES))
        for _ in stream:
            if self.random.random() < 0.3:
                stream.cancel()


class Cancellation(unittest.TestCase):
    def test_callers_who_leave_end_no_server(self):
        server = ServerProcess()
        self.addCleanup(server.__exit__)
        end = time.monotonic() + SECONDS
        callers = [Caller(server, seed, end) for seed in range(CALLERS)]
        for caller in callers:
            caller.start()
        while time.monotonic() < end - 1:
            self.assertIsNone(server.process.poll(), server.log()[-2000:])
            server.metrics()
            time.sleep(0.2)
        code = server.terminate(timeout=60)  # under load
        for caller in callers:
            caller.join()
        self.assertEqual(code, 0, server.log()[-2000:])
        self.assertGreater(sum(caller.answers for caller in callers), 0)
        self.assertGreater(sum(caller.given_up for caller in callers), 0)


if __name__ == "__main__":
    unittest.main()
