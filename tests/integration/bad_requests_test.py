"""Bad requests: each gets its code, its reason and the path of the field at fault, and the server goes on serving."""

import math
import unittest
from dataclasses import dataclass

from foretoken_api import Refused
from scenarios import hardware, model, scenario
from server_process import ServerProcess

ESTIMATE = "EstimatorService/Estimate"
BATCH = "EstimatorService/BatchEstimate"
SWEEP = "EstimatorService/Sweep"


@dataclass
class Case:
    name: str
    path: str
    request: dict
    code: str
    reason: str
    field: str  # "" where no field is at fault


def workload(**changes):
    fields = {"batch_size": 8, "prompt_tokens": 1024, "output_tokens": 128, **changes}
    return {key: value for key, value in fields.items() if value is not None}


def bad_workload(name, field, **changes):
    return Case(name, ESTIMATE, {"scenario": scenario(workload=workload(**changes))}, "INVALID_ARGUMENT",
                "INVALID_FIELD", f"scenario.workload.{field}")


def bad_deployment(name, field, **changes):
    return Case(name, ESTIMATE, {"scenario": scenario(deployment=changes)}, "INVALID_ARGUMENT", "INVALID_FIELD",
                f"scenario.deployment.{field}")


SCENARIOS = [
    Case("no scenario", ESTIMATE, {}, "INVALID_ARGUMENT", "INVALID_FIELD", "scenario"),
    Case("no model", ESTIMATE, {"scenario": scenario(model_id=None)}, "INVALID_ARGUMENT", "INVALID_FIELD",
         "scenario.model_id"),
    Case("no hardware", ESTIMATE, {"scenario": scenario(hardware_id=None)}, "INVALID_ARGUMENT", "INVALID_FIELD",
         "scenario.hardware_id"),
    Case("no workload", ESTIMATE, {"scenario": scenario(workload=None)}, "INVALID_ARGUMENT", "INVALID_FIELD",
         "scenario.workload.prompt_tokens"),
    Case("unknown model", ESTIMATE, {"scenario": scenario(model_id="llama-3.1-8x")}, "NOT_FOUND", "UNKNOWN_ID",
         "scenario.model_id"),
    Case("unknown hardware", ESTIMATE, {"scenario": scenario(hardware_id="nvidia-h100")}, "NOT_FOUND", "UNKNOWN_ID",
         "scenario.hardware_id"),
    Case("unknown method", ESTIMATE, {"scenario": scenario(method=99)}, "INVALID_ARGUMENT", "INVALID_FIELD",
         "scenario.method"),
    Case("no profile", ESTIMATE, {"scenario": scenario(method="METHOD_LINEAR_PROFILE")}, "FAILED_PRECONDITION",
         "NO_PROFILE", None),
    Case("does not fit", ESTIMATE, {"scenario": scenario(model_id="llama-3.1-405b")}, "FAILED_PRECONDITION",
         "OUT_OF_MEMORY", None),
    Case("NaN SLO", ESTIMATE, {"scenario": scenario(slo={"max_ttft_seconds": math.nan})}, "INVALID_ARGUMENT",
         "INVALID_FIELD", "scenario.slo.max_ttft_seconds"),
    bad_workload("no prompt", "prompt_tokens", prompt_tokens=None),
    bad_workload("no output", "output_tokens", output_tokens=None),
    bad_workload("zero batch", "batch_size", batch_size=0),
    bad_workload("negative batch", "batch_size", batch_size=-1),
    bad_workload("huge batch", "batch_size", batch_size=1_000_001),
    bad_workload("negative prompt", "prompt_tokens", prompt_tokens=-5),
    bad_workload("huge prompt", "prompt_tokens", prompt_tokens=100_000_001),
    bad_workload("zero output", "output_tokens", output_tokens=0),
    bad_workload("huge output", "output_tokens", output_tokens=2**31 - 1),
    bad_workload("whole prompt cached", "cached_prefix_tokens", cached_prefix_tokens=1024),
    bad_workload("NaN rate", "request_rate_per_second", request_rate_per_second=math.nan),
    bad_workload("infinite arrival", "prompt_arrival_tokens_per_second",
                 prompt_arrival_tokens_per_second=math.inf),
    bad_workload("unknown policy", "batching_policy", batching_policy=42),
    bad_deployment("zero tp", "tensor_parallel", tensor_parallel=0),
    bad_deployment("negative tp", "tensor_parallel", tensor_parallel=-2),
    bad_deployment("huge tp", "tensor_parallel", tensor_parallel=100_000),
    bad_deployment("unknown dtype", "weight_dtype", weight_dtype=77),
    bad_deployment("no memory", "memory_utilization", memory_utilization=0.0),
    bad_deployment("too much memory", "memory_utilization", memory_utilization=1.5),
    bad_deployment("NaN exponent", "roofline_exponent", roofline_exponent=math.nan),
    bad_deployment("small exponent", "roofline_exponent", roofline_exponent=0.5),
]


def axis(field, **values):
    return {"field": field, **values}


def bad_axes(name, field, *axes, reason="INVALID_FIELD", code="INVALID_ARGUMENT"):
    return Case(name, SWEEP, {"base": scenario(), "axes": list(axes)}, code, reason, field)


BATCH_AXIS = axis("workload.batch_size", numbers={"values": [1.0, 2.0]})
BATCHES_AND_SWEEPS = [
    Case("no candidate", BATCH, {"base": scenario()}, "INVALID_ARGUMENT", "INVALID_FIELD", "candidates"),
    Case("1,001 candidates", BATCH, {"base": scenario(), "candidates": [{}] * 1001}, "INVALID_ARGUMENT",
         "LIMIT_EXCEEDED", "candidates"),
    Case("same candidate twice", BATCH, {"base": scenario(), "candidates": [{"candidate_id": "a"}] * 2},
         "INVALID_ARGUMENT", "INVALID_FIELD", "candidates[1].candidate_id"),
    bad_axes("no axis", "axes"),
    bad_axes("axis of nothing", "axes[0]", axis("workload.batch_size")),
    bad_axes("empty axis", "axes[0].numbers.values", axis("workload.batch_size", numbers={"values": []})),
    bad_axes("axis twice", "axes[1].field", BATCH_AXIS, BATCH_AXIS),
    bad_axes("unknown field", "axes[0].field", axis("workload.batch", numbers={"values": [1.0]})),
    bad_axes("numbers for an id", "axes[0]", axis("model_id", numbers={"values": [1.0]})),
    bad_axes("NaN on an axis", "axes[0].numbers.values[0]",
             axis("workload.batch_size", numbers={"values": [math.nan]})),
    bad_axes("logarithm of zero", "axes[0].logarithmic.start",
             axis("workload.batch_size", logarithmic={"start": 0.0, "stop": 8.0, "count": 4})),
    bad_axes("too many points", "axes",
             axis("workload.prompt_tokens", linear={"start": 1.0, "stop": 100000.0, "count": 100000}),
             axis("workload.output_tokens", linear={"start": 1.0, "stop": 100000.0, "count": 100000}),
             reason="LIMIT_EXCEEDED"),
    Case("unknown id for all points", SWEEP, {"base": scenario(model_id="no-such-model"), "axes": [BATCH_AXIS]},
         "NOT_FOUND", "UNKNOWN_ID", "base.model_id"),
]


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


class BadRequests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ServerProcess()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__()

    def refusal(self, path, request):
        with self.assertRaises(Refused) as refused:
            if path == SWEEP:
                list(self.server.client.stream(path, **request)[1])
            else:
                self.server.client.call(path, **request)
        return refused.exception

    def check(self, cases):
        for case in cases:
            with self.subTest(case.name):
                refused = self.refusal(case.path, case.request)
                self.assertEqual((refused.code.name, refused.reason), (case.code, case.reason), refused)
                self.assertEqual(refused.domain, "foretoken.v1")
                self.assertTrue(refused.message)
                if case.field is not None:
                    self.assertIn(case.field, refused.fields, refused)
        self.assertEqual(self.server.client.health(), 1)

    def test_scenarios(self):
        self.check(SCENARIOS)

    def test_batches_and_sweeps(self):
        self.check(BATCHES_AND_SWEEPS)

    def test_catalog(self):
        self.check(CATALOG)

    def test_unknown_ids_name_the_closest(self):
        refused = self.refusal(ESTIMATE, {"scenario": scenario(model_id="llama-3.1-8x")})
        self.assertIn("llama-3.1-8b", refused.message)

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
