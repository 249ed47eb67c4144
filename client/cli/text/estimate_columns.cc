// An estimate as columns of CSV: exact values, empty where not known.
#include "absl/strings/str_cat.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

using Columns = std::vector<std::pair<std::string, std::string>>;

void AddTime(Columns& columns, const std::string& name, bool present, const v1::TimeEstimate& time) {
  const bool band = present && time.has_band();
  columns.emplace_back(name + "_seconds", FormatExact(SecondsOf(present, time)));
  columns.emplace_back(name + "_low_seconds", FormatExact(band ? time.band().low() : kUnknown));
  columns.emplace_back(name + "_high_seconds", FormatExact(band ? time.band().high() : kUnknown));
}

void AddParts(Columns& columns, const std::string& phase, bool present, const v1::TimeParts& parts) {
  const auto add = [&](const char* name, double seconds) {
    columns.emplace_back(absl::StrCat(phase, "_", name, "_seconds"), FormatExact(present ? seconds : kUnknown));
  };
  add("compute", parts.compute_seconds());
  add("memory", parts.memory_seconds());
  add("communication", parts.communication_seconds());
  add("host", parts.host_seconds());
  add("queueing", parts.queueing_seconds());
}

void AddThroughput(Columns& columns, bool present, const v1::Throughput& rates) {
  const auto add = [&](const char* name, double rate) {
    columns.emplace_back(name, FormatExact(present ? rate : kUnknown));
  };
  add("output_tokens_per_second", rates.output_tokens_per_second());
  add("output_tokens_per_second_per_device", rates.output_tokens_per_second_per_device());
  add("output_tokens_per_second_per_user", rates.output_tokens_per_second_per_user());
  add("requests_per_second", rates.requests_per_second());
}

void AddMemory(Columns& columns, bool present, const v1::MemoryUse& memory) {
  const auto add = [&](const char* name, bool known, double value) {
    columns.emplace_back(name, FormatExact(present && known ? value : kUnknown));
  };
  add("weight_bytes", true, memory.weight_bytes());
  add("kv_cache_bytes", true, memory.kv_cache_bytes());
  add("activation_bytes", true, memory.activation_bytes());
  add("free_bytes", memory.has_free_bytes(), memory.free_bytes());
  add("largest_batch", memory.has_largest_batch(), memory.largest_batch());
  add("kv_tokens_capacity", memory.has_kv_tokens_capacity(), memory.kv_tokens_capacity());
}

void AddSpend(Columns& columns, const v1::Estimate& estimate) {
  const auto add = [&](const char* name, bool known, double value) {
    columns.emplace_back(name, FormatExact(known ? value : kUnknown));
  };
  add("joules_per_request", estimate.has_energy(), estimate.energy().joules_per_request());
  add("joules_per_output_token", estimate.has_energy(), estimate.energy().joules_per_output_token());
  add("cost_per_request", estimate.has_cost(), estimate.cost().cost_per_request());
  add("cost_per_million_output_tokens", estimate.has_cost(), estimate.cost().cost_per_million_output_tokens());
}

}  // namespace

Columns EstimateColumns(const v1::Estimate& estimate) {
  Columns columns;
  AddTime(columns, "ttft", estimate.has_ttft(), estimate.ttft());
  AddTime(columns, "tpot", estimate.has_tpot(), estimate.tpot());
  AddTime(columns, "e2e", estimate.has_e2e(), estimate.e2e());
  columns.emplace_back("decode_steps", FormatExact(estimate.decode_steps()));
  AddThroughput(columns, estimate.has_throughput(), estimate.throughput());
  AddParts(columns, "prefill", estimate.prefill().has_parts(), estimate.prefill().parts());
  AddParts(columns, "decode", estimate.decode().has_parts(), estimate.decode().parts());
  AddMemory(columns, estimate.has_memory(), estimate.memory());
  const v1::SloVerdict& slo = estimate.slo_verdict();
  columns.emplace_back("mbu", FormatExact(estimate.has_mbu() ? estimate.mbu() : kUnknown));
  columns.emplace_back("mfu", FormatExact(estimate.has_mfu() ? estimate.mfu() : kUnknown));
  columns.emplace_back("waves", absl::StrCat(estimate.waves()));
  columns.emplace_back("devices", absl::StrCat(estimate.devices()));
  columns.emplace_back("slo_verdict", estimate.has_slo_verdict() ? VerdictCell(estimate).text : "");
  columns.emplace_back("slo_headroom", FormatExact(slo.has_headroom() ? slo.headroom() : kUnknown));
  columns.emplace_back("method", EnumText(estimate.method()));
  columns.emplace_back("provenance", ProvenanceText(estimate));
  AddSpend(columns, estimate);
  return columns;
}

}  // namespace foretoken::cli
