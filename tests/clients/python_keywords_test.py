"""Keywords and the fields that they set. No server is asked."""

import datetime
import unittest

from foretoken import keywords, v1
from google.protobuf import text_format


class Keywords(unittest.TestCase):
    def request(self, message=v1.EstimateRequest, **fields):
        request = message()
        for keyword, value in fields.items():
            keywords.set_at(request, keywords.path_of(message.DESCRIPTOR, keyword), value)
        return text_format.MessageToString(request, as_one_line=True)

    def test_each_kind_of_field(self):
        seen = datetime.datetime(2026, 1, 1)
        for fields, want in (
                ({"prompt_tokens": 8}, "scenario { workload { prompt_tokens: 8 } }"),
                ({"tp": 2, "dp": 3}, "scenario { deployment { tensor_parallel: 2 data_parallel: 3 } }"),
                ({"max_tpot_seconds": 1}, "scenario { slo { max_tpot_seconds: 1.0 } }"),
                ({"running_sequences": 5}, "scenario { live_load { running_sequences: 5 } }"),
                ({"include_operators": True}, "include_operators: true"),
                ({"engine": "vllm"}, 'scenario { deployment { engine: "vllm" } }'),
                ({"weight_dtype": "fp8-block"}, "scenario { deployment { weight_dtype: DTYPE_FP8_BLOCK } }"),
                ({"method": "METHOD_KPI"}, "scenario { method: METHOD_KPI }"),
                ({"method": 4}, "scenario { method: METHOD_KPI }"),
                ({"slo": {"max_ttft_seconds": 2}}, "scenario { slo { max_ttft_seconds: 2.0 } }"),
                ({"slo": v1.Slo(max_ttft_seconds=2)}, "scenario { slo { max_ttft_seconds: 2.0 } }"),
                ({"running": [{"context_tokens": 7}]}, "scenario { live_load { running { context_tokens: 7 } } }"),
                ({"live_load__max_num_seqs": 9}, "scenario { live_load { max_num_seqs: 9 } }"),
                ({"speculative_decoding__draft_deployment__engine": "sglang"},
                 'scenario { speculative_decoding { draft_deployment { engine: "sglang" } } }'),
                ({"time_observed": seen}, "scenario { live_load { time_observed { seconds: 1767225600 } } }")):
            with self.subTest(fields):
                self.assertEqual(self.request(**fields).strip(), want)

    def test_every_field_of_a_part_has_a_name(self):
        for part in (v1.Workload, v1.Deployment, v1.LiveLoad, v1.Slo):
            for field in part.DESCRIPTOR.fields:
                paths = keywords.names_of(v1.EstimateRequest.DESCRIPTOR)[field.name]
                self.assertIn(field.name, [path[-1] for path in paths])
        several = {name: paths for name, paths in keywords.names_of(v1.EstimateRequest.DESCRIPTOR).items()
                   if len(paths) > 1}
        self.assertEqual(sorted(several), ["max_num_seqs"])

    def test_the_requests_own_field_comes_first(self):
        self.assertEqual(self.request(v1.HardwareCandidate, price_per_device_hour=2).strip(), "price_per_device_hour: 2.0")
        with self.assertRaisesRegex(TypeError, "allowed: deployment__scheduler or simulation__scheduler"):
            self.request(v1.SimulateRequest, scheduler="mixed")

    def test_what_the_api_does_not_have_is_refused(self):
        for fields, error, want in (
                ({"promt_tokens": 1}, TypeError, "unknown keyword 'promt_tokens'; near: prompt_tokens"),
                ({"xyzzy": 1}, TypeError, "unknown keyword 'xyzzy'$"),
                ({"max_num_seqs": 1}, TypeError, "allowed: deployment__max_num_seqs or live_load__max_num_seqs"),
                ({"workload__prompt_token": 1}, TypeError, "Workload has no field 'prompt_token'; near: prompt_tokens"),
                ({"engine__name": 1}, TypeError, "'name' is looked for inside a field that is no message"),
                ({"weight_dtype": "f8"}, ValueError, "weight_dtype: asked 'f8'; near: fp8; allowed: fp32, bf16, fp16"),
                ({"prompt_tokens": "8"}, TypeError, "prompt_tokens: asked '8'"),
                ({"prompt_tokens": 1.5}, TypeError, "prompt_tokens: asked 1.5"),
                ({"prompt_tokens": 2**40}, ValueError, "prompt_tokens: asked 1099511627776"),
                ({"workload": 3}, TypeError, "workload: asked 3; allowed: a Workload or a dict of its fields"),
                ({"running": {"context_tokens": 7}}, TypeError, "running: asked .*; allowed: a list")):
            with self.subTest(fields), self.assertRaisesRegex(error, want):
                self.request(**fields)


if __name__ == "__main__":
    unittest.main()
