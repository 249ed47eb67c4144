#include "tests/validation/measured.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>

#include "absl/strings/str_cat.h"
#include "client/cli/validation/measurements.h"
#include "client/cli/validation/predict.h"
#include "estimator/fit/sample_faults.h"
#include "server/rpc/estimate/scenario_estimator.h"
#include "server/rpc/estimate/scenario_reader.h"

namespace foretoken::validation {
namespace {

double Or(bool has, double value) { return has ? value : std::numeric_limits<double>::quiet_NaN(); }

// E2E where it is not stated follows from TTFT and TPOT.
Times TimesOf(const v1::ProfileSample& s) {
  Times times = {Or(s.has_ttft_seconds(), s.ttft_seconds()), Or(s.has_tpot_seconds(), s.tpot_seconds()),
                 Or(s.has_e2e_seconds(), s.e2e_seconds())};
  if (!s.has_e2e_seconds()) times[kE2e] = times[kTtft] + (s.output_tokens() - 1) * times[kTpot];
  return times;
}

v1::Scenario ScenarioOf(const cli::Measurement& measurement) {
  const v1::Candidate candidate = cli::CandidateOf(measurement, {});
  v1::Scenario scenario;
  scenario.set_model_id(measurement.sample.model_id());
  scenario.set_hardware_id(measurement.hardware_id);
  *scenario.mutable_deployment() = candidate.deployment();
  *scenario.mutable_workload() = candidate.workload();
  return scenario;
}

absl::StatusOr<Row> ReadRow(const cli::Measurement& measurement, const std::string& file,
                            const catalog::Snapshot& snapshot) {
  if (!measurement.status.ok()) return measurement.status;
  rpc::ScenarioReader reader(snapshot, absl::UnixEpoch());
  reader.ReadAll(ScenarioOf(measurement), "");
  rpc::ScenarioEstimator estimator(reader, snapshot);
  const absl::StatusOr<const Scenario*> scenario = estimator.scenario();
  if (!scenario.ok()) return scenario.status();
  const v1::ProfileSample& s = measurement.sample;
  const std::string& engine = s.deployment().engine();
  const size_t at = engine.find('@');
  Row row{.file = file,
          .hardware = measurement.hardware_id,
          .engine = engine.substr(0, at),
          .version = at == std::string::npos ? "" : engine.substr(at + 1),
          .model = s.model_id(),
          .line = measurement.line,
          .sample = {.scenario = **scenario, .measured = TimesOf(s)},
          .served = s.batching_policy() == v1::BATCHING_POLICY_CONTINUOUS,
          .mixture = (*scenario)->model->mixture_of_experts.has_value()};
  return row;
}

}  // namespace

std::string Row::Text() const {
  const Workload& w = sample.scenario.workload;
  return absl::StrCat(file, ": ", model, " on ", sample.scenario.deployment.tensor_parallel, " ", hardware, ", ",
                      EngineAtVersion(), ", batch_size ", w.batch_size, ", ", w.prompt_tokens, " in, ", w.output_tokens,
                      " out");
}

absl::StatusOr<std::vector<Row>> ReadRows(const std::vector<std::string>& files, const catalog::Snapshot& snapshot) {
  std::vector<Row> rows;
  for (const std::string& file : files) {
    std::ifstream in(file);
    const absl::StatusOr<cli::MeasurementFile> read = cli::ReadMeasurements(file, in);
    if (!read.ok()) return read.status();
    for (const cli::Measurement& measurement : read->rows) {
      absl::StatusOr<Row> row = ReadRow(measurement, std::filesystem::path(file).stem().string(), snapshot);
      if (!row.ok()) {
        return absl::Status(row.status().code(), absl::StrCat(cli::Place(measurement), ": ", row.status().message()));
      }
      rows.push_back(*std::move(row));
    }
  }
  return rows;
}

absl::StatusOr<std::vector<Row>> ReadFolder(const std::string& folder, const catalog::Snapshot& snapshot,
                                            std::vector<std::string>& rejected) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  absl::StatusOr<std::vector<Row>> rows = ReadRows(files, snapshot);
  if (!rows.ok()) return rows;
  std::erase_if(*rows, [&rejected](const Row& row) {
    const bool fast = FasterThanLight(row.sample).has_value();
    if (fast) rejected.push_back(row.Text());
    return fast;
  });
  return rows;
}

}  // namespace foretoken::validation
