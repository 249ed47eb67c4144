// The parts of an estimate that only some scenarios have: speculative decoding, disaggregated serving, energy, cost.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

std::string RoundText(const v1::SpeculativeRound& round, const Terminal& terminal) {
  return absl::StrCat("\n", terminal.Paint("Speculative decoding", Look::kBold), "  ",
                      FormatCount(round.accepted_tokens()), " tokens per speculative step, verified in ",
                      FormatSeconds(round.verify_seconds()), ", drafted in ", FormatSeconds(round.draft_seconds()),
                      "\n");
}

std::string RatesText(const v1::DisaggregatedUse& use) {
  std::vector<std::string> rates = {absl::StrCat("prefill ", FormatCount(use.prefill_requests_per_second()))};
  if (use.has_transfer_requests_per_second()) {
    rates.push_back(absl::StrCat("transfer ", FormatCount(use.transfer_requests_per_second())));
  }
  if (use.has_decode_requests_per_second()) {
    rates.push_back(absl::StrCat("decode ", FormatCount(use.decode_requests_per_second())));
  }
  return absl::StrCat(absl::StrJoin(rates, ", "), " requests/s; limited by ", EnumText(use.limit()));
}

std::string DisaggregatedText(const v1::DisaggregatedUse& use, const Terminal& terminal) {
  return absl::StrCat("\n", terminal.Paint("Disaggregated", Look::kBold), "  ", use.prefill_devices(),
                      " prefill devices; a transfer of ", FormatBytes(use.transfer_bytes()),
                      " of KV cache delays TTFT by ", FormatSeconds(use.exposed_transfer_seconds()), "\n  ",
                      RatesText(use), "\n",
                      MemoryText("Prefill pool, memory per device", use.prefill_memory(), terminal));
}

}  // namespace

std::string SecondaryText(const v1::Estimate& estimate, const Terminal& terminal) {
  return absl::StrCat(
      estimate.has_speculative_round() ? RoundText(estimate.speculative_round(), terminal) : "",
      estimate.has_disaggregated_use() ? DisaggregatedText(estimate.disaggregated_use(), terminal) : "");
}

std::string SpendText(const v1::Estimate& estimate, const Terminal& terminal) {
  std::string text;
  if (estimate.has_energy()) {
    const char* bound = estimate.energy().is_lower_bound() ? "at least " : "";
    absl::StrAppend(&text, "\n", terminal.Paint("Energy", Look::kBold), "  ", bound,
                    FormatCount(estimate.energy().joules_per_request()), " J per request, ",
                    FormatCount(estimate.energy().joules_per_output_token()), " J per output token; utilisation ",
                    FormatPercent(estimate.energy().prefill_utilization()), " in prefill, ",
                    FormatPercent(estimate.energy().decode_utilization()), " in decode\n");
  }
  if (estimate.has_cost()) {
    absl::StrAppend(&text, "\n", terminal.Paint("Cost", Look::kBold), "  ",
                    FormatCount(estimate.cost().cost_per_request()), " per request, ",
                    FormatCount(estimate.cost().cost_per_million_output_tokens()), " per million output tokens\n");
  }
  return text;
}

}  // namespace foretoken::cli
