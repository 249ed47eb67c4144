"""Bad requests to the catalog: as in bad_requests_test.py, and writes that conflict."""

import math
import unittest

from bad_requests import BadRequestTestCase, Case
from scenarios import hardware, model


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
    Case("sample of an unknown model", "CatalogService/RegisterHardware",
         {"spec": hardware("bad-hardware"), "samples": [{"model_id": "no-such", "batch_size": 1, "prompt_tokens": 8,
                                                         "output_tokens": 1, "ttft_seconds": 0.1}] * 2},
         "NOT_FOUND", "UNKNOWN_ID", "samples[0].model_id"),
    Case("no layers", "CatalogService/RegisterModel", {"spec": model("bad-model", num_hidden_layers=0)},
         "INVALID_ARGUMENT", "INVALID_FIELD", "spec.num_hidden_layers"),
    Case("wrong parameter count", "CatalogService/RegisterModel", {"spec": model("bad-model", parameter_count=7)},
         "INVALID_ARGUMENT", "INVALID_FIELD", "spec.parameter_count"),
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


if __name__ == "__main__":
    unittest.main()
