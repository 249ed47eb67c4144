#include "client/cli/text/estimate_text.h"

#include <gtest/gtest.h>

#include "tests/client/cli/distinct_estimate.h"

namespace foretoken::cli {
namespace {

// Every value of the estimate is another number, so that two that are swapped show.
TEST(EstimateTextTest, EveryValueInItsPlace) {
  EXPECT_EQ(EstimateText(DistinctEstimate(), {}), R"(  TTFT  102 s  103 s to 104 s (10,500%)  time to first token
        179 s                            time to first token, if compute alone limited it
  TPOT  106 s  107 s to 108 s (10,900%)  time per output token
  E2E   110 s  111 s to 112 s (11,300%)  end to end
  Throughput  116 tok/s, 117 tok/s per device (151 devices), 118 tok/s per user, 119 requests/s
  The batch does not fit at once: it runs as 150 sequential batches

Percentiles  of 248 simulated requests
               mean          p50          p90          p95          p99
  TTFT  208 s ±100%  210 s ±100%  212 s ±100%  214 s ±100%  216 s ±100%
  TPOT  218 s ±100%  220 s ±100%  222 s ±100%  224 s ±100%  226 s ±100%
  ITL   228 s ±100%  230 s ±100%  232 s ±100%  234 s ±100%  236 s ±100%
  E2E   238 s ±100%  240 s ±100%  242 s ±100%  244 s ±100%  246 s ±100%

Prefill  120 s, bound by memory
  compute        121 s  19.7%  ########
  memory         122 s  19.8%         ########
  communication  123 s  20.0%                 ########
  host           124 s  20.2%                         ########
  queueing       125 s  20.3%                                 ########

Decode, 114 steps  128 s, bound by queueing
  compute        129 s  19.7%  ########
  memory         130 s  19.8%         ########
  communication  131 s  20.0%                 ########
  host           132 s  20.2%                         ########
  queueing       133 s  20.3%                                 ########

Memory per device  weights 136 B, KV cache 137 B, activations 138 B, free 139 B
  largest batch 140, room for 141 KV tokens, 142 B per KV token over the replica, 144 B of state per sequence, compute-bound from batch 143

Speculative decoding  180 tokens per speculative step, verified in 181 s, drafted in 182 s

Disaggregated  198 prefill devices; a transfer of 183 B of KV cache delays TTFT by 184 s
  prefill 185, transfer 186, decode 187 requests/s; limited by decode

Prefill pool, memory per device  weights 189 B, KV cache 190 B, activations 191 B, free 192 B
  largest batch 193, room for 194 KV tokens, 195 B per KV token over the replica, 197 B of state per sequence, compute-bound from batch 196

Utilisation  memory bandwidth in decode (MBU) 14,500%, FLOPs in prefill (MFU) 14,600%

Energy  at least 199 J per request, 200 J per output token; utilisation 20,100% in prefill, 20,200% in decode

Cost  204 per request, 205 per million output tokens

SLO  MARGINAL, headroom +14,800%, probability 14,900%
  the TPOT needs 206 B/s
  the TTFT needs 207 FLOP/s of peak, if compute alone limited it

warning: text-156 (text-157)
)");
}

// A field that the API gains is shown without a word in the command line.
TEST(EstimateTextTest, AFieldWithoutAColumnIsShownUnderItsPath) {
  const std::vector<std::string> all = PathsWithoutColumn({});
  EXPECT_THAT(all, testing::IsSupersetOf({"mbu", "ttft.band.low", "decode.parts.host_seconds", "calibration_age"}));
  EXPECT_THAT(all, testing::Not(testing::Contains("warnings"))) << "a list";
  EXPECT_THAT(PathsWithoutColumn({"mbu", "ttft.band.low"}), testing::SizeIs(all.size() - 2));
  v1::Estimate estimate;
  estimate.set_mbu(0.25);
  estimate.mutable_ttft()->mutable_band()->set_low(1.5);
  EXPECT_EQ(PathsText(estimate, {"ttft.band.low", "mfu", "mbu"}, {}), "\nOther\n  ttft.band.low  1.5\n  mbu  0.25\n");
  EXPECT_EQ(OtherFieldsText(estimate, {}), "") << "every field of today has a column of its own";
}

TEST(EstimateTextTest, TheFooterNamesMethodEvidenceAndAges) {
  v1::Estimate estimate;
  estimate.set_method(v1::METHOD_OPERATOR_MODEL);
  estimate.mutable_prefill()->set_provenance(v1::PROVENANCE_CALIBRATED);
  estimate.mutable_decode()->set_provenance(v1::PROVENANCE_CALIBRATED);
  estimate.set_calibration_id("gpu.vllm");
  estimate.mutable_calibration_age()->set_seconds(2 * 86400);
  estimate.mutable_live_load_age()->set_seconds(3);
  v1::CatalogRevision revision;
  revision.set_bundle_digest("abc");
  revision.set_store_revision(4);
  EXPECT_EQ(Footer(estimate, revision, {}),
            "\noperator_model, CALIBRATED, calibration gpu.vllm, age 2 days, load observed 3.00 s ago, catalog abc "
            "revision 4\n");
}

TEST(EstimateTextTest, EveryVerdict) {
  v1::Estimate estimate;
  EXPECT_EQ(VerdictCell(estimate).text, "-");
  estimate.mutable_slo_verdict()->set_verdict(v1::VERDICT_FEASIBLE);
  EXPECT_EQ(VerdictCell(estimate).text, "FEASIBLE");
  EXPECT_EQ(VerdictCell(estimate).look, Look::kGood);
  estimate.mutable_slo_verdict()->set_verdict(v1::VERDICT_INFEASIBLE);
  EXPECT_EQ(VerdictCell(estimate).text, "INFEASIBLE");
  EXPECT_EQ(VerdictCell(estimate).look, Look::kBad);
  estimate.mutable_slo_verdict()->set_verdict(v1::VERDICT_UNKNOWN);
  EXPECT_EQ(VerdictCell(estimate).text, "UNKNOWN");
  EXPECT_EQ(VerdictCell(estimate).look, Look::kWarn);
}

}  // namespace
}  // namespace foretoken::cli
