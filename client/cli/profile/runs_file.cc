#include "client/cli/profile/runs_file.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "client/cli/profile/plan.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/validation/measurement_writer.h"
#include "client/cli/validation/row_reader.h"

namespace foretoken::cli {
namespace {

constexpr int kMostRequests = 100000;  // of one load
constexpr int kMostConcurrent = 4096;

// What the source of a row says of its load: by it a profile that goes on finds its rows.
std::string Marked(const LoadPoint& asked) { return absl::StrCat("foretoken profile: ", Describe(asked), "; "); }

// To the microsecond: less is not measured.
double Rounded(double seconds) { return std::round(seconds * 1e6) / 1e6; }

void SetPercentiles(const char* name, const std::optional<Spread>& time, Measurement& row) {
  if (!time.has_value()) return;
  row.percentiles[absl::StrCat(name, "_p50_s")] = Rounded(time->p50);
  row.percentiles[absl::StrCat(name, "_p90_s")] = Rounded(time->p90);
  row.percentiles[absl::StrCat(name, "_p95_s")] = Rounded(time->p95);
  row.percentiles[absl::StrCat(name, "_p99_s")] = Rounded(time->p99);
}

Measurement RowOf(const ProfiledSystem& system, const LoadPoint& asked, const Outcome& outcome, int runs) {
  Measurement row{.hardware_id = system.hardware_id};
  v1::ProfileSample& sample = row.sample;
  sample.set_model_id(system.model_id);
  *sample.mutable_deployment() = system.deployment;
  const v1::Workload workload = WorkloadOf(outcome.point);
  sample.set_batching_policy(workload.batching_policy());
  sample.set_batch_size(workload.batch_size());
  sample.set_prompt_tokens(workload.prompt_tokens());
  sample.set_output_tokens(workload.output_tokens());
  if (workload.has_request_rate_per_second()) sample.set_request_rate_per_second(workload.request_rate_per_second());
  if (workload.has_prompt_spread_tokens()) sample.set_prompt_spread_tokens(workload.prompt_spread_tokens());
  if (workload.has_output_spread_tokens()) sample.set_output_spread_tokens(workload.output_spread_tokens());
  if (workload.has_closed_loop_requests()) sample.set_closed_loop_requests(workload.closed_loop_requests());
  if (outcome.ttft.has_value()) sample.set_ttft_seconds(Rounded(outcome.ttft->mean));
  if (outcome.tpot.has_value()) sample.set_tpot_seconds(Rounded(outcome.tpot->mean));
  if (outcome.e2e.has_value()) sample.set_e2e_seconds(Rounded(outcome.e2e->mean));
  SetPercentiles("ttft", outcome.ttft, row);
  SetPercentiles("tpot", outcome.tpot, row);
  SetPercentiles("itl", outcome.itl, row);
  SetPercentiles("e2e", outcome.e2e, row);
  const std::string day = absl::FormatTime("%Y-%m-%d", absl::Now(), absl::UTCTimeZone());
  row.source = absl::StrCat(Marked(asked), runs, runs == 1 ? " run, " : " runs, ", day);
  return row;
}

LoadPoint ReadLoad(RowReader& row) {
  LoadPoint load;
  load.concurrency = row.Whole("batch_size", 1).value_or(1);
  load.rate = row.Positive("request_rate", "requests/s");
  load.arrival_cv = row.Positive("arrival_cv", "deviation over mean").value_or(1);
  load.requests = row.Whole("requests", 1).value_or(load.rate.has_value() ? 20 : std::max(3, 2 * load.concurrency));
  load.prompt_most = row.RequiredWhole("prompt_tokens", 1);
  load.prompt_least = row.Whole("prompt_tokens_min", 1).value_or(load.prompt_most);
  load.output_most = row.RequiredWhole("output_tokens", 1);
  load.output_least = row.Whole("output_tokens_min", 1).value_or(load.output_most);
  if (load.prompt_least > load.prompt_most) row.Fault("prompt_tokens_min; allowed: at most prompt_tokens");
  if (load.output_least > load.output_most) row.Fault("output_tokens_min; allowed: at most output_tokens");
  if (load.requests > kMostRequests) row.Fault(absl::StrCat("requests; allowed: at most ", kMostRequests));
  if (load.concurrency > kMostConcurrent) row.Fault(absl::StrCat("batch_size; allowed: at most ", kMostConcurrent));
  return load;
}

}  // namespace

absl::StatusOr<RunsFile> RunsFile::Open(const std::string& file, const ProfiledSystem& system) {
  RunsFile runs(file, system);
  std::error_code ignored;
  if (!std::filesystem::exists(file, ignored)) return runs;
  std::ifstream in(file);
  absl::StatusOr<MeasurementFile> read = ReadMeasurements(file, in);
  if (!read.ok()) return read.status();
  for (Measurement& row : read->rows) {
    if (!row.status.ok()) return absl::InvalidArgumentError(absl::StrCat(Place(row), ": ", row.status.message()));
    if (row.hardware_id != system.hardware_id || row.sample.model_id() != system.model_id) {
      return absl::InvalidArgumentError(absl::StrCat(Place(row), ": a row of ", row.sample.model_id(), " on ",
                                                     row.hardware_id, "; allowed: ", system.model_id, " on ",
                                                     system.hardware_id, ", or another file"));
    }
    runs.rows_.push_back(std::move(row));
  }
  return runs;
}

bool RunsFile::Has(const LoadPoint& asked) const {
  const std::string marked = Marked(asked);
  return std::any_of(rows_.begin(), rows_.end(),
                     [&marked](const Measurement& row) { return absl::StartsWith(row.source, marked); });
}

absl::Status RunsFile::Add(const LoadPoint& asked, const Outcome& outcome, int runs) {
  rows_.push_back(RowOf(system_, asked, outcome, runs));
  return Write();
}

absl::Status RunsFile::Remove(const std::vector<LoadPoint>& asked) {
  for (const LoadPoint& load : asked) {
    const std::string marked = Marked(load);
    std::erase_if(rows_, [&marked](const Measurement& row) { return absl::StartsWith(row.source, marked); });
  }
  return Write();
}

absl::Status RunsFile::Write() const {
  return WriteText(file_, rows_.empty() ? MeasurementHeader() : MeasurementsCsv(rows_));
}

absl::StatusOr<std::vector<LoadPoint>> ReadLoads(const std::string& file, std::istream& in) {
  static const auto& known =
      *new std::vector<std::string>{"batch_size",    "request_rate",      "arrival_cv",    "requests",
                                    "prompt_tokens", "prompt_tokens_min", "output_tokens", "output_tokens_min"};
  constexpr const char* kNeeded[] = {"prompt_tokens", "output_tokens"};
  CsvReader reader(in);
  const absl::StatusOr<CsvRecord> header = ReadHeader(file, known, kNeeded, reader);
  if (!header.ok()) return header.status();
  std::vector<LoadPoint> loads;
  std::vector<std::string> faults;
  while (const std::optional<CsvRecord> record = reader.Next()) {
    RowReader row(header->cells, record->cells);
    loads.push_back(ReadLoad(row));
    if (!row.status().ok()) faults.push_back(absl::StrCat(file, ":", record->line, ": ", row.status().message()));
  }
  if (loads.empty()) faults.push_back(absl::StrCat(file, ": no rows below the header"));
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  return loads;
}

}  // namespace foretoken::cli
