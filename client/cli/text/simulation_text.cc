#include "client/cli/text/simulation_text.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"

namespace foretoken::cli {
namespace {

struct SimulatedMetric {
  const char* name;
  bool present;
  const v1::SimulatedTimes& times;
};

// Of a SimulateResponse or Percentiles.
template <typename Message>
std::vector<SimulatedMetric> SimulatedMetricsOf(const Message& r) {
  return {{"TTFT", r.has_ttft(), r.ttft()},
          {"TPOT", r.has_tpot(), r.tpot()},
          {"ITL", r.has_itl(), r.itl()},
          {"E2E", r.has_e2e(), r.e2e()}};
}

std::vector<const v1::SimulatedTime*> SimulatedColumnsOf(const v1::SimulatedTimes& times) {
  return {&times.mean(), &times.p50(), &times.p90(), &times.p95(), &times.p99()};
}

// "45.2 ms ±0.4%".
std::string WithError(const v1::SimulatedTime& time) {
  const std::string seconds = FormatSeconds(time.seconds());
  if (!time.has_standard_error_seconds() || time.seconds() <= 0) return seconds;
  return absl::StrCat(seconds, " ±", FormatPercent(time.standard_error_seconds() / time.seconds()));
}

std::string SimulatedTimesText(const std::vector<SimulatedMetric>& metrics, const Terminal& terminal) {
  Table table({{""},
               {"mean", Align::kRight},
               {"p50", Align::kRight},
               {"p90", Align::kRight},
               {"p95", Align::kRight},
               {"p99", Align::kRight}});
  for (const SimulatedMetric& metric : metrics) {
    if (!metric.present) continue;
    std::vector<Cell> row = {metric.name};
    for (const v1::SimulatedTime* time : SimulatedColumnsOf(metric.times)) row.emplace_back(WithError(*time));
    table.AddRow(std::move(row));
  }
  return table.empty() ? "" : table.Render(terminal, 2);
}

std::string SchedulerText(const v1::Scheduler& s) {
  return absl::StrCat(EnumText(s.policy()), ", ", FormatCount(s.max_num_batched_tokens()), " tokens a step, ",
                      FormatCount(s.max_num_seqs()), " sequences, KV cache of ",
                      FormatCount(static_cast<double>(s.kv_tokens())), " tokens in blocks of ", s.kv_block_tokens());
}

std::string SimulatedCountsText(const v1::SimulateResponse& r, const Terminal& terminal) {
  Table table({{""}, {""}});
  std::string rates = absl::StrCat(FormatCount(r.output_tokens_per_second()), " tokens/s, ",
                                   FormatCount(r.requests_per_second()), " requests/s");
  if (r.has_goodput_requests_per_second()) {
    absl::StrAppend(&rates, ", ", FormatCount(r.goodput_requests_per_second()), " within the SLO");
  }
  table.AddRow({"throughput", rates});
  table.AddRow({"running", absl::StrCat(FormatCount(r.mean_running_sequences()), " on average, ",
                                        FormatCount(r.most_running_sequences()), " at most")});
  table.AddRow({"waiting", absl::StrCat(FormatCount(r.mean_waiting_requests()), " on average, ",
                                        FormatCount(r.most_waiting_requests()), " at most")});
  table.AddRow({"KV cache", absl::StrCat(FormatPercent(r.mean_kv_cache_share()), " on average, ",
                                         FormatPercent(r.most_kv_cache_share()), " at most")});
  table.AddRow(
      {"preemptions", absl::StrCat(FormatCount(static_cast<double>(r.preemptions())), ", ",
                                   FormatCount(static_cast<double>(r.recomputed_tokens())), " tokens computed again")});
  table.AddRow({"scheduler", SchedulerText(r.scheduler())});
  table.AddRow({"counted", absl::StrCat(FormatCount(r.requests()), " requests in ", FormatSeconds(r.counted_seconds()),
                                        "; ", FormatCount(static_cast<double>(r.steps())), " steps in ",
                                        FormatSeconds(r.simulated_seconds()), " in all")});
  return table.Render(terminal, 2);
}

// As of an estimate whose phases have it both: "DATASHEET".
std::string SimulatedProvenance(v1::Provenance provenance) {
  v1::Estimate estimate;
  estimate.mutable_prefill()->set_provenance(provenance);
  estimate.mutable_decode()->set_provenance(provenance);
  return ProvenanceText(estimate);
}

std::string ExactOrEmpty(bool present, double value) { return FormatExact(present ? value : kUnknown); }

}  // namespace

std::string PercentilesText(const v1::Percentiles& percentiles, const Terminal& terminal) {
  return absl::StrCat("\n", terminal.Paint("Percentiles", Look::kBold), "  of ", FormatCount(percentiles.requests()),
                      " simulated requests\n", SimulatedTimesText(SimulatedMetricsOf(percentiles), terminal));
}

std::string SimulationText(const v1::SimulateResponse& response, const Terminal& terminal) {
  std::string text = absl::StrCat(SimulatedTimesText(SimulatedMetricsOf(response), terminal), "\n",
                                  SimulatedCountsText(response, terminal), "\n");
  for (const v1::Warning& warning : response.warnings()) absl::StrAppend(&text, WarningLine(warning, terminal));
  const std::string& calibration = response.calibration_id();
  absl::StrAppend(&text, SimulatedProvenance(response.provenance()), calibration.empty() ? "" : ", calibration ",
                  client::Printable(calibration), ", ", RevisionText(response.catalog_revision()), "\n");
  return text;
}

std::string SimulationCsv(const v1::SimulateResponse& response) {
  std::vector<std::string> header = {"metric"};
  for (const char* name : {"mean", "p50", "p90", "p95", "p99"}) {
    header.push_back(absl::StrCat(name, "_seconds"));
    header.push_back(absl::StrCat(name, "_standard_error_seconds"));
  }
  std::string text = CsvLine(header);
  for (const SimulatedMetric& metric : SimulatedMetricsOf(response)) {
    std::vector<std::string> cells = {metric.name};
    for (const v1::SimulatedTime* time : SimulatedColumnsOf(metric.times)) {
      cells.push_back(ExactOrEmpty(metric.present, time->seconds()));
      cells.push_back(ExactOrEmpty(time->has_standard_error_seconds(), time->standard_error_seconds()));
    }
    text += CsvLine(cells);
  }
  return text;
}

std::string RequestsCsv(const v1::SimulateResponse& response) {
  std::string text =
      CsvLine({"arrival_seconds", "prompt_tokens", "output_tokens", "ttft_seconds", "tpot_seconds", "e2e_seconds"});
  for (const v1::SimulatedRequest& row : response.request_rows()) {
    text += CsvLine({FormatExact(row.arrival_seconds()), absl::StrCat(row.prompt_tokens()),
                     absl::StrCat(row.output_tokens()), FormatExact(row.ttft_seconds()),
                     ExactOrEmpty(row.has_tpot_seconds(), row.tpot_seconds()), FormatExact(row.e2e_seconds())});
  }
  return text;
}

}  // namespace foretoken::cli
