// An estimate as columns of CSV: exact values, empty where not known.
#include <google/protobuf/duration.pb.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

// A column shows the field of foretoken.v1.Estimate at `path`, or has a text of its own.
struct EstimateColumn {
  const char* name;
  const char* path;
  std::string (*text)(const v1::Estimate&) = nullptr;
};

std::string VerdictText(const v1::Estimate& estimate) {
  return estimate.has_slo_verdict() ? VerdictCell(estimate).text : "";
}

// A new column stands last: programs may count columns. A field of the API that is not named here is shown all the
// same, as the last columns, under its path.
constexpr EstimateColumn kColumns[] = {
    {"ttft_seconds", "ttft.seconds"},
    {"ttft_low_seconds", "ttft.band.low"},
    {"ttft_high_seconds", "ttft.band.high"},
    {"tpot_seconds", "tpot.seconds"},
    {"tpot_low_seconds", "tpot.band.low"},
    {"tpot_high_seconds", "tpot.band.high"},
    {"e2e_seconds", "e2e.seconds"},
    {"e2e_low_seconds", "e2e.band.low"},
    {"e2e_high_seconds", "e2e.band.high"},
    {"decode_steps", "decode_steps"},
    {"output_tokens_per_second", "throughput.output_tokens_per_second"},
    {"output_tokens_per_second_per_device", "throughput.output_tokens_per_second_per_device"},
    {"output_tokens_per_second_per_user", "throughput.output_tokens_per_second_per_user"},
    {"requests_per_second", "throughput.requests_per_second"},
    {"prefill_compute_seconds", "prefill.parts.compute_seconds"},
    {"prefill_memory_seconds", "prefill.parts.memory_seconds"},
    {"prefill_communication_seconds", "prefill.parts.communication_seconds"},
    {"prefill_host_seconds", "prefill.parts.host_seconds"},
    {"prefill_queueing_seconds", "prefill.parts.queueing_seconds"},
    {"decode_compute_seconds", "decode.parts.compute_seconds"},
    {"decode_memory_seconds", "decode.parts.memory_seconds"},
    {"decode_communication_seconds", "decode.parts.communication_seconds"},
    {"decode_host_seconds", "decode.parts.host_seconds"},
    {"decode_queueing_seconds", "decode.parts.queueing_seconds"},
    {"weight_bytes", "memory.weight_bytes"},
    {"kv_cache_bytes", "memory.kv_cache_bytes"},
    {"activation_bytes", "memory.activation_bytes"},
    {"free_bytes", "memory.free_bytes"},
    {"largest_batch", "memory.largest_batch"},
    {"kv_tokens_capacity", "memory.kv_tokens_capacity"},
    {"mbu", "mbu"},
    {"mfu", "mfu"},
    {"waves", "waves"},
    {"devices", "devices"},
    {"slo_verdict", nullptr, VerdictText},
    {"slo_headroom", "slo_verdict.headroom"},
    {"method", "method"},
    {"provenance", nullptr, ProvenanceText},
    {"joules_per_request", "energy.joules_per_request"},
    {"joules_per_output_token", "energy.joules_per_output_token"},
    {"cost_per_request", "cost.cost_per_request"},
    {"cost_per_million_output_tokens", "cost.cost_per_million_output_tokens"},
    {"compute_bound_batch", "memory.compute_bound_batch"},
    {"kv_bytes_per_token", "memory.kv_bytes_per_token"},
    {"ttft_band_coverage", "ttft.band.coverage"},
    {"tpot_band_coverage", "tpot.band.coverage"},
    {"e2e_band_coverage", "e2e.band.coverage"},
    {"tpot_is_next_step", "tpot_is_next_step"},
    {"prefill_seconds", "prefill.seconds"},
    {"prefill_bound", "prefill.bound"},
    {"decode_seconds", "decode.seconds"},
    {"decode_bound", "decode.bound"},
    {"prefill_utilization", "energy.prefill_utilization"},
    {"decode_utilization", "energy.decode_utilization"},
    {"energy_is_lower_bound", "energy.is_lower_bound"},
    {"compute_limited_ttft_seconds", "compute_limited_ttft_seconds"},
    {"bandwidth_for_max_tpot_bytes_per_second", "bandwidth_for_max_tpot_bytes_per_second"},
    {"peak_for_max_ttft_flops_per_second", "peak_for_max_ttft_flops_per_second"},
    {"speculative_accepted_tokens", "speculative_round.accepted_tokens"},
    {"speculative_verify_seconds", "speculative_round.verify_seconds"},
    {"speculative_draft_seconds", "speculative_round.draft_seconds"},
    {"transfer_bytes", "disaggregated_use.transfer_bytes"},
    {"exposed_transfer_seconds", "disaggregated_use.exposed_transfer_seconds"},
    {"prefill_requests_per_second", "disaggregated_use.prefill_requests_per_second"},
    {"transfer_requests_per_second", "disaggregated_use.transfer_requests_per_second"},
    {"decode_requests_per_second", "disaggregated_use.decode_requests_per_second"},
    {"disaggregated_limit", "disaggregated_use.limit"},
    {"prefill_devices", "disaggregated_use.prefill_devices"},
    {"prefill_weight_bytes", "disaggregated_use.prefill_memory.weight_bytes"},
    {"prefill_kv_cache_bytes", "disaggregated_use.prefill_memory.kv_cache_bytes"},
    {"prefill_activation_bytes", "disaggregated_use.prefill_memory.activation_bytes"},
    {"prefill_free_bytes", "disaggregated_use.prefill_memory.free_bytes"},
    {"prefill_largest_batch", "disaggregated_use.prefill_memory.largest_batch"},
    {"prefill_kv_tokens_capacity", "disaggregated_use.prefill_memory.kv_tokens_capacity"},
    {"prefill_kv_bytes_per_token", "disaggregated_use.prefill_memory.kv_bytes_per_token"},
    {"prefill_compute_bound_batch", "disaggregated_use.prefill_memory.compute_bound_batch"},
    {"calibration_id", "calibration_id"},
    {"calibration_age_seconds", "calibration_age"},
    {"live_load_age_seconds", "live_load_age"},
    {"slo_probability", "slo_verdict.probability"},
    {"ttft_simulated_mean_seconds", "percentiles.ttft.mean.seconds"},
    {"ttft_simulated_mean_standard_error_seconds", "percentiles.ttft.mean.standard_error_seconds"},
    {"ttft_p50_seconds", "percentiles.ttft.p50.seconds"},
    {"ttft_p50_standard_error_seconds", "percentiles.ttft.p50.standard_error_seconds"},
    {"ttft_p90_seconds", "percentiles.ttft.p90.seconds"},
    {"ttft_p90_standard_error_seconds", "percentiles.ttft.p90.standard_error_seconds"},
    {"ttft_p95_seconds", "percentiles.ttft.p95.seconds"},
    {"ttft_p95_standard_error_seconds", "percentiles.ttft.p95.standard_error_seconds"},
    {"ttft_p99_seconds", "percentiles.ttft.p99.seconds"},
    {"ttft_p99_standard_error_seconds", "percentiles.ttft.p99.standard_error_seconds"},
    {"tpot_simulated_mean_seconds", "percentiles.tpot.mean.seconds"},
    {"tpot_simulated_mean_standard_error_seconds", "percentiles.tpot.mean.standard_error_seconds"},
    {"tpot_p50_seconds", "percentiles.tpot.p50.seconds"},
    {"tpot_p50_standard_error_seconds", "percentiles.tpot.p50.standard_error_seconds"},
    {"tpot_p90_seconds", "percentiles.tpot.p90.seconds"},
    {"tpot_p90_standard_error_seconds", "percentiles.tpot.p90.standard_error_seconds"},
    {"tpot_p95_seconds", "percentiles.tpot.p95.seconds"},
    {"tpot_p95_standard_error_seconds", "percentiles.tpot.p95.standard_error_seconds"},
    {"tpot_p99_seconds", "percentiles.tpot.p99.seconds"},
    {"tpot_p99_standard_error_seconds", "percentiles.tpot.p99.standard_error_seconds"},
    {"itl_simulated_mean_seconds", "percentiles.itl.mean.seconds"},
    {"itl_simulated_mean_standard_error_seconds", "percentiles.itl.mean.standard_error_seconds"},
    {"itl_p50_seconds", "percentiles.itl.p50.seconds"},
    {"itl_p50_standard_error_seconds", "percentiles.itl.p50.standard_error_seconds"},
    {"itl_p90_seconds", "percentiles.itl.p90.seconds"},
    {"itl_p90_standard_error_seconds", "percentiles.itl.p90.standard_error_seconds"},
    {"itl_p95_seconds", "percentiles.itl.p95.seconds"},
    {"itl_p95_standard_error_seconds", "percentiles.itl.p95.standard_error_seconds"},
    {"itl_p99_seconds", "percentiles.itl.p99.seconds"},
    {"itl_p99_standard_error_seconds", "percentiles.itl.p99.standard_error_seconds"},
    {"e2e_simulated_mean_seconds", "percentiles.e2e.mean.seconds"},
    {"e2e_simulated_mean_standard_error_seconds", "percentiles.e2e.mean.standard_error_seconds"},
    {"e2e_p50_seconds", "percentiles.e2e.p50.seconds"},
    {"e2e_p50_standard_error_seconds", "percentiles.e2e.p50.standard_error_seconds"},
    {"e2e_p90_seconds", "percentiles.e2e.p90.seconds"},
    {"e2e_p90_standard_error_seconds", "percentiles.e2e.p90.standard_error_seconds"},
    {"e2e_p95_seconds", "percentiles.e2e.p95.seconds"},
    {"e2e_p95_standard_error_seconds", "percentiles.e2e.p95.standard_error_seconds"},
    {"e2e_p99_seconds", "percentiles.e2e.p99.seconds"},
    {"e2e_p99_standard_error_seconds", "percentiles.e2e.p99.standard_error_seconds"},
    {"percentile_requests", "percentiles.requests"},
    {"state_bytes_per_sequence", "memory.state_bytes_per_sequence"},
    {"prefill_state_bytes_per_sequence", "disaggregated_use.prefill_memory.state_bytes_per_sequence"},
};

std::string ScalarText(const Message& message, const FieldDescriptor& field) {
  const auto& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return FormatExact(reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_INT32:
      return absl::StrCat(reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM: {
      const int number = reflection.GetEnumValue(message, &field);
      return number == 0 ? "" : EnumText(*field.enum_type(), number);
    }
    default:
      return reflection.GetString(message, &field);
  }
}

std::string DurationText(const google::protobuf::Duration& duration) {
  return FormatExact(static_cast<double>(duration.seconds()) + duration.nanos() * 1e-9);
}

// The field at `path`; empty if the field, or a message that contains it, is absent. REQUIRES: the path exists.
std::string FieldText(const Message& message, std::string_view path) {
  const size_t dot = path.find('.');
  const FieldDescriptor& field = *message.GetDescriptor()->FindFieldByName(std::string(path.substr(0, dot)));
  const auto& reflection = *message.GetReflection();
  if (field.has_presence() && !reflection.HasField(message, &field)) return "";
  if (field.message_type() == nullptr) return ScalarText(message, field);
  const Message& inner = reflection.GetMessage(message, &field);
  if (dot == std::string_view::npos) return DurationText(dynamic_cast<const google::protobuf::Duration&>(inner));
  return FieldText(inner, path.substr(dot + 1));
}

// Fields that a column with a text of its own shows.
constexpr std::string_view kShownInWords[] = {"prefill.provenance", "decode.provenance", "slo_verdict.verdict"};

std::vector<std::string_view> NamedPaths() {
  std::vector<std::string_view> paths(std::begin(kShownInWords), std::end(kShownInWords));
  for (const EstimateColumn& column : kColumns) {
    if (column.path != nullptr) paths.push_back(column.path);
  }
  return paths;
}

void AddPaths(const google::protobuf::Descriptor& type, const std::string& parent, std::vector<std::string>& paths) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    if (field.is_repeated()) continue;
    const std::string path = parent + field.name();
    const bool is_message = field.message_type() != nullptr;
    if (is_message && field.message_type() != google::protobuf::Duration::descriptor()) {
      AddPaths(*field.message_type(), path + ".", paths);
    } else {
      paths.push_back(path);
    }
  }
}

// Fields without a row in kColumns, such as one that was just added to the API.
const std::vector<std::string>& OtherPaths() {
  static const auto& paths = *new std::vector<std::string>(PathsWithoutColumn(NamedPaths()));
  return paths;
}

}  // namespace

std::vector<std::string> PathsWithoutColumn(const std::vector<std::string_view>& named) {
  std::vector<std::string> paths;
  AddPaths(*v1::Estimate::descriptor(), "", paths);
  std::erase_if(paths,
                [&](const std::string& path) { return std::find(named.begin(), named.end(), path) != named.end(); });
  return paths;
}

std::string PathsText(const v1::Estimate& estimate, const std::vector<std::string>& paths, const Terminal& terminal) {
  std::string text;
  for (const std::string& path : paths) {
    const std::string value = FieldText(estimate, path);
    if (!value.empty()) absl::StrAppend(&text, "  ", path, "  ", value, "\n");
  }
  return text.empty() ? "" : absl::StrCat("\n", terminal.Paint("Other", Look::kBold), "\n", text);
}

std::string OtherFieldsText(const v1::Estimate& estimate, const Terminal& terminal) {
  return PathsText(estimate, OtherPaths(), terminal);
}

std::vector<std::string> EstimateColumnNames() {
  std::vector<std::string> names;
  for (const EstimateColumn& column : kColumns) names.emplace_back(column.name);
  for (const std::string& path : OtherPaths()) names.push_back(absl::StrReplaceAll(path, {{".", "_"}}));
  return names;
}

std::vector<std::string> EstimateCells(const v1::Estimate* estimate) {
  std::vector<std::string> cells;
  for (const EstimateColumn& column : kColumns) {
    if (estimate == nullptr) {
      cells.emplace_back();
    } else {
      cells.push_back(column.text != nullptr ? column.text(*estimate) : FieldText(*estimate, column.path));
    }
  }
  for (const std::string& path : OtherPaths()) {
    cells.push_back(estimate == nullptr ? "" : FieldText(*estimate, path));
  }
  return cells;
}

}  // namespace foretoken::cli
