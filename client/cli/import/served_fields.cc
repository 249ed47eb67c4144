#include "client/cli/import/served_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"

namespace foretoken::cli {
namespace {

constexpr int kPercents[] = {50, 90, 95, 99};

void SetClosedLoop(int32_t concurrency, std::optional<int32_t> requests, ImportedRun& run) {
  run.sample.set_batch_size(std::min(concurrency, requests.value_or(concurrency)));
  if (requests) run.sample.set_closed_loop_requests(*requests);
}

}  // namespace

void SetPercentile(const std::string& metric, int percent, std::optional<double> seconds, ImportedRun& run) {
  if (seconds) run.percentiles[absl::StrCat(metric, "_p", percent, "_s")] = *seconds;
}

void SetMean(const std::string& metric, std::optional<double> seconds, ImportedRun& run) {
  if (!seconds) return;
  if (metric == "ttft") run.sample.set_ttft_seconds(*seconds);
  if (metric == "tpot") run.sample.set_tpot_seconds(*seconds);
  if (metric == "e2e") run.sample.set_e2e_seconds(*seconds);
}

void ReadNamedTimes(const std::string& e2e, const std::string& suffix, double per_second, FieldReader& fields,
                    ImportedRun& run) {
  for (const std::string metric : {"ttft", "tpot", "itl", "e2e"}) {
    const std::string name = absl::StrCat("_", metric == "e2e" ? e2e : metric, suffix);
    if (metric != "itl") SetMean(metric, fields.Seconds("mean" + name, per_second), run);
    SetPercentile(metric, 50, fields.Seconds("median" + name, per_second), run);
    for (const int percent : kPercents) {
      SetPercentile(metric, percent, fields.Seconds(absl::StrCat("p", percent, name), per_second), run);
    }
  }
}

int32_t WholeTokens(double tokens) {
  return static_cast<int32_t>(
      std::clamp(std::round(tokens), 1.0, static_cast<double>(std::numeric_limits<int32_t>::max())));
}

void ReadMeanLengths(const std::string& prompt_total, const std::string& output_total, std::optional<int32_t> requests,
                     FieldReader& fields, ImportedRun& run) {
  const std::optional<double> prompt = fields.Positive(prompt_total);
  const std::optional<double> output = fields.Positive(output_total);
  if (!requests) return;
  if (prompt) run.sample.set_prompt_tokens(WholeTokens(*prompt / *requests));
  if (output) run.sample.set_output_tokens(WholeTokens(*output / *requests));
}

void ReadTraffic(const std::string& rate, const std::string& concurrency, std::optional<int32_t> requests,
                 FieldReader& fields, ImportedRun& run) {
  run.sample.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  const std::optional<int32_t> at_once = fields.Count(concurrency, 1);
  // As vLLM writes it, and as Python does.
  const bool all_at_once = fields.Is(rate, "inf") || fields.Is(rate, "Infinity");
  const std::optional<double> per_second = all_at_once ? std::nullopt : fields.Positive(rate);
  if (per_second && at_once) {
    fields.AddFault(rate,
                    absl::StrCat(fields.Shown(rate), " and ", concurrency, " ", *at_once,
                                 "; a row is of open traffic or of a closed loop; --ignore-field says which of the "
                                 "two did not bind"));
  } else if (per_second) {
    run.sample.set_batch_size(1);
    run.sample.set_request_rate_per_second(*per_second);
  } else if (at_once) {
    SetClosedLoop(*at_once, requests, run);
  } else if (all_at_once && requests) {
    SetClosedLoop(*requests, requests, run);
  }
}

}  // namespace foretoken::cli
