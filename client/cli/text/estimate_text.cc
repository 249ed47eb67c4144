#include "client/cli/text/estimate_text.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/format.h"
#include "client/cli/text/simulation_text.h"
#include "client/cli/text/waterfall.h"

namespace foretoken::cli {
namespace {

std::string BandText(const v1::TimeEstimate& time) {
  if (!time.has_band()) return "";
  const v1::Band& band = time.band();
  return absl::StrCat(FormatSeconds(band.low()), " to ", FormatSeconds(band.high()), " (",
                      FormatPercent(band.coverage()), ")");
}

void AddTime(Table& table, const char* name, bool present, const v1::TimeEstimate& time, const std::string& note) {
  table.AddRow({name, Cell(FormatSeconds(SecondsOf(present, time)), Look::kBold), Cell(BandText(time), Look::kDim),
                Cell(note, Look::kDim)});
}

std::string Headline(const v1::Estimate& estimate, const Terminal& terminal) {
  Table table({{""}, {"", Align::kRight}, {""}, {""}});
  AddTime(table, "TTFT", estimate.has_ttft(), estimate.ttft(), "time to first token");
  if (estimate.has_compute_limited_ttft_seconds()) {
    table.AddRow({"", FormatSeconds(estimate.compute_limited_ttft_seconds()), "",
                  Cell("time to first token, if compute alone limited it", Look::kDim)});
  }
  AddTime(table, "TPOT", estimate.has_tpot(), estimate.tpot(),
          estimate.tpot_is_next_step() ? "time of the next token (only one output token was requested)"
                                       : "time per output token");
  AddTime(table, "E2E", estimate.has_e2e(), estimate.e2e(), "end to end");
  return table.Render(terminal, 2);
}

// "1 device", "8 devices".
std::string CountOf(int count, const char* what) { return absl::StrCat(count, " ", what, count == 1 ? "" : "s"); }

std::string ThroughputLine(const v1::Estimate& estimate) {
  if (!estimate.has_throughput()) return "";
  const v1::Throughput& rates = estimate.throughput();
  return absl::StrCat("  Throughput  ", FormatCount(rates.output_tokens_per_second()), " tok/s, ",
                      FormatCount(rates.output_tokens_per_second_per_device()), " tok/s per device (",
                      CountOf(estimate.devices(), "device"), "), ",
                      FormatCount(rates.output_tokens_per_second_per_user()), " tok/s per user, ",
                      FormatCount(rates.requests_per_second()), " requests/s\n");
}

std::string PhaseText(const std::string& title, const v1::Phase& phase, const Terminal& terminal) {
  std::string text = absl::StrCat("\n", terminal.Paint(title, Look::kBold), "  ", FormatSeconds(phase.seconds()));
  if (phase.bound() != v1::BOUND_UNSPECIFIED) absl::StrAppend(&text, ", bound by ", EnumText(phase.bound()));
  text += "\n";
  return text + (phase.has_parts() ? Waterfall(phase.parts(), terminal)
                                   : "  no breakdown: the method gives the total alone\n");
}

// Its second line: what fits.
std::string CapacityText(const v1::MemoryUse& memory) {
  std::vector<std::string> parts;
  if (memory.has_largest_batch()) parts.push_back(absl::StrCat("largest batch ", FormatCount(memory.largest_batch())));
  if (memory.has_kv_tokens_capacity()) {
    parts.push_back(absl::StrCat("room for ", FormatCount(memory.kv_tokens_capacity()), " KV tokens"));
  }
  if (memory.kv_bytes_per_token() > 0) {
    parts.push_back(absl::StrCat(FormatBytes(memory.kv_bytes_per_token()), " per KV token over the replica"));
  }
  if (memory.has_state_bytes_per_sequence()) {
    parts.push_back(absl::StrCat(FormatBytes(memory.state_bytes_per_sequence()), " of state per sequence"));
  }
  if (memory.has_compute_bound_batch()) {
    parts.push_back(absl::StrCat("compute-bound from batch ", FormatCount(memory.compute_bound_batch())));
  }
  return parts.empty() ? "" : absl::StrCat("  ", absl::StrJoin(parts, ", "), "\n");
}

std::string UtilisationText(const v1::Estimate& estimate, const Terminal& terminal) {
  if (!estimate.has_mbu() && !estimate.has_mfu()) return "";
  return absl::StrCat("\n", terminal.Paint("Utilisation", Look::kBold), "  memory bandwidth in decode (MBU) ",
                      FormatPercent(estimate.has_mbu() ? estimate.mbu() : kUnknown), ", FLOPs in prefill (MFU) ",
                      FormatPercent(estimate.has_mfu() ? estimate.mfu() : kUnknown), "\n");
}

// KPI method: the hardware specs that would meet the SLO.
std::string NeedsText(const v1::Estimate& estimate) {
  std::string text;
  if (estimate.has_bandwidth_for_max_tpot_bytes_per_second()) {
    absl::StrAppend(&text, "  the TPOT needs ",
                    FormatBytesPerSecond(estimate.bandwidth_for_max_tpot_bytes_per_second()), "\n");
  }
  if (estimate.has_peak_for_max_ttft_flops_per_second()) {
    absl::StrAppend(&text, "  the TTFT needs ", FormatFlopsPerSecond(estimate.peak_for_max_ttft_flops_per_second()),
                    " of peak, if compute alone limited it\n");
  }
  return text;
}

std::string SloText(const v1::Estimate& estimate, const Terminal& terminal) {
  if (estimate.slo_verdict().verdict() == v1::VERDICT_UNSPECIFIED) return "";
  const v1::SloVerdict& slo = estimate.slo_verdict();
  const Cell verdict = VerdictCell(estimate);
  return absl::StrCat("\n", terminal.Paint("SLO", Look::kBold), "  ", terminal.Paint(verdict.text, verdict.look),
                      slo.has_headroom() ? absl::StrCat(", headroom ", FormatSignedPercent(slo.headroom())) : "",
                      slo.has_probability() ? absl::StrCat(", probability ", FormatPercent(slo.probability())) : "",
                      "\n", NeedsText(estimate));
}

std::string WarningsText(const v1::Estimate& estimate, const Terminal& terminal) {
  std::string text;
  for (const v1::Warning& warning : estimate.warnings()) text += WarningLine(warning, terminal);
  return text.empty() ? "" : "\n" + text;
}

std::string DecodeTitle(const v1::Estimate& estimate) {
  if (estimate.tpot_is_next_step()) return "Decode (no step)";
  return absl::StrCat("Decode, ", FormatCount(estimate.decode_steps()), " steps");
}

}  // namespace

std::string WarningLine(const v1::Warning& warning, const Terminal& terminal) {
  return absl::StrCat(terminal.Paint("warning", Look::kWarn), ": ", client::Printable(warning.message()),
                      warning.field().empty() ? "" : absl::StrCat(" (", client::Printable(warning.field()), ")"), "\n");
}

std::string MemoryText(const std::string& title, const v1::MemoryUse& memory, const Terminal& terminal) {
  const double free = memory.has_free_bytes() ? memory.free_bytes() : kUnknown;
  return absl::StrCat("\n", terminal.Paint(title, Look::kBold), "  weights ", FormatBytes(memory.weight_bytes()),
                      ", KV cache ", FormatBytes(memory.kv_cache_bytes()), ", activations ",
                      FormatBytes(memory.activation_bytes()), ", free ", FormatBytes(free), "\n", CapacityText(memory));
}

double SecondsOf(bool present, const v1::TimeEstimate& time) { return present ? time.seconds() : kUnknown; }

bool MissesSlo(const v1::Estimate& estimate) {
  const v1::Verdict verdict = estimate.slo_verdict().verdict();
  return verdict == v1::VERDICT_INFEASIBLE || verdict == v1::VERDICT_MARGINAL;
}

Cell VerdictCell(const v1::Estimate& estimate) {
  switch (estimate.slo_verdict().verdict()) {
    case v1::VERDICT_FEASIBLE:
      return Cell("FEASIBLE", Look::kGood);
    case v1::VERDICT_INFEASIBLE:
      return Cell("INFEASIBLE", Look::kBad);
    case v1::VERDICT_MARGINAL:
      return Cell("MARGINAL", Look::kWarn);
    case v1::VERDICT_UNKNOWN:
      return Cell("UNKNOWN", Look::kWarn);
    default:
      return Cell(kUnknownText);
  }
}

std::string EstimateText(const v1::Estimate& estimate, const Terminal& terminal) {
  std::string text = absl::StrCat(Headline(estimate, terminal), ThroughputLine(estimate));
  if (estimate.waves() > 1) {
    absl::StrAppend(&text, "  The batch does not fit at once: it runs as ", estimate.waves(), " sequential batches\n");
  }
  if (estimate.has_percentiles()) text += PercentilesText(estimate.percentiles(), terminal);
  if (estimate.has_prefill()) text += PhaseText("Prefill", estimate.prefill(), terminal);
  if (estimate.has_decode()) text += PhaseText(DecodeTitle(estimate), estimate.decode(), terminal);
  if (estimate.has_memory()) text += MemoryText("Memory per device", estimate.memory(), terminal);
  return absl::StrCat(text, SecondaryText(estimate, terminal), UtilisationText(estimate, terminal),
                      SpendText(estimate, terminal), SloText(estimate, terminal), OtherFieldsText(estimate, terminal),
                      WarningsText(estimate, terminal));
}

}  // namespace foretoken::cli
