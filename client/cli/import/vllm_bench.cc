// vLLM's two benchmarks. Time per output token is (end to end - first token) / (output tokens - 1), the mean over
// requests; the end-to-end time is there with --percentile-metrics ...,e2el only.
#include "client/cli/import/formats.h"
#include "client/cli/import/served_fields.h"

namespace foretoken::cli {

void ReadVllmBenchServe(FieldReader& fields, ImportedRun& run) {
  run.model = fields.Text("model_id");
  const auto requests = fields.Count("completed", 1);
  ReadTraffic("request_rate", "max_concurrency", requests, fields, run);
  ReadMeanLengths("total_input_tokens", "total_output_tokens", requests, fields, run);
  ReadNamedTimes("e2el", "_ms", kMilliseconds, fields, run);
  fields.MustBeOff("ramp_up_strategy", "a row has one rate of requests");
  fields.MustBeOff("spec_decode_acceptance_rate", "a row has no column for speculative decoding");
}

void ReadVllmBenchLatency(FieldReader& fields, ImportedRun& run) {
  run.model = fields.Text("model_id");
  run.sample.set_batching_policy(v1::BATCHING_POLICY_STATIC);
  SetMean("e2e", fields.Seconds("avg_latency", 1), run);
  for (const int percent : {50, 90, 99}) {
    SetPercentile("e2e", percent, fields.Seconds("percentiles." + std::to_string(percent), 1), run);
  }
}

}  // namespace foretoken::cli
