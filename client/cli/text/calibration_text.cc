#include "client/cli/text/calibration_text.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"

namespace foretoken::cli {
namespace {

constexpr int kMostLines = 10;  // of measurements, kernels and moved predictions; JSON has all

std::string MetricName(v1::LatencyMetric metric) {
  switch (metric) {
    case v1::LATENCY_METRIC_TTFT:
      return "TTFT";
    case v1::LATENCY_METRIC_TPOT:
      return "TPOT";
    case v1::LATENCY_METRIC_E2E:
      return "E2E";
    default:
      return "?";
  }
}

std::string BandOf(const v1::CalibrationSpec& calibration, v1::LatencyMetric metric) {
  for (const v1::CalibrationBand& band : calibration.bands()) {
    if (band.metric() != metric) continue;
    return absl::StrFormat("x%.2f to x%.2f in %s", band.low_ratio(), band.high_ratio(), FormatPercent(band.coverage()));
  }
  return "-";
}

std::string HeldOut(const v1::CalibrationError& error) {
  return error.has_cross_validated_median_ape() ? FormatPercent(error.cross_validated_median_ape()) : "-";
}

std::string ErrorsText(const v1::CalibrationSpec& calibration, const Terminal& terminal) {
  if (calibration.errors().empty()) return "";
  Table table({{"metric"},
               {"measurements", Align::kRight},
               {"median error", Align::kRight},
               {"held out", Align::kRight},
               {"mean error", Align::kRight},
               {"bias", Align::kRight},
               {"measured / predicted", Align::kRight}});
  for (const v1::CalibrationError& error : calibration.errors()) {
    table.AddRow({MetricName(error.metric()), absl::StrCat(error.num_samples()),
                  FormatPercent(error.in_sample_median_ape()), HeldOut(error),
                  FormatPercent(error.in_sample_mean_ape()), FormatSignedPercent(error.in_sample_bias()),
                  BandOf(calibration, error.metric())});
  }
  return table.Render(terminal, 2);
}

std::string ValueOf(const v1::CalibrationParameter& parameter, double value) {
  if (parameter.unit() == "B/s") return absl::StrFormat("%.3g TB/s", value / 1e12);
  return parameter.unit() == "s" ? FormatSeconds(value) : absl::StrFormat("%.3f", value);
}

std::string ParametersText(const v1::CalibrationSpec& calibration, const Terminal& terminal) {
  Table table({{"parameter"}, {"prior", Align::kRight}, {"fitted", Align::kRight}, {"deviation"}});
  for (const v1::CalibrationParameter& parameter : calibration.parameters()) {
    const std::string deviation = parameter.identified()
                                      ? absl::StrFormat("x%.2f", 1 + parameter.posterior_log_deviation())
                                      : std::string("not identified by the measurements");
    table.AddRow({parameter.name(), ValueOf(parameter, parameter.prior_value()), ValueOf(parameter, parameter.value()),
                  Cell(deviation, parameter.identified() ? Look::kPlain : Look::kDim)});
  }
  return table.Render(terminal, 2);
}

// Of the calibration's kernels; empty: it has none.
std::string KernelsText(const v1::CalibrationReport& report, const std::string& id, const Terminal& terminal) {
  Table table({{"kernels"},
               {"format"},
               {"measurements", Align::kRight},
               {"prior's error", Align::kRight},
               {"median error", Align::kRight},
               {"start", Align::kRight}});
  for (const v1::KernelError& error : report.kernel_errors()) {
    if (error.calibration_id() != id) continue;
    table.AddRow({error.kernel(), error.format(), absl::StrCat(error.num_kernels()),
                  FormatPercent(error.parent_median_ape()), FormatPercent(error.in_sample_median_ape()),
                  FormatSeconds(error.start_seconds())});
  }
  return table.empty() ? "" : table.Render(terminal, 2);
}

// What it was fitted to: "12 measurements", "240 kernels", or both.
std::string CountsText(const v1::CalibrationSpec& calibration) {
  if (calibration.kernels_used() == 0) return absl::StrCat(calibration.samples_used(), " measurements");
  const std::string kernels = absl::StrCat(calibration.kernels_used(), " kernels");
  if (calibration.samples_used() == 0) return kernels;
  return absl::StrCat(calibration.samples_used(), " measurements, ", kernels);
}

// What it rests on, where kernels have a part in it.
std::string EvidenceText(const v1::CalibrationReport& report, const v1::CalibrationSpec& calibration) {
  if (calibration.kernels_used() == 0) return "";
  for (const v1::CalibrationEvidence& evidence : report.evidence()) {
    if (evidence.calibration_id() != calibration.id()) continue;
    return absl::StrCat("  ", client::Printable(evidence.description()), "\n");
  }
  return "";
}

std::string SamplesText(const char* what, const char* kind,
                        const google::protobuf::RepeatedPtrField<v1::RejectedSample>& samples,
                        const Terminal& terminal) {
  std::string text;
  for (int i = 0; i < std::min(samples.size(), kMostLines); ++i) {
    absl::StrAppend(&text, terminal.Paint(what, Look::kWarn), " ", kind, " ", samples[i].index(), ": ",
                    client::Printable(samples[i].reason()), "\n");
  }
  if (samples.size() > kMostLines)
    absl::StrAppend(&text, what, " ", samples.size() - kMostLines, " more ", kind, "s\n");
  return text;
}

double Shift(const v1::MovedPrediction& moved) {
  return moved.has_before_seconds() ? moved.after_seconds() / moved.before_seconds() - 1 : 0;
}

std::string MovedText(const v1::CalibrationReport& report, const Terminal& terminal) {
  std::string text = absl::StrCat("\n", report.moved_size(), " of ", report.num_probes(),
                                  " predictions of the probe set change by more than 5%\n");
  Table table({{"metric"},
               {"model"},
               {"engine"},
               {"tp", Align::kRight},
               {"batch", Align::kRight},
               {"prompt", Align::kRight},
               {"output", Align::kRight},
               {"before", Align::kRight},
               {"after", Align::kRight},
               {"", Align::kRight}});
  std::vector<const v1::MovedPrediction*> largest;
  for (const v1::MovedPrediction& moved : report.moved()) largest.push_back(&moved);
  std::stable_sort(largest.begin(), largest.end(),
                   [](const auto* a, const auto* b) { return std::abs(Shift(*a)) > std::abs(Shift(*b)); });
  largest.resize(std::min<size_t>(largest.size(), kMostLines));
  for (const v1::MovedPrediction* moved : largest) {
    table.AddRow({MetricName(moved->metric()), moved->model_id(), moved->deployment().engine(),
                  absl::StrCat(moved->deployment().tensor_parallel()), absl::StrCat(moved->batch_size()),
                  absl::StrCat(moved->prompt_tokens()), absl::StrCat(moved->output_tokens()),
                  moved->has_before_seconds() ? FormatSeconds(moved->before_seconds()) : "refused",
                  FormatSeconds(moved->after_seconds()),
                  moved->has_before_seconds() ? FormatSignedPercent(Shift(*moved)) : "new"});
  }
  return table.empty() ? text : text + table.Render(terminal, 2);
}

}  // namespace

std::string CalibrationText(const v1::CalibrationReport& report, const Terminal& terminal) {
  std::string text;
  for (const v1::CalibrationSpec& calibration : report.calibrations()) {
    absl::StrAppend(&text, "\n", terminal.Paint(calibration.id(), Look::kBold), "  ", CountsText(calibration),
                    ", prior: ", calibration.parent().empty() ? "generic" : calibration.parent(), "\n",
                    EvidenceText(report, calibration), ErrorsText(calibration, terminal),
                    KernelsText(report, calibration.id(), terminal), "\n", ParametersText(calibration, terminal));
  }
  absl::StrAppend(&text, SamplesText("rejected", "measurement", report.rejected(), terminal),
                  SamplesText("suspicious", "measurement", report.suspicious(), terminal),
                  SamplesText("rejected", "kernel", report.rejected_kernels(), terminal),
                  SamplesText("suspicious", "kernel", report.suspicious_kernels(), terminal));
  return report.num_probes() == 0 ? text : text + MovedText(report, terminal);
}

std::string CalibrationCsv(const v1::CalibrationReport& report) {
  std::string csv = CsvLine({"calibration", "metric", "num_samples", "in_sample_median_ape",
                             "cross_validated_median_ape", "in_sample_mean_ape", "in_sample_bias"});
  for (const v1::CalibrationSpec& calibration : report.calibrations()) {
    for (const v1::CalibrationError& error : calibration.errors()) {
      const std::string held_out =
          error.has_cross_validated_median_ape() ? absl::StrCat(error.cross_validated_median_ape()) : "";
      csv += CsvLine({calibration.id(), MetricName(error.metric()), absl::StrCat(error.num_samples()),
                      absl::StrCat(error.in_sample_median_ape()), held_out, absl::StrCat(error.in_sample_mean_ape()),
                      absl::StrCat(error.in_sample_bias())});
    }
  }
  for (const v1::KernelError& error : report.kernel_errors()) {
    csv += CsvLine({error.calibration_id(), absl::StrCat(error.kernel(), ".", error.format()),
                    absl::StrCat(error.num_kernels()), absl::StrCat(error.in_sample_median_ape()), "", "", ""});
  }
  return csv;
}

}  // namespace foretoken::cli
