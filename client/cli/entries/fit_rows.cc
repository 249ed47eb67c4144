#include "client/cli/entries/fit_rows.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "client/cli/entries/entry_kind.h"
#include "client/cli/entries/registration.h"
#include "client/cli/text/calibration_text.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"
#include "client/cli/validation/predict.h"
#include "client/cli/validation/samples.h"
#include "client/cli/validation/validation_report.h"

namespace foretoken::cli {
namespace {

constexpr size_t kLeastToHoldOut = 6;
constexpr size_t kHeldOutShare = 5;  // one of five
constexpr size_t kMostLearned = 4;   // parameters on one line

// Takes a random fifth of the rows out of `rows`.
std::vector<Measurement> HoldOut(std::vector<Measurement>& rows, uint64_t seed) {
  if (rows.size() < kLeastToHoldOut) return {};
  std::mt19937_64 random(seed);
  std::shuffle(rows.begin(), rows.end(), random);
  const auto kept = static_cast<std::ptrdiff_t>(rows.size() - rows.size() / kHeldOutShare);
  std::vector<Measurement> held_out(rows.begin() + kept, rows.end());
  rows.resize(static_cast<size_t>(kept));
  return held_out;
}

absl::StatusOr<v1::RegisterHardwareRequest> RequestOf(const std::vector<Measurement>& rows, const FitOptions& options,
                                                      const Session& session) {
  v1::RegisterHardwareRequest request;
  absl::Status status = ReadEntry(options.spec, rows.front().hardware_id, session, request);
  if (status.ok()) status = AddSamples(rows, request);
  if (!status.ok()) return status;
  options.Fill(request);
  return request;
}

std::string ErrorCell(bool measured, double measured_seconds, double predicted) {
  if (!measured) return kUnknownText;
  return absl::StrFormat("%s, %s", FormatSeconds(measured_seconds),
                         FormatSignedPercent(predicted / measured_seconds - 1));
}

// Each row that was held out: measured, and how far off the prediction is.
std::string HeldOutText(const std::vector<Measurement>& rows, const std::vector<Prediction>& predictions,
                        const Terminal& terminal) {
  Table table({{"held out"}, {"TTFT"}, {"TPOT"}, {"E2E"}});
  for (size_t i = 0; i < rows.size(); ++i) {
    const v1::ProfileSample& sample = rows[i].sample;
    const v1::Estimate& e = predictions[i].estimate;
    const std::string load = absl::StrCat(sample.batch_size(), " at once, ", sample.prompt_tokens(), " + ",
                                          sample.output_tokens(), " tokens");
    if (!predictions[i].status.ok()) {
      table.AddRow({load, std::string(predictions[i].status.message()), "", ""});
      continue;
    }
    table.AddRow({load, ErrorCell(sample.has_ttft_seconds(), sample.ttft_seconds(), e.ttft().seconds()),
                  ErrorCell(sample.has_tpot_seconds(), sample.tpot_seconds(), e.tpot().seconds()),
                  ErrorCell(sample.has_e2e_seconds(), sample.e2e_seconds(), e.e2e().seconds())});
  }
  return table.Render(terminal);
}

absl::Status PrintHeldOut(const std::vector<Measurement>& held_out, const Session& session) {
  const absl::StatusOr<std::vector<Prediction>> predictions =
      Predict(session.client, held_out, PredictOptions{}, [](double) {});
  if (!predictions.ok()) return predictions.status();
  const ValidationReport report = MakeReport(held_out, *predictions);
  session.out << "\nPredicted, against measurements that the fit did not see (measured, error of the prediction):\n"
              << HeldOutText(held_out, *predictions, session.terminal) << "median error:";
  for (size_t i = 0; i < kMetricNames.size(); ++i) {
    if (report.pooled[i].rows == 0) continue;
    session.out << " " << kMetricNames[i] << " " << FormatPercent(report.pooled[i].median_absolute);
  }
  session.out << "\n";
  return absl::OkStatus();
}

// Identified parameters, best known first.
std::vector<v1::CalibrationParameter> Identified(const v1::CalibrationReport& report) {
  std::vector<v1::CalibrationParameter> known;
  if (report.calibrations_size() == 0) return known;
  for (const v1::CalibrationParameter& parameter : report.calibrations(0).parameters()) {
    if (parameter.identified()) known.push_back(parameter);
  }
  std::sort(known.begin(), known.end(),
            [](const auto& a, const auto& b) { return a.posterior_log_deviation() < b.posterior_log_deviation(); });
  return known;
}

}  // namespace

void FitOptions::Fill(v1::RegisterHardwareRequest& request) const {
  if (max_median_ape) request.set_max_median_ape(*max_median_ape);
  write.Fill(request);
  request.set_validate_only(!store);
}

void AddFitFlags(CLI::App& command, FitOptions& options) {
  command.add_option("--spec", options.spec, "Hardware entry as textproto or JSON; default: from the catalog")
      ->type_name("FILE");
  AddGate(command, options.max_median_ape);
  options.write.AddTo(command);
  command.add_flag("--register", options.store, "Store the entry with the calibration; default: a dry run");
}

absl::Status FitRows(std::vector<Measurement> rows, const FitOptions& options, const Session& session) {
  const std::vector<Measurement> held_out = options.store ? HoldOut(rows, options.seed) : std::vector<Measurement>();
  const absl::StatusOr<v1::RegisterHardwareRequest> request = RequestOf(rows, options, session);
  if (!request.ok()) return request.status();
  const absl::StatusOr<v1::RegisterHardwareResponse> response = session.client.RegisterHardware(*request);
  if (!response.ok()) return response.status();
  if (session.output == OutputFormat::kJson) {
    session.out << ToJson(*response);
    return absl::OkStatus();
  }
  session.out << "\n"
              << RegisteredText(HardwareKind::kName, response->entry().spec().id(), response->entry().etag(),
                                !options.store, response->catalog_revision())
              << CalibrationText(response->calibration_report(), session.terminal);
  if (!options.store) session.out << "\nA dry run; --register stores it.\n";
  return held_out.empty() ? absl::OkStatus() : PrintHeldOut(held_out, session);
}

std::string Learned(const std::vector<Measurement>& rows, const std::string& spec, const Session& session) {
  if (rows.empty()) return "";
  const absl::StatusOr<v1::RegisterHardwareRequest> request = RequestOf(rows, {.spec = spec}, session);
  if (!request.ok()) return "";
  const absl::StatusOr<v1::RegisterHardwareResponse> response = session.client.RegisterHardware(*request);
  if (!response.ok()) return "";
  std::vector<std::string> parts;
  for (const v1::CalibrationParameter& p : Identified(response->calibration_report())) {
    if (parts.size() == kMostLearned) break;
    parts.push_back(absl::StrFormat("%s ±%.0f%%", p.name(), 100 * p.posterior_log_deviation()));
  }
  return absl::StrJoin(parts, ", ");
}

}  // namespace foretoken::cli
