"""Sweeps as DataFrames, against a real server."""

import time
import unittest

import grpc
import numpy

import foretoken
from foretoken import frame, v1
from support.replicas import metric, wait_until
from support.server_process import ServerProcess

H100, A100 = "nvidia-h100-sxm-80gb", "nvidia-a100-sxm-80gb"
ENDED = ('grpc_server_handled_total{grpc_service="foretoken.v1.EstimatorService",grpc_method="Sweep",'
         'grpc_type="server_stream",grpc_code="%s"}')


class Sweep(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess(store="memory:")
        cls.client = foretoken.Client(cls.server.address)

    @classmethod
    def tearDownClass(cls):
        cls.client.close()
        cls.server.__exit__()

    def test_each_row_is_its_estimate(self):
        frame = self.client.sweep("llama-3.1-8b", [H100, A100], tp=[1, 2], batch_size=range(1, 1001), prompt_tokens=2048,
                                  output_tokens=numpy.array([128, 256]), weight_dtype=["bf16", "fp8"],
                                  metrics=["ttft_seconds", "tpot_seconds", "free_bytes"])
        self.assertEqual(list(frame.columns), [
            "hardware", "tensor_parallel", "batch_size", "output_tokens", "weight_dtype", "ttft_seconds", "tpot_seconds",
            "free_bytes", "status", "reason", "provenance", "on_frontier"])
        self.assertEqual(len(frame), 2 * 2 * 1000 * 2 * 2)
        answered = frame[frame.status == "OK"]
        for row in answered.iloc[::len(answered) // 20].itertuples():
            estimate = self.client.estimate(
                "llama-3.1-8b", row.hardware, tp=row.tensor_parallel, batch_size=row.batch_size, prompt_tokens=2048,
                output_tokens=row.output_tokens, weight_dtype=row.weight_dtype).estimate
            self.assertEqual((row.ttft_seconds, row.tpot_seconds, row.free_bytes),
                             (estimate.ttft.seconds, estimate.tpot.seconds, estimate.memory.free_bytes))
        refused = frame[frame.status != "OK"]
        self.assertEqual(set(refused.status), {"FAILED_PRECONDITION"})
        self.assertEqual(set(refused.reason), {"OUT_OF_MEMORY"})
        self.assertTrue(refused.ttft_seconds.isna().all())
        self.assertIn("OUT_OF_MEMORY", frame.attrs["errors"][refused.index[0]])
        self.assertTrue(frame.on_frontier.any())

    def test_other_axes(self):
        frame = self.client.sweep(["llama-3.1-8b", "llama-3.1-70b"], H100, prompt_tokens=128, output_tokens=2,
                                  batching_policy=["static", "continuous"], unfused_elementwise=[False, True],
                                  max_ttft_seconds=10.0, deployment__memory_utilization=[0.5, 0.9])
        self.assertEqual(len(frame), 16)
        self.assertEqual(list(frame.unfused_elementwise[:4]), [False, False, True, True])
        self.assertEqual(list(frame.deployment__memory_utilization[:2]), [0.5, 0.9])
        self.assertEqual(list(frame.batching_policy.cat.categories), ["static", "continuous"])
        self.assertIn("ttft_seconds", frame.columns)  # of the metrics that a sweep answers unless asked for others
        self.assertEqual(frame.status[frame.attrs["best_under_slo"]], "OK")

    def test_a_refusal_says_which_field(self):
        with self.assertRaises(foretoken.Error) as refused:
            self.client.sweep("llama-3.1-8b", H100, batch_size=[], prompt_tokens=1, output_tokens=1)
        self.assertIs(refused.exception.code, grpc.StatusCode.INVALID_ARGUMENT)
        self.assertTrue(refused.exception.fields[0].path.startswith("axes[0]"))
        with self.assertRaisesRegex(ValueError, "asked 'bf61'; near: bf16"):
            self.client.sweep("llama-3.1-8b", H100, weight_dtype=["bf61"])

    def large(self, **options):
        return self.client.sweep("llama-3.1-8b", H100, prompt_tokens=range(1, 2001), output_tokens=range(1, 2001),
                                 **options)

    def test_an_exception_of_progress_cancels_it(self):
        def stop(share):
            raise KeyboardInterrupt(share)

        before = metric(self.server, ENDED % "Canceled")
        with self.assertRaises(KeyboardInterrupt):
            self.large(progress=stop)
        wait_until(lambda: metric(self.server, ENDED % "Canceled") == before + 1, 10, "the server stops")

    def test_a_deadline_ends_it(self):
        began = time.monotonic()
        with self.assertRaises(foretoken.Error) as refused:
            self.large(timeout=0.1)
        self.assertIs(refused.exception.code, grpc.StatusCode.DEADLINE_EXCEEDED)
        self.assertLess(time.monotonic() - began, 5)

    def test_a_stream_that_is_cut_is_an_error(self):
        for messages, told in (([], "does not begin with a header"),
                               ([v1.SweepResponse(header=v1.SweepHeader(total_points=1))], "ended without a summary")):
            class Stream:
                def __init__(self, messages):
                    self._messages = iter(messages)

                def __iter__(self):
                    return self._messages

                def __next__(self):
                    return next(self._messages)

                def cancel(self):
                    pass

            with self.subTest(told), self.assertRaisesRegex(foretoken.Error, told + " \\(DATA_LOSS\\)"):
                frame.Reader(Stream(messages)).read([], None)

    def test_nobody_there(self):
        with foretoken.Client("127.0.0.1:1", max_attempts=2) as client, self.assertRaises(foretoken.Error) as refused:
            client.sweep("llama-3.1-8b", H100, prompt_tokens=[1], output_tokens=1)
        self.assertIs(refused.exception.code, grpc.StatusCode.UNAVAILABLE)


if __name__ == "__main__":
    unittest.main()
