"""Bad requests to the catalog: as in bad_requests_test.py, and writes that conflict."""

import math
import unittest

from support.bad_requests import BadRequestTestCase, Case
from support.scenarios import hardware, model


def bad_hardware(name, field, **changes):
    return Case(name, "CatalogService/RegisterHardware", {"spec": hardware("bad-hardware", **changes)},
                "INVALID_ARGUMENT", "INVALID_FIELD", f"spec.{field}")


CATALOG = [
    Case("no spec", "CatalogService/RegisterHardware", {}, "INVALID_ARGUMENT", "INVALID_FIELD", "spec"),
    bad_hardware("bad id", "id", id="Bad Id"),
    bad_hardware("zero bandwidth", "memory_bandwidth_bytes_per_second", memory_bandwidth_bytes_per_second=0.0),
    bad_hardware("NaN bandwidth", "memory_bandwidth_bytes_per_second", memory_bandwidth_bytes_per_second=math.nan),
    bad_hardware("negative memory", "memory_capacity_bytes", memory_capacity_bytes=-1),
    bad_hardware("infinite peak", "peak.bf16_flops_per_second", peak={"bf16_flops_per_second": math.inf}),
    bad_hardware("many calibrations", "calibrations", calibrations=[{}] * 201),
    bad_hardware("long notes", "notes", notes="n" * 4097),
    bad_hardware("long name", "display_name", display_name="n" * 4097),
    bad_hardware("many sources", "sources", sources=[{"citation": "c"}] * 101),
    bad_hardware("many fields", "sources[1].fields", sources=[{}, {"fields": ["tdp_watts"] * 101}]),
    bad_hardware("long field", "sources[0].fields[1]", sources=[{"fields": ["tdp_watts", "f" * 4097]}]),
    Case("long notes of a model", "CatalogService/RegisterModel", {"spec": model("bad-model", notes="n" * 4097)},
         "INVALID_ARGUMENT", "INVALID_FIELD", "spec.notes"),
    Case("sample of an unknown model", "CatalogService/RegisterHardware",
         {"spec": hardware("bad-hardware"), "samples": [{"model_id": "no-such", "batch_size": 1, "prompt_tokens": 8,
                                                         "output_tokens": 1, "ttft_seconds": 0.1}] * 2},
         "NOT_FOUND", "UNKNOWN_ID", "samples[0].model_id"),
    Case("no layers", "CatalogService/RegisterModel", {"spec": model("bad-model", num_hidden_layers=0)},
         "INVALID_ARGUMENT", "INVALID_FIELD", "spec.num_hidden_layers"),
    Case("wrong parameter count", "CatalogService/RegisterModel", {"spec": model("bad-model", parameter_count=7)},
         "INVALID_ARGUMENT", "INVALID_FIELD", "spec.parameter_count"),
    Case("more layers between experts than there are", "CatalogService/RegisterModel",
         {"spec": model("bad-model", mixture_of_experts={
             "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 64, "first_k_dense_replace": -5,
             "moe_layer_freq": 5})}, "INVALID_ARGUMENT", "INVALID_FIELD", "spec.mixture_of_experts.moe_layer_freq"),
    Case("get without id", "CatalogService/GetHardware", {}, "INVALID_ARGUMENT", "INVALID_FIELD", "hardware_id"),
    Case("get unknown id", "CatalogService/GetModel", {"model_id": "llama-9"}, "NOT_FOUND", "UNKNOWN_ID", "model_id"),
    Case("negative page", "CatalogService/ListHardware", {"page_size": -1}, "INVALID_ARGUMENT", "INVALID_FIELD",
         "page_size"),
    Case("foreign page token", "CatalogService/ListModels", {"page_token": "mine"}, "INVALID_ARGUMENT",
         "INVALID_FIELD", "page_token"),
    Case("delete a bundled entry", "CatalogService/DeleteHardware", {"hardware_id": "nvidia-h100-sxm-80gb"},
         "FAILED_PRECONDITION", "BUNDLED_ENTRY", "hardware_id"),
    Case("delete an unknown entry", "CatalogService/DeleteModel", {"model_id": "no-such"}, "NOT_FOUND", "UNKNOWN_ID",
         "model_id"),
]


class BadCatalogRequests(BadRequestTestCase):
    def test_catalog(self):
        self.check(CATALOG)

    def test_conflicting_writes(self):
        client = self.server.client
        spec = hardware("conflict")
        etag = client.call("CatalogService/RegisterHardware", spec=spec, request_id="first").entry.etag
        cases = [
            Case("exists", "", {"spec": spec}, "ALREADY_EXISTS", "ALREADY_EXISTS", None),
            Case("wrong etag", "", {"spec": spec, "etag": "stale"}, "ABORTED", "ETAG_MISMATCH", None),
            Case("request id of another payload", "", {"spec": {**spec, "notes": "x"}, "request_id": "first"},
                 "INVALID_ARGUMENT", "REQUEST_ID_REUSED", "request_id"),
        ]
        for case in cases:
            case.path = "CatalogService/RegisterHardware"
        self.check(cases)
        stale = self.refusal("CatalogService/RegisterHardware", {"spec": spec, "etag": "stale"})
        self.assertEqual(stale.metadata.get("current_etag"), etag)

    def test_texts_up_to_the_limit_are_kept(self):
        spec = hardware("wordy", notes="n" * 4096, sources=[{"citation": "c"}] * 100)
        self.server.client.call("CatalogService/RegisterHardware", spec=spec)
        entry = self.server.client.call("CatalogService/GetHardware", hardware_id="wordy").entry
        self.assertEqual((len(entry.spec.notes), len(entry.spec.sources)), (4096, 100))

    def test_what_is_quoted_of_a_write_is_printable_and_short(self):
        odd = "\x1b[2J\n" + "a" * 1_000_000
        spec = hardware("odd")
        self.server.client.call("CatalogService/RegisterHardware", spec=spec)
        version = self.server.client.call("CatalogService/ListCalibrations").entries[0].spec.model_version
        calibrated = {**spec, "calibrations": [{"hardware_id": odd, "model_version": version}]}
        for request in ({"spec": spec, "etag": odd}, {"spec": calibrated, "etag": "*"}):
            message = self.refusal("CatalogService/RegisterHardware", request).message
            self.assertTrue(message.isprintable(), message)
            self.assertLess(len(message), 1100)
        self.assertLess(max(map(len, self.server.log().splitlines())), 2000)


if __name__ == "__main__":
    unittest.main()
