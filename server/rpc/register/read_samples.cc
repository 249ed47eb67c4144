#include "server/rpc/register/read_samples.h"

#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/rpc/wire/convert.h"

namespace foretoken::rpc {
namespace {

double ReadTime(const char* field, bool has, double value, FieldChecker& fields) {
  return has ? fields.Positive(field, value) : std::numeric_limits<double>::quiet_NaN();
}

Times ReadTimes(const v1::ProfileSample& message, FieldChecker& fields) {
  if (!message.has_ttft_seconds() && !message.has_tpot_seconds() && !message.has_e2e_seconds()) {
    fields.Add("ttft_seconds", "one of ttft_seconds, tpot_seconds and e2e_seconds is required");
  }
  return {ReadTime("ttft_seconds", message.has_ttft_seconds(), message.ttft_seconds(), fields),
          ReadTime("tpot_seconds", message.has_tpot_seconds(), message.tpot_seconds(), fields),
          ReadTime("e2e_seconds", message.has_e2e_seconds(), message.e2e_seconds(), fields)};
}

Workload ReadRun(const v1::ProfileSample& message, FieldChecker& fields) {
  Workload run{.batch_size = fields.Int("batch_size", message.batch_size(), 1, kMaxBatch),
               .prompt_tokens = fields.Int("prompt_tokens", message.prompt_tokens(), 0, kMaxTokens),
               .output_tokens = fields.Int("output_tokens", message.output_tokens(), 1, kMaxTokens)};
  switch (message.batching_policy()) {
    case v1::BATCHING_POLICY_UNSPECIFIED:
    case v1::BATCHING_POLICY_STATIC:
      run.capacity_policy = CapacityPolicy::kWaves;
      // Benchmarks of a batch repeat one prompt, but those of llama.cpp draw each token at random.
      if (!IsLlamaCpp(message.deployment().engine())) run.expert_routing = ExpertRouting::kIdenticalPrompts;
      break;
    case v1::BATCHING_POLICY_CONTINUOUS:
      run.batching = BatchingPolicy::kContinuous;
      break;
    default:
      fields.Add("batching_policy", "allowed: static and continuous batches");
  }
  if (message.has_request_rate_per_second()) {
    run.request_rate_per_second = fields.Positive("request_rate_per_second", message.request_rate_per_second());
    if (run.batching != BatchingPolicy::kContinuous) {
      fields.Add("request_rate_per_second", "allowed with continuous batching only");
    }
  }
  ReadLoop(LoopFieldsOf(message), fields, run);
  return run;
}

}  // namespace

absl::StatusOr<std::vector<Sample>> ReadSamples(const v1::RegisterHardwareRequest& request,
                                                const catalog::Snapshot& snapshot, const Hardware& hardware) {
  if (request.samples_size() > kMaxSamples) {
    return Refusal(Reason::kLimitExceeded, "samples",
                   absl::StrCat(request.samples_size(), " samples; allowed at most ", kMaxSamples));
  }
  std::vector<FieldViolation> violations;
  std::vector<Sample> samples;
  for (int i = 0; i < request.samples_size(); ++i) {
    const v1::ProfileSample& message = request.samples(i);
    const std::string prefix = absl::StrCat("samples[", i, "].");
    const auto model = snapshot.FindModel(message.model_id(), prefix + "model_id");
    if (!model.ok()) return model.status();
    FieldChecker fields(prefix, violations);
    const std::string deployment_prefix = prefix + "deployment.";
    FieldChecker deployment_fields(deployment_prefix, violations);
    Sample sample{.scenario = {.model = &(*model)->model, .hardware = &hardware},
                  .measured = ReadTimes(message, fields)};
    sample.scenario.deployment = ReadDeployment(message.deployment(), deployment_fields);
    sample.scenario.workload = ReadRun(message, fields);
    ResolveDtypes(*sample.scenario.model, sample.scenario.deployment);
    samples.push_back(std::move(sample));
  }
  if (absl::Status status = InvalidFields(violations); !status.ok()) return status;
  return samples;
}

}  // namespace foretoken::rpc
