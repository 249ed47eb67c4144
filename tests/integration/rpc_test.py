"""An independent client calls every RPC and looks at the shape of what comes back."""

import math
import struct
import unittest

from support.foretoken_api import Refused, as_dict
from support.scenarios import hardware, model, scenario
from support.server_process import API, ServerTestCase

CALLED = set()


class EveryRpc(ServerTestCase):
    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        assert CALLED == set(API.methods()), f"not called: {set(API.methods()) - CALLED}"

    def call(self, path, **fields):
        CALLED.add(path)
        return self.server.client.call(path, **fields)

    def test_estimate(self):
        reply = self.call("EstimatorService/Estimate", scenario=scenario(slo={"max_ttft_seconds": 10.0}),
                          include_operators=True, include_token_latencies=True)
        estimate = reply.estimate
        self.assertGreater(estimate.ttft.seconds, 0)
        self.assertEqual(estimate.decode_steps, 127)
        self.assertAlmostEqual(estimate.e2e.seconds,
                               estimate.ttft.seconds + estimate.decode_steps * estimate.tpot.seconds, delta=1e-9)
        for phase in (estimate.prefill, estimate.decode):
            parts = phase.parts
            total = (parts.compute_seconds + parts.memory_seconds + parts.communication_seconds + parts.host_seconds
                     + parts.queueing_seconds)
            self.assertLess(abs(total / phase.seconds - 1), 1e-9)
            self.assertNotEqual(phase.bound, 0)
            self.assertNotEqual(phase.provenance, 0)
        self.assertEqual(len(estimate.token_latency_seconds), 128)
        self.assertTrue(estimate.prefill_operators and estimate.decode_operators)
        self.assertEqual(estimate.slo_verdict.verdict, 1)
        self.assertEqual(len(reply.catalog_revision.bundle_digest), 64)

    def test_absent_is_not_zero(self):
        estimate = self.call("EstimatorService/Estimate", scenario=scenario()).estimate
        self.assertFalse(estimate.HasField("slo_verdict"))
        self.assertFalse(estimate.HasField("live_load_age"))
        self.assertFalse(estimate.HasField("compute_limited_ttft_seconds"))
        self.assertEqual(len(estimate.prefill_operators), 0)

    def test_batch_estimate(self):
        candidates = [{"candidate_id": "h100"}, {"candidate_id": "nowhere", "hardware_id": "no-such-hardware"},
                      {"candidate_id": "a100", "hardware_id": "nvidia-a100-sxm-80gb"}]
        reply = self.call("EstimatorService/BatchEstimate", base=scenario(), candidates=candidates,
                          rank_by="RANK_BY_TPOT")
        self.assertEqual([result.candidate_id for result in reply.results], ["h100", "nowhere", "a100"])
        self.assertEqual([result.WhichOneof("result") for result in reply.results], ["estimate", "status", "estimate"])
        self.assertEqual(reply.results[1].status.code, 5)
        self.assertEqual(list(reply.ranking), [0, 2, 1])
        self.assertEqual(len(reply.catalog_revision.bundle_digest), 64)

    def test_solve(self):
        base = scenario(slo={"max_tpot_seconds": 0.02})
        reply = self.call("EstimatorService/Solve", base=base, solve_for="SOLVE_FOR_BATCH_SIZE")
        self.assertTrue(reply.satisfied)
        self.assertLessEqual(reply.estimate.tpot.seconds, 0.02)
        self.assertEqual(reply.estimate.slo_verdict.verdict, 1)
        self.assertNotEqual(reply.binding_constraint, 0)
        self.assertEqual(len(reply.catalog_revision.bundle_digest), 64)

    def test_simulate(self):
        workload = {"batch_size": 8, "prompt_tokens": 1000, "output_tokens": 100,
                    "batching_policy": "BATCHING_POLICY_CONTINUOUS"}
        reply = self.call("EstimatorService/Simulate", scenario=scenario(workload=workload),
                          simulation={"requests": 200, "output_lengths": {"uniform": {"low_tokens": 10,
                                                                                      "high_tokens": 200}}})
        self.assertEqual(reply.requests, 200)
        self.assertLess(reply.ttft.p50.seconds, reply.ttft.p99.seconds)
        self.assertLess(reply.e2e.p50.seconds, reply.e2e.p90.seconds)
        self.assertEqual(reply.end, 1)
        self.assertEqual(len(reply.catalog_revision.bundle_digest), 64)

    def sweep(self, **fields):
        CALLED.add("EstimatorService/Sweep")
        return list(self.server.client.stream("EstimatorService/Sweep", **fields)[1])

    def test_sweep(self):
        axes = [{"field": "hardware_id", "texts": {"values": ["nvidia-h100-sxm-80gb", "nvidia-a100-sxm-40gb"]}},
                {"field": "workload.batch_size", "linear": {"start": 1, "stop": 2000, "count": 2000}}]
        messages = self.sweep(base=scenario(slo={"max_tpot_seconds": 0.05}), axes=axes,
                              metrics=["METRIC_TTFT_SECONDS", "METRIC_TPOT_SECONDS"])
        self.assertEqual(messages[0].WhichOneof("part"), "header")
        self.assertEqual(messages[-1].WhichOneof("part"), "summary")
        header, chunks, summary = messages[0].header, [m.chunk for m in messages[1:-1]], messages[-1].summary
        self.assertEqual(header.total_points, 4000)
        self.assertEqual(list(header.axes[1].numbers.values), list(range(1, 2001)))
        self.assertEqual(sum(chunk.num_points for chunk in chunks), 4000)
        self.assertEqual([chunk.first_point for chunk in chunks], [2048 * i for i in range(len(chunks))])
        self.assertEqual(chunks[-1].progress, 1)
        self.check_points(chunks)
        self.assertEqual(summary.ok_points + summary.refused_points, 4000)
        self.assertGreater(summary.refused_points, 0)
        self.assertTrue(summary.HasField("best_under_slo"))
        self.check_frontier(summary.frontier)

    def check_points(self, chunks):
        errors = sum(len(chunk.errors) for chunk in chunks)
        self.assertEqual(errors, 10)
        for chunk in chunks:
            self.assertEqual([column.metric for column in chunk.columns], [1, 2])
            for i in range(chunk.num_points):
                status, reason = self.value_at(chunk.statuses, i), self.value_at(chunk.reasons, i)
                values = [column.values[i] for column in chunk.columns]
                self.assertEqual(status == 0, all(math.isfinite(value) and value > 0 for value in values))
                self.assertEqual(status == 0, reason == 0)
                if status != 0:
                    self.assertTrue(all(self.is_quiet_nan(value) for value in values))

    @staticmethod
    def value_at(column, point):
        """Of a column that has a value a point, or one for all."""
        return column[0] if len(column) == 1 else column[point]

    @staticmethod
    def is_quiet_nan(value):
        bits = struct.unpack("<Q", struct.pack("<d", value))[0]
        return math.isnan(value) and bool(bits & (1 << 51))

    def check_frontier(self, frontier):
        latencies = [point.latency_seconds for point in frontier]
        rates = [point.output_tokens_per_second_per_device for point in frontier]
        self.assertTrue(frontier)
        self.assertEqual(latencies, sorted(latencies))
        self.assertEqual(rates, sorted(rates))

    def test_hardware_entries(self):
        self.check_entries("Hardware", "ListHardware", hardware("test-accelerator"), "hardware_id")

    def test_model_entries(self):
        self.check_entries("Model", "ListModels", model("test-model"), "model_id")

    def check_entries(self, kind, list_rpc, spec, id_field):
        """Create, read, compare-and-swap, repeat, list, delete."""
        service = "CatalogService/"
        dry = self.call(service + f"Register{kind}", spec=spec, validate_only=True)
        self.assertEqual(dry.entry.spec.id, spec["id"])
        with self.assertRaises(Refused):
            self.call(service + f"Get{kind}", **{id_field: spec["id"]})
        created = self.call(service + f"Register{kind}", spec=spec, request_id=f"create-{kind}")
        again = self.call(service + f"Register{kind}", spec=spec, request_id=f"create-{kind}")
        self.assertEqual(as_dict(created.entry), as_dict(again.entry))
        got = self.call(service + f"Get{kind}", **{id_field: spec["id"]})
        self.assertEqual(as_dict(got.entry), as_dict(created.entry))
        self.assertTrue(got.entry.HasField("update_time"))
        replaced = self.call(service + f"Register{kind}", spec={**spec, "notes": "again"}, etag=created.entry.etag)
        self.assertNotEqual(replaced.entry.etag, created.entry.etag)
        self.assertGreater(replaced.catalog_revision.store_revision, created.catalog_revision.store_revision)
        self.check_pages(service + list_rpc, spec["id"])
        self.check_history(kind, id_field, created, replaced)
        self.call(service + f"Delete{kind}", **{id_field: spec["id"]})
        with self.assertRaises(Refused) as gone:
            self.call(service + f"Get{kind}", **{id_field: spec["id"]})
        self.assertEqual(gone.exception.reason, "UNKNOWN_ID")

    def check_history(self, kind, id_field, created, replaced):
        """What was written is listed page by page, read as it was, and put back."""
        service, named = "CatalogService/", {id_field: created.entry.spec.id}
        first, second = (reply.catalog_revision.store_revision for reply in (created, replaced))
        page = self.call(service + "ListRevisions", page_size=1, **named)
        self.assertEqual([(r.store_revision, list(r.changed_fields)) for r in page.revisions], [(second, ["notes"])])
        rest = self.call(service + "ListRevisions", page_size=1, page_token=page.next_page_token, **named).revisions
        self.assertEqual([(r.store_revision, r.etag) for r in rest], [(first, created.entry.etag)])
        self.assertEqual(self.call(service + f"Get{kind}", store_revision=first, **named).entry, created.entry)
        with self.assertRaises(Refused) as before:
            self.call(service + f"Get{kind}", store_revision=first - 1, **named)
        self.assertEqual(before.exception.reason, "UNKNOWN_ID")
        undone = self.call(service + f"Rollback{kind}", store_revision=first, etag=replaced.entry.etag, **named)
        self.assertEqual(undone.entry.spec, created.entry.spec)
        self.assertNotIn(undone.entry.etag, (created.entry.etag, replaced.entry.etag))
        with self.assertRaises(Refused) as raced:
            self.call(service + f"Rollback{kind}", store_revision=first, etag=replaced.entry.etag, **named)
        self.assertEqual((raced.exception.code.name, raced.exception.metadata["current_etag"]),
                         ("ABORTED", undone.entry.etag))
        status = self.call(service + "GetCatalogStatus")
        self.assertEqual((status.store_kind, status.last_error), ("sqlite", ""))

    def test_calibrations(self):
        """Those that ship, and those registered with their hardware: all listed, each readable, each with its use."""
        samples = [{"model_id": "llama-3.1-8b", "batch_size": batch, "prompt_tokens": 512, "output_tokens": 64,
                    "ttft_seconds": 0.05 * batch, "tpot_seconds": 0.02, "deployment": {"engine": "lab@2"}}
                   for batch in (1, 4, 8)]
        self.call("CatalogService/RegisterHardware", spec=hardware("test-fitted"), samples=samples)
        self.check_pages("CatalogService/ListCalibrations", "test-fitted.lab-2")
        got = self.call("CatalogService/GetCalibration", calibration_id="test-fitted.lab-2").entry
        self.assertEqual((got.spec.hardware_id, got.spec.engine, got.spec.samples_used), ("test-fitted", "lab@2", 3))
        shipped = self.call("CatalogService/GetCalibration", calibration_id="vllm").entry
        self.assertFalse(shipped.spec.hardware_id)
        self.assertTrue(shipped.spec.parameters)
        with self.assertRaises(Refused) as unknown:
            self.call("CatalogService/GetCalibration", calibration_id="none")
        self.assertEqual(unknown.exception.reason, "UNKNOWN_ID")

    def check_pages(self, list_rpc, registered):
        """Pages of 50 give every entry once, by id, ours among them."""
        ids, token = [], ""
        for _ in range(100):
            page = self.call(list_rpc, page_size=50, page_token=token)
            ids += [entry.spec.id for entry in page.entries]
            token = page.next_page_token
            if not token:
                break
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(len(ids), page.total_size)
        self.assertIn(registered, ids)
        only = self.call(list_rpc, id_contains=registered)
        self.assertEqual([entry.spec.id for entry in only.entries], [registered])

    def test_registered_samples_answer_by_the_linear_profile(self):
        """Samples of an exact line: PTPS 20,000 tokens/s; the profile then answers for the pair."""
        samples = [{"model_id": "llama-3.1-8b", "batch_size": 1, "prompt_tokens": n, "output_tokens": 11,
                    "ttft_seconds": n / 20000, "tpot_seconds": 0.01, "deployment": {"engine": "vllm@0.12.0"}}
                   for n in (256, 512, 1024, 2048)]
        reply = self.call("CatalogService/RegisterHardware", spec=hardware("test-profiled"), samples=samples)
        self.assertAlmostEqual(reply.report.prefill.slope, 20000, delta=1e-6 * 20000)
        self.assertAlmostEqual(reply.report.prefill.r2, 1, delta=1e-9)
        self.assertEqual(len(reply.entry.spec.linear_profiles), 1)
        estimate = self.call("EstimatorService/Estimate", scenario=scenario(
            hardware_id="test-profiled", deployment={"engine": "vllm@0.12.0"},
            workload={"batch_size": 1, "prompt_tokens": 1000, "output_tokens": 10},
            method="METHOD_LINEAR_PROFILE")).estimate
        self.assertAlmostEqual(estimate.ttft.seconds, 0.05, delta=1e-6)
        self.assertEqual(estimate.decode_steps, 10)
        self.assertFalse(estimate.prefill.HasField("parts"))


if __name__ == "__main__":
    unittest.main()
