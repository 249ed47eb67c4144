"""Every bundled entry yields finite positive numbers or a stated refusal, in a large cross of hardware and models."""

import math
import random
import unittest

from support.scenarios import scenario
from support.server_process import ServerProcess

LARGE_HARDWARE = "nvidia-b200-sxm-180gb"
SMALL_MODEL = "llama-3.2-1b"
RANDOM_PAIRS = 2000
# Why an estimate of a sound question may be refused.
STATED = {"OUT_OF_MEMORY", "MISSING_FIGURE", "UNSUPPORTED_MODEL", "NOT_MODELLED"}
CODES = {"OUT_OF_MEMORY": 9, "MISSING_FIGURE": 9, "UNSUPPORTED_MODEL": 9, "NOT_MODELLED": 12}


class CatalogPairs(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess()
        cls.hardware = cls.ids("Hardware")
        cls.models = cls.ids("Models")

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    @classmethod
    def ids(cls, kind):
        page = cls.server.client.call(f"CatalogService/List{kind}", page_size=1000)
        assert not page.next_page_token
        return [entry.spec.id for entry in page.entries]

    def test_the_catalog_is_as_large_as_stated(self):
        self.assertGreaterEqual(len(self.hardware), 100)
        self.assertGreaterEqual(len(self.models), 175)

    def results(self, pairs):
        """(pair, CandidateResult) of each (hardware, model); one batch per model, as candidates vary the hardware."""
        by_model = {}
        for hardware, model in pairs:
            by_model.setdefault(model, []).append(hardware)
        for model, hardware in by_model.items():
            for start in range(0, len(hardware), 1000):
                some = hardware[start:start + 1000]
                reply = self.server.client.call(
                    "EstimatorService/BatchEstimate", base=scenario(model_id=model),
                    candidates=[{"hardware_id": identifier} for identifier in some])
                yield from zip([(identifier, model) for identifier in some], reply.results)

    def check(self, pairs):
        estimated = 0
        for pair, result in self.results(pairs):
            with self.subTest(pair):
                if result.WhichOneof("result") == "estimate":
                    estimated += 1
                    self.check_estimate(result.estimate)
                else:
                    self.check_refusal(result.status)
        return estimated

    def check_estimate(self, estimate):
        throughput = estimate.throughput
        numbers = [estimate.ttft.seconds, estimate.tpot.seconds, estimate.e2e.seconds, estimate.prefill.seconds,
                   estimate.decode.seconds, throughput.output_tokens_per_second,
                   throughput.output_tokens_per_second_per_device, throughput.output_tokens_per_second_per_user,
                   throughput.requests_per_second, estimate.memory.weight_bytes, estimate.memory.kv_cache_bytes,
                   estimate.mbu, estimate.mfu]
        self.assertTrue(all(math.isfinite(number) and number > 0 for number in numbers), numbers)
        self.assertLessEqual(estimate.mbu, 1)
        self.assertLessEqual(estimate.mfu, 1)

    def check_refusal(self, status):
        info = self.server.client.api.message_class("google.rpc.ErrorInfo")()
        self.assertTrue(any(detail.Unpack(info) for detail in status.details if detail.Is(info.DESCRIPTOR)), status)
        self.assertIn(info.reason, STATED, status.message)
        self.assertEqual(status.code, CODES[info.reason])
        self.assertTrue(status.message)

    def test_all_models_on_large_hardware(self):
        self.assertGreater(self.check([(LARGE_HARDWARE, model) for model in self.models]), 20)

    def test_all_hardware_with_a_small_model(self):
        self.assertGreater(self.check([(hardware, SMALL_MODEL) for hardware in self.hardware]), 50)

    def test_random_pairs(self):
        random.seed(2)
        pairs = [(random.choice(self.hardware), random.choice(self.models)) for _ in range(RANDOM_PAIRS)]
        self.assertGreater(self.check(pairs), 100)


if __name__ == "__main__":
    unittest.main()
