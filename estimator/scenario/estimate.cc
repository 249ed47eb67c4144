#include "estimator/scenario/estimate.h"

#include "absl/strings/str_cat.h"

namespace foretoken {

void WarnOfContext(const Model& model, const Workload& workload, std::vector<Warning>& warnings) {
  const double context = static_cast<double>(workload.prompt_tokens) + workload.output_tokens;
  const std::optional<int> longest = model.max_position_embeddings;
  if (!longest || context <= *longest) return;
  warnings.push_back({WarningCode::kContextTooLong,
                      absl::StrCat("context of ", context, " tokens; ", model.id, " was made for ", *longest),
                      "workload.prompt_tokens"});
}

Bound TimeParts::LargestPart() const {
  Bound bound = Bound::kCompute;
  Seconds largest = compute;
  const auto consider = [&](Seconds part, Bound candidate) {
    if (part <= largest) return;
    largest = part;
    bound = candidate;
  };
  consider(memory, Bound::kMemory);
  consider(communication, Bound::kCommunication);
  consider(host, Bound::kHost);
  consider(queueing, Bound::kQueueing);
  return bound;
}

Throughput ThroughputOf(double requests_per_second, double output_tokens, int devices, Seconds tpot) {
  const double tokens = requests_per_second * output_tokens;
  return {.output_tokens_per_second = tokens,
          .output_tokens_per_second_per_device = tokens / devices,
          .output_tokens_per_second_per_user = 1 / tpot.value(),
          .requests_per_second = requests_per_second};
}

}  // namespace foretoken
