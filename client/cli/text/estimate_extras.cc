// What an estimate says of speculative decoding, disaggregated serving, energy and cost.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

std::string RoundText(const v1::SpeculativeRound& round, const Terminal& terminal) {
  return absl::StrCat("\n", terminal.Paint("Speculative decoding", Look::kBold), "  ",
                      FormatCount(round.accepted_tokens()), " tokens a round, verified in ",
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
  return absl::StrCat("\n", terminal.Paint("Disaggregated", Look::kBold), "  KV cache of ",
                      FormatBytes(use.transfer_bytes()), " sent, ", FormatSeconds(use.exposed_transfer_seconds()),
                      " of it waited for\n  ", RatesText(use), "\n  prefill side: ", use.prefill_devices(),
                      " devices, each weights ", FormatBytes(use.prefill_memory().weight_bytes()), ", KV cache ",
                      FormatBytes(use.prefill_memory().kv_cache_bytes()), "\n");
}

}  // namespace

std::string SidesText(const v1::Estimate& estimate, const Terminal& terminal) {
  return absl::StrCat(
      estimate.has_speculative_round() ? RoundText(estimate.speculative_round(), terminal) : "",
      estimate.has_disaggregated_use() ? DisaggregatedText(estimate.disaggregated_use(), terminal) : "");
}

std::string SpendText(const v1::Estimate& estimate, const Terminal& terminal) {
  std::string text;
  if (estimate.has_energy()) {
    const char* bound = estimate.energy().is_lower_bound() ? "at least " : "";
    absl::StrAppend(&text, "\n", terminal.Paint("Energy", Look::kBold), "  ", bound,
                    FormatCount(estimate.energy().joules_per_request()), " J a request, ",
                    FormatCount(estimate.energy().joules_per_output_token()), " J an output token\n");
  }
  if (estimate.has_cost()) {
    absl::StrAppend(&text, "\n", terminal.Paint("Cost", Look::kBold), "  ",
                    FormatCount(estimate.cost().cost_per_request()), " a request, ",
                    FormatCount(estimate.cost().cost_per_million_output_tokens()), " a million output tokens\n");
  }
  return text;
}

}  // namespace foretoken::cli
