"""Bad requests: each gets its code, its reason and the path of the field at fault, and the server goes on serving."""

import math
import unittest

from support.bad_requests import SWEEP, BadRequestTestCase, Case
from support.scenarios import hardware, scenario
from support.server_process import API

ESTIMATE = "EstimatorService/Estimate"
BATCH = "EstimatorService/BatchEstimate"
SOLVE = "EstimatorService/Solve"
SIMULATE = "EstimatorService/Simulate"


def workload(**changes):
    fields = {"batch_size": 8, "prompt_tokens": 1024, "output_tokens": 128, **changes}
    return {key: value for key, value in fields.items() if value is not None}


def bad_workload(name, field, **changes):
    return Case(name, ESTIMATE, {"scenario": scenario(workload=workload(**changes))}, "INVALID_ARGUMENT",
                "INVALID_FIELD", f"scenario.workload.{field}")


def bad_deployment(name, field, **changes):
    return Case(name, ESTIMATE, {"scenario": scenario(deployment=changes)}, "INVALID_ARGUMENT", "INVALID_FIELD",
                f"scenario.deployment.{field}")


def bad_load(name, field, **changes):
    load = {"running_sequences": 3, "running_context_tokens": 1000.0, **changes}
    return Case(name, ESTIMATE, {"scenario": scenario(live_load=load)}, "INVALID_ARGUMENT", "INVALID_FIELD",
                f"scenario.live_load.{field}")


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
    bad_deployment("imbalance of one device", "expert_load_imbalance", expert_load_imbalance=1.5),
    bad_deployment("unknown exchange", "expert_exchange", expert_exchange=9),
    bad_deployment("NaN imbalance", "expert_load_imbalance", expert_load_imbalance=math.nan),
    bad_deployment("more stages than layers", "pipeline_parallel", pipeline_parallel=33),
    bad_deployment("price past all numbers", "price_per_device_hour", price_per_device_hour=1e308),
    bad_deployment("smallest network", "scale_out_bytes_per_second", scale_out_bytes_per_second=5e-324),
    bad_workload("smallest share", "compute_utilization", compute_utilization=5e-324),
    bad_workload("share of infinite times", "compute_utilization", compute_utilization=1e-310),
    bad_deployment("smallest memory", "memory_utilization", memory_utilization=1e-310),
    bad_workload("smallest tokenizer", "tokenizer_tokens_per_second", tokenizer_tokens_per_second=5e-324),
    bad_workload("less than a token on average", "output_length_distribution.mean_tokens",
                 output_length_distribution={"mean_tokens": 1e-9}),
    bad_workload("longest output past all numbers", "output_length_distribution.max_tokens",
                 output_length_distribution={"mean_tokens": 10.0, "max_tokens": 1e308}),
    bad_workload("quantile past the longest output", "output_length_distribution.quantiles[1].tokens",
                 output_length_distribution={"mean_tokens": 50.0, "max_tokens": 100.0, "quantiles": [
                     {"probability": 0.5, "tokens": 50.0}, {"probability": 1.0, "tokens": 150.0}]}),
    bad_workload("mean below its quantiles", "output_length_distribution.mean_tokens",
                 output_length_distribution={"mean_tokens": 2.0, "quantiles": [
                     {"probability": 0.5, "tokens": 80.0}, {"probability": 0.9, "tokens": 150.0}]}),
    bad_workload("mean above its quantiles", "output_length_distribution.mean_tokens",
                 output_length_distribution={"mean_tokens": 199.0, "max_tokens": 200.0, "quantiles": [
                     {"probability": 0.5, "tokens": 80.0}, {"probability": 0.9, "tokens": 150.0}]}),
    bad_load("more running than run", "running_sequences", running_sequences=9, max_num_seqs=8),
    bad_load("context past all whole numbers", "running_context_tokens", running_context_tokens=1e308),
    bad_load("decode without end", "remaining_output_tokens", remaining_output_tokens=1e308),
    bad_load("before the year 1", "time_observed.seconds", time_observed={"seconds": -2**63}),
    Case("smallest SLO", ESTIMATE, {"scenario": scenario(slo={"max_e2e_seconds": 5e-324})}, "INVALID_ARGUMENT",
         "INVALID_FIELD", "scenario.slo.max_e2e_seconds"),
    Case("stages of the prefill side", ESTIMATE,
         {"scenario": scenario(disaggregated_prefill={"deployment": {"pipeline_parallel": 33},
                                                      "transfer_bytes_per_second": 1e9})},
         "INVALID_ARGUMENT", "INVALID_FIELD", "scenario.disaggregated_prefill.deployment.pipeline_parallel"),
    Case("devices past all integers", ESTIMATE,
         {"scenario": scenario(deployment={"data_parallel": 1024, "tensor_parallel": 1024},
                               disaggregated_prefill={"decode_replicas": 10**6, "transfer_bytes_per_second": 1e9})},
         "INVALID_ARGUMENT", "INVALID_FIELD", "scenario.disaggregated_prefill.decode_replicas"),
    Case("smallest bandwidth", ESTIMATE,
         {"scenario": scenario(hardware_id=None,
                               hardware_spec=hardware("inline", memory_bandwidth_bytes_per_second=5e-324))},
         "INVALID_ARGUMENT", "INVALID_FIELD", "scenario.hardware_spec.memory_bandwidth_bytes_per_second"),
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
    bad_axes("many axes", "axes", *[{}] * 65, reason="LIMIT_EXCEEDED"),
    Case("many metrics", SWEEP, {"base": scenario(), "axes": [BATCH_AXIS], "metrics": ["METRIC_TTFT_SECONDS"] * 1000},
         "INVALID_ARGUMENT", "LIMIT_EXCEEDED", "metrics"),
    Case("many calibrations", SWEEP,
         {"base": scenario(hardware_id=None, hardware_spec=hardware("inline", calibrations=[{}] * 201)),
          "axes": [BATCH_AXIS]}, "INVALID_ARGUMENT", "INVALID_FIELD", "base.hardware_spec.calibrations"),
    bad_axes("many texts", "axes[0].texts.values", axis("model_id", texts={"values": [""] * 250_001}),
             reason="LIMIT_EXCEEDED"),
    bad_axes("axis twice", "axes[1].field", BATCH_AXIS, BATCH_AXIS),
    bad_axes("unknown field", "axes[0].field", axis("workload.batch", numbers={"values": [1.0]})),
    bad_axes("numbers for an id", "axes[0]", axis("model_id", numbers={"values": [1.0]})),
    bad_axes("NaN on an axis", "axes[0].numbers.values[0]",
             axis("workload.batch_size", numbers={"values": [math.nan]})),
    bad_axes("logarithm of zero", "axes[0].logarithmic.start",
             axis("workload.batch_size", logarithmic={"start": 0.0, "stop": 8.0, "count": 4})),
    bad_axes("range past the integers", "axes[0].linear",
             axis("workload.output_tokens", linear={"start": 1.0, "stop": 1e100, "count": 3})),
    bad_axes("too many points", "axes",
             axis("workload.prompt_tokens", linear={"start": 1.0, "stop": 100000.0, "count": 100000}),
             axis("workload.output_tokens", linear={"start": 1.0, "stop": 100000.0, "count": 100000}),
             reason="LIMIT_EXCEEDED"),
    Case("unknown id for all points", SWEEP, {"base": scenario(model_id="no-such-model"), "axes": [BATCH_AXIS]},
         "NOT_FOUND", "UNKNOWN_ID", "base.model_id"),
]


class BadRequests(BadRequestTestCase):
    def test_scenarios(self):
        self.check(SCENARIOS)

    def test_batches_and_sweeps(self):
        self.check(BATCHES_AND_SWEEPS)

    def test_a_million_faults_cost_no_more_than_they_take_to_read(self):
        """4 MB of empty axes: the server's memory grows by what the request takes, not by a text for each."""
        before = self.server.peak_memory_bytes()
        self.check([bad_axes("a million axes", "axes", *[{}] * 1_000_000, reason="LIMIT_EXCEEDED")])
        self.assertLess(self.server.peak_memory_bytes() - before, 300 << 20)

    def test_faults_past_what_a_reply_holds_are_said_to_be_more(self):
        axes = [axis("workload.batch_size", numbers={"values": [1.0] + [0.0] * 1000})]
        refused = self.refusal(SWEEP, {"base": scenario(), "axes": axes})
        self.assertIn("And at least 251 more", refused.message)

    def test_what_is_quoted_is_printable_and_short(self):
        odd = "\x1b[2J\n" + "a" * 1000
        for path, request in ((SWEEP, {"base": scenario(), "axes": [axis(odd, numbers={"values": [1.0]})]}),
                              (BATCH, {"base": scenario(), "candidates": [{"candidate_id": odd}] * 2})):
            message = self.refusal(path, request).message
            self.assertTrue(message.isprintable(), message)
            self.assertIn('"?[2J?aaa', message)
            self.assertLess(len(message), 600)

    def test_solve(self):
        def solve(name, field, **request):
            return Case(name, SOLVE, {"base": scenario(), **request}, "INVALID_ARGUMENT", "INVALID_FIELD", field)

        self.check([
            solve("nothing", "solve_for"),
            solve("range of hardware", "max_value", solve_for="SOLVE_FOR_HARDWARE", max_value=2.0),
            solve("candidates of a number", "candidates", solve_for="SOLVE_FOR_BATCH_SIZE",
                  candidates=[{"hardware_id": "a"}]),
            solve("part of a sequence", "min_value", solve_for="SOLVE_FOR_BATCH_SIZE", min_value=1.5),
            Case("prefix past the integers", SOLVE,
                 {"base": scenario(workload={"batch_size": 1, "output_tokens": 5, "cached_prefix_tokens": 2**31 - 1}),
                  "solve_for": "SOLVE_FOR_PROMPT_TOKENS"}, "INVALID_ARGUMENT", "INVALID_FIELD",
                 "base.workload.cached_prefix_tokens"),
        ])

    def test_simulate(self):
        served = scenario(workload=workload(batching_policy="BATCHING_POLICY_CONTINUOUS"))

        def simulate(name, field, **simulation):
            return Case(name, SIMULATE, {"scenario": served, "simulation": simulation}, "INVALID_ARGUMENT",
                        "INVALID_FIELD", f"simulation.{field}")

        self.check([
            simulate("no requests", "requests", requests=0),
            simulate("more steps than allowed", "max_steps", max_steps=10**15),
            simulate("a rate of nothing", "open_loop.requests_per_second", open_loop={"requests_per_second": 0.0}),
            simulate("a trace that goes back", "trace.requests[1].arrival_seconds", trace={"requests": [
                {"arrival_seconds": 2.0, "prompt_tokens": 1, "output_tokens": 1},
                {"arrival_seconds": 1.0, "prompt_tokens": 1, "output_tokens": 1}]}),
            simulate("lengths of no shape", "output_lengths", output_lengths={}),
            Case("a static batch", SIMULATE, {"scenario": scenario(workload=workload())}, "UNIMPLEMENTED",
                 "NOT_MODELLED", "scenario.workload.batching_policy"),
        ])

    def test_paths_of_refused_candidates(self):
        base = scenario(hardware_id=None)
        h100 = {"hardware_id": "nvidia-h100-sxm-80gb", "price_per_device_hour": 1.0}
        candidates = [({"hardware_id": "no-such", "price_per_device_hour": 1.0}, "hardware_id"),
                      ({**h100, "deployment": {"tensor_parallel": 0}}, "deployment.tensor_parallel"),
                      ({**h100, "deployment": {"pipeline_parallel": 33}}, "deployment.pipeline_parallel")]
        reply = self.server.client.call(SOLVE, base=base, solve_for="SOLVE_FOR_HARDWARE",
                                        candidates=[candidate for candidate, _ in candidates])
        for i, (result, (_, path)) in enumerate(zip(reply.candidate_results, candidates, strict=True)):
            bad = API.message_class("google.rpc.BadRequest")()
            self.assertTrue(any(detail.Unpack(bad) for detail in result.status.details if detail.Is(bad.DESCRIPTOR)))
            self.assertEqual([violation.field for violation in bad.field_violations], [f"candidates[{i}].{path}"])

    def test_unknown_ids_name_the_closest(self):
        refused = self.refusal(ESTIMATE, {"scenario": scenario(model_id="llama-3.1-8x")})
        self.assertIn("llama-3.1-8b", refused.message)


if __name__ == "__main__":
    unittest.main()
