#include "tests/profile/fake_faults.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace foretoken::fake {
namespace {

struct Name {
  const char* name;
  double FakeFaults::*value;
};

constexpr Name kNames[] = {
    {"http_429", &FakeFaults::http_429},
    {"http_500", &FakeFaults::http_500},
    {"early_stop", &FakeFaults::early_stop},
    {"reset", &FakeFaults::reset},
    {"truncated_body", &FakeFaults::truncated_body},
    {"endless_event", &FakeFaults::endless_event},
    {"huge_event", &FakeFaults::huge_event},
    {"wrong_json", &FakeFaults::wrong_json},
    {"error_event", &FakeFaults::error_event},
    {"without_usage", &FakeFaults::without_usage},
    {"after_events", &FakeFaults::after_events},
    {"retry_after_seconds", &FakeFaults::retry_after_seconds},
    {"stream_interval", &FakeFaults::stream_interval},
    {"hold_back_seconds", &FakeFaults::hold_back_seconds},
    {"early_role", &FakeFaults::early_role},
    {"stall_every_steps", &FakeFaults::stall_every_steps},
    {"stall_seconds", &FakeFaults::stall_seconds},
    {"drift_per_minute", &FakeFaults::drift_per_minute},
    {"prefix_caching", &FakeFaults::prefix_caching},
    {"added_prompt_tokens", &FakeFaults::added_prompt_tokens},
    {"tokens_per_word", &FakeFaults::tokens_per_word},
    {"without_metrics", &FakeFaults::without_metrics},
};

}  // namespace

absl::Status SetFaults(std::string_view text, FakeFaults& faults) {
  for (const absl::string_view entry :
       absl::StrSplit(absl::string_view(text.data(), text.size()), ',', absl::SkipEmpty())) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    const auto* found = std::find_if(std::begin(kNames), std::end(kNames),
                                     [&](const Name& known) { return parts.first == known.name; });
    double value = 0;
    if (found == std::end(kNames)) {
      return absl::InvalidArgumentError(absl::StrCat("fault \"", parts.first, "\"; allowed: ", FaultNames()));
    }
    if (!absl::SimpleAtod(parts.second, &value) || !std::isfinite(value) || value < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("fault ", parts.first, "=\"", parts.second, "\"; allowed: a number from 0"));
    }
    faults.*found->value = value;
  }
  return absl::OkStatus();
}

std::string FaultNames() {
  std::string names;
  for (const Name& known : kNames) absl::StrAppend(&names, names.empty() ? "" : ", ", known.name);
  return names;
}

bool IsOfShare(double share, int64_t request) {
  const auto before = static_cast<double>(request);
  return std::floor((before + 1) * share + 1e-9) > std::floor(before * share + 1e-9);
}

}  // namespace foretoken::fake
