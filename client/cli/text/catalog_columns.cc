#include "client/cli/text/catalog_columns.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

// A text column, the same for people and in CSV.
EntryColumn Same(const char* title, const char* name, const std::string& text, Align align = Align::kLeft) {
  return {.column = {title, align}, .name = name, .text = text, .exact = text};
}

EntryColumn Count(const char* title, const char* name, int count) {
  return Same(title, name, absl::StrCat(count), Align::kRight);
}

// A number with its unit for people, exact in CSV.
EntryColumn Number(const char* title, const char* name, double value, std::string (*format)(double)) {
  return {.column = {title, Align::kRight}, .name = name, .text = format(value), .exact = FormatExact(value)};
}

// A text column that shows people `when_empty` in place of an empty value.
EntryColumn OrElse(const char* title, const char* name, const std::string& text, const char* when_empty,
                   Align align = Align::kLeft) {
  return {.column = {title, align}, .name = name, .text = text.empty() ? when_empty : text, .exact = text};
}

EntryColumn Origin(v1::EntryOrigin origin) { return Same("origin", "origin", EnumText(origin)); }

std::string InBillions(double count) {
  return std::isnan(count) ? kUnknownText : absl::StrCat(ThreeDigits(count / 1e9), " B");
}

// The peak in bf16; in fp16 if the device has no bf16.
double Peak(const v1::PeakCompute& peak) {
  if (peak.has_bf16_flops_per_second()) return peak.bf16_flops_per_second();
  return peak.has_fp16_flops_per_second() ? peak.fp16_flops_per_second() : kUnknown;
}

// The held-out error if it is known, else the error of the fitted measurements.
double ErrorOf(const v1::CalibrationSpec& spec, v1::LatencyMetric metric) {
  for (const v1::CalibrationError& error : spec.errors()) {
    if (error.metric() != metric) continue;
    return error.has_cross_validated_median_ape() ? error.cross_validated_median_ape() : error.in_sample_median_ape();
  }
  return kUnknown;
}

}  // namespace

std::vector<EntryColumn> EntryColumns(const v1::HardwareEntry& entry) {
  const v1::HardwareSpec& spec = entry.spec();
  const double capacity =
      spec.has_memory_capacity_bytes() ? static_cast<double>(spec.memory_capacity_bytes()) : kUnknown;
  const double bandwidth =
      spec.has_memory_bandwidth_bytes_per_second() ? spec.memory_bandwidth_bytes_per_second() : kUnknown;
  const double link = spec.has_interconnect_bytes_per_second() ? spec.interconnect_bytes_per_second() : kUnknown;
  return {Same("id", "id", spec.id()),
          Number("memory", "memory_capacity_bytes", capacity, FormatBytes),
          Number("bandwidth", "memory_bandwidth_bytes_per_second", bandwidth, FormatBytesPerSecond),
          Number("16-bit peak", "peak_16bit_flops_per_second", Peak(spec.peak()), FormatFlopsPerSecond),
          Number("link", "interconnect_bytes_per_second", link, FormatBytesPerSecond),
          Count("profiles", "linear_profiles", spec.linear_profiles_size()),
          Origin(entry.origin())};
}

std::vector<EntryColumn> EntryColumns(const v1::ModelEntry& entry) {
  const v1::ModelSpec& spec = entry.spec();
  const double parameters = spec.has_parameter_count() ? static_cast<double>(spec.parameter_count()) : kUnknown;
  const double context =
      spec.has_max_position_embeddings() ? static_cast<double>(spec.max_position_embeddings()) : kUnknown;
  const bool sparse = spec.has_mixture_of_experts();
  return {Same("id", "id", spec.id()),
          Number("parameters", "parameter_count", parameters, InBillions),
          Count("layers", "num_hidden_layers", spec.num_hidden_layers()),
          Count("hidden", "hidden_size", spec.hidden_size()),
          Same("attention", "attention_type", EnumText(spec.attention_type())),
          OrElse("experts", "num_experts", sparse ? absl::StrCat(spec.mixture_of_experts().num_experts()) : "", "dense",
                 Align::kRight),
          Number("context", "max_position_embeddings", context, FormatCount),
          Same("supported", "supported", spec.unsupported_reason().empty() ? "yes" : "no"),
          Origin(entry.origin())};
}

std::vector<EntryColumn> EntryColumns(const v1::CalibrationEntry& entry) {
  const v1::CalibrationSpec& spec = entry.spec();
  return {Same("id", "id", spec.id()),
          OrElse("hardware", "hardware_id", spec.hardware_id(), "any"),
          Same("engine", "engine", spec.engine()),
          OrElse("model", "model_id", spec.model_id(), "any"),
          Same("batching", "batching", spec.continuous() ? "continuous" : "static"),
          Count("measurements", "samples_used", spec.samples_used()),
          Count("kernels", "kernels_used", spec.kernels_used()),
          Number("TTFT error", "ttft_median_ape", ErrorOf(spec, v1::LATENCY_METRIC_TTFT), FormatPercent),
          Number("TPOT error", "tpot_median_ape", ErrorOf(spec, v1::LATENCY_METRIC_TPOT), FormatPercent),
          Number("E2E error", "e2e_median_ape", ErrorOf(spec, v1::LATENCY_METRIC_E2E), FormatPercent),
          Origin(entry.origin())};
}

}  // namespace foretoken::cli
