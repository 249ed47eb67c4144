// Every value of an Estimate is a metric of sweeps, a column of CSV and printed by a command, or is named here with the
// reason. A new field of the API fails these tests until it is in one of the tables.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "foretoken/v1/sweep.pb.h"
#include "tests/client/cli/distinct_estimate.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using Table = std::map<std::string, std::string>;

// The column of each field in `foretoken estimate --output csv`. A metric of sweeps has the name of its column.
constexpr std::pair<const char*, const char*> kColumns[] = {
    {"method", "method"},
    {"ttft.seconds", "ttft_seconds"},
    {"ttft.band.low", "ttft_low_seconds"},
    {"ttft.band.high", "ttft_high_seconds"},
    {"ttft.band.coverage", "ttft_band_coverage"},
    {"tpot.seconds", "tpot_seconds"},
    {"tpot.band.low", "tpot_low_seconds"},
    {"tpot.band.high", "tpot_high_seconds"},
    {"tpot.band.coverage", "tpot_band_coverage"},
    {"e2e.seconds", "e2e_seconds"},
    {"e2e.band.low", "e2e_low_seconds"},
    {"e2e.band.high", "e2e_high_seconds"},
    {"e2e.band.coverage", "e2e_band_coverage"},
    {"decode_steps", "decode_steps"},
    {"tpot_is_next_step", "tpot_is_next_step"},
    {"throughput.output_tokens_per_second", "output_tokens_per_second"},
    {"throughput.output_tokens_per_second_per_device", "output_tokens_per_second_per_device"},
    {"throughput.output_tokens_per_second_per_user", "output_tokens_per_second_per_user"},
    {"throughput.requests_per_second", "requests_per_second"},
    {"prefill.seconds", "prefill_seconds"},
    {"prefill.parts.compute_seconds", "prefill_compute_seconds"},
    {"prefill.parts.memory_seconds", "prefill_memory_seconds"},
    {"prefill.parts.communication_seconds", "prefill_communication_seconds"},
    {"prefill.parts.host_seconds", "prefill_host_seconds"},
    {"prefill.parts.queueing_seconds", "prefill_queueing_seconds"},
    {"prefill.bound", "prefill_bound"},
    {"decode.seconds", "decode_seconds"},
    {"decode.parts.compute_seconds", "decode_compute_seconds"},
    {"decode.parts.memory_seconds", "decode_memory_seconds"},
    {"decode.parts.communication_seconds", "decode_communication_seconds"},
    {"decode.parts.host_seconds", "decode_host_seconds"},
    {"decode.parts.queueing_seconds", "decode_queueing_seconds"},
    {"decode.bound", "decode_bound"},
    {"memory.weight_bytes", "weight_bytes"},
    {"memory.kv_cache_bytes", "kv_cache_bytes"},
    {"memory.activation_bytes", "activation_bytes"},
    {"memory.free_bytes", "free_bytes"},
    {"memory.largest_batch", "largest_batch"},
    {"memory.kv_tokens_capacity", "kv_tokens_capacity"},
    {"memory.kv_bytes_per_token", "kv_bytes_per_token"},
    {"memory.compute_bound_batch", "compute_bound_batch"},
    {"memory.state_bytes_per_sequence", "state_bytes_per_sequence"},
    {"mbu", "mbu"},
    {"mfu", "mfu"},
    {"slo_verdict.headroom", "slo_headroom"},
    {"slo_verdict.probability", "slo_probability"},
    {"waves", "waves"},
    {"devices", "devices"},
    {"calibration_id", "calibration_id"},
    {"calibration_age", "calibration_age_seconds"},
    {"live_load_age", "live_load_age_seconds"},
    {"compute_limited_ttft_seconds", "compute_limited_ttft_seconds"},
    {"speculative_round.accepted_tokens", "speculative_accepted_tokens"},
    {"speculative_round.verify_seconds", "speculative_verify_seconds"},
    {"speculative_round.draft_seconds", "speculative_draft_seconds"},
    {"disaggregated_use.transfer_bytes", "transfer_bytes"},
    {"disaggregated_use.exposed_transfer_seconds", "exposed_transfer_seconds"},
    {"disaggregated_use.prefill_requests_per_second", "prefill_requests_per_second"},
    {"disaggregated_use.transfer_requests_per_second", "transfer_requests_per_second"},
    {"disaggregated_use.decode_requests_per_second", "decode_requests_per_second"},
    {"disaggregated_use.limit", "disaggregated_limit"},
    {"disaggregated_use.prefill_memory.weight_bytes", "prefill_weight_bytes"},
    {"disaggregated_use.prefill_memory.kv_cache_bytes", "prefill_kv_cache_bytes"},
    {"disaggregated_use.prefill_memory.activation_bytes", "prefill_activation_bytes"},
    {"disaggregated_use.prefill_memory.free_bytes", "prefill_free_bytes"},
    {"disaggregated_use.prefill_memory.largest_batch", "prefill_largest_batch"},
    {"disaggregated_use.prefill_memory.kv_tokens_capacity", "prefill_kv_tokens_capacity"},
    {"disaggregated_use.prefill_memory.kv_bytes_per_token", "prefill_kv_bytes_per_token"},
    {"disaggregated_use.prefill_memory.compute_bound_batch", "prefill_compute_bound_batch"},
    {"disaggregated_use.prefill_memory.state_bytes_per_sequence", "prefill_state_bytes_per_sequence"},
    {"disaggregated_use.prefill_devices", "prefill_devices"},
    {"energy.joules_per_request", "joules_per_request"},
    {"energy.joules_per_output_token", "joules_per_output_token"},
    {"energy.prefill_utilization", "prefill_utilization"},
    {"energy.decode_utilization", "decode_utilization"},
    {"energy.is_lower_bound", "energy_is_lower_bound"},
    {"cost.cost_per_request", "cost_per_request"},
    {"cost.cost_per_million_output_tokens", "cost_per_million_output_tokens"},
    {"bandwidth_for_max_tpot_bytes_per_second", "bandwidth_for_max_tpot_bytes_per_second"},
    {"peak_for_max_ttft_flops_per_second", "peak_for_max_ttft_flops_per_second"},
    {"percentiles.ttft.mean.seconds", "ttft_simulated_mean_seconds"},
    {"percentiles.ttft.mean.standard_error_seconds", "ttft_simulated_mean_standard_error_seconds"},
    {"percentiles.ttft.p50.seconds", "ttft_p50_seconds"},
    {"percentiles.ttft.p50.standard_error_seconds", "ttft_p50_standard_error_seconds"},
    {"percentiles.ttft.p90.seconds", "ttft_p90_seconds"},
    {"percentiles.ttft.p90.standard_error_seconds", "ttft_p90_standard_error_seconds"},
    {"percentiles.ttft.p95.seconds", "ttft_p95_seconds"},
    {"percentiles.ttft.p95.standard_error_seconds", "ttft_p95_standard_error_seconds"},
    {"percentiles.ttft.p99.seconds", "ttft_p99_seconds"},
    {"percentiles.ttft.p99.standard_error_seconds", "ttft_p99_standard_error_seconds"},
    {"percentiles.tpot.mean.seconds", "tpot_simulated_mean_seconds"},
    {"percentiles.tpot.mean.standard_error_seconds", "tpot_simulated_mean_standard_error_seconds"},
    {"percentiles.tpot.p50.seconds", "tpot_p50_seconds"},
    {"percentiles.tpot.p50.standard_error_seconds", "tpot_p50_standard_error_seconds"},
    {"percentiles.tpot.p90.seconds", "tpot_p90_seconds"},
    {"percentiles.tpot.p90.standard_error_seconds", "tpot_p90_standard_error_seconds"},
    {"percentiles.tpot.p95.seconds", "tpot_p95_seconds"},
    {"percentiles.tpot.p95.standard_error_seconds", "tpot_p95_standard_error_seconds"},
    {"percentiles.tpot.p99.seconds", "tpot_p99_seconds"},
    {"percentiles.tpot.p99.standard_error_seconds", "tpot_p99_standard_error_seconds"},
    {"percentiles.itl.mean.seconds", "itl_simulated_mean_seconds"},
    {"percentiles.itl.mean.standard_error_seconds", "itl_simulated_mean_standard_error_seconds"},
    {"percentiles.itl.p50.seconds", "itl_p50_seconds"},
    {"percentiles.itl.p50.standard_error_seconds", "itl_p50_standard_error_seconds"},
    {"percentiles.itl.p90.seconds", "itl_p90_seconds"},
    {"percentiles.itl.p90.standard_error_seconds", "itl_p90_standard_error_seconds"},
    {"percentiles.itl.p95.seconds", "itl_p95_seconds"},
    {"percentiles.itl.p95.standard_error_seconds", "itl_p95_standard_error_seconds"},
    {"percentiles.itl.p99.seconds", "itl_p99_seconds"},
    {"percentiles.itl.p99.standard_error_seconds", "itl_p99_standard_error_seconds"},
    {"percentiles.e2e.mean.seconds", "e2e_simulated_mean_seconds"},
    {"percentiles.e2e.mean.standard_error_seconds", "e2e_simulated_mean_standard_error_seconds"},
    {"percentiles.e2e.p50.seconds", "e2e_p50_seconds"},
    {"percentiles.e2e.p50.standard_error_seconds", "e2e_p50_standard_error_seconds"},
    {"percentiles.e2e.p90.seconds", "e2e_p90_seconds"},
    {"percentiles.e2e.p90.standard_error_seconds", "e2e_p90_standard_error_seconds"},
    {"percentiles.e2e.p95.seconds", "e2e_p95_seconds"},
    {"percentiles.e2e.p95.standard_error_seconds", "e2e_p95_standard_error_seconds"},
    {"percentiles.e2e.p99.seconds", "e2e_p99_seconds"},
    {"percentiles.e2e.p99.standard_error_seconds", "e2e_p99_standard_error_seconds"},
    {"percentiles.requests", "percentile_requests"},
};

const Table& ColumnOfPath() {
  static const auto& columns = *new Table(std::begin(kColumns), std::end(kColumns));
  return columns;
}

// Fields without a column of their own in that CSV, with the reason.
const Table& WithoutColumn() {
  static const auto& reasons = *new Table{
      {"prefill.provenance", "the column provenance joins both phases; EveryColumnHoldsItsField checks it"},
      {"decode.provenance", "the column provenance joins both phases; EveryColumnHoldsItsField checks it"},
      {"slo_verdict.verdict", "the column slo_verdict is in upper case; EveryColumnHoldsItsField checks it"},
      {"warnings", "a list: in JSON and text"},
      {"prefill_operators", "a list: `foretoken explain --output csv` has a line for each"},
      {"decode_operators", "a list: `foretoken explain --output csv` has a line for each"},
      {"token_latency_seconds", "a list: in JSON and text"},
  };
  return reasons;
}

// Fields that are no metric of sweeps, with the reason.
const Table& WithoutMetric() {
  constexpr char kMean[] = "shows how far simulation and formulas agree; METRIC_..._SECONDS is the mean";
  constexpr char kError[] = "below a few percent; Estimate and Simulate tell it";
  static const auto& reasons = *new Table{
      {"method", "a name: the columns of a sweep are numbers"},
      {"ttft.band.coverage", "constant in a sweep: the coverage of the calibration's bands"},
      {"tpot.band.coverage", "constant in a sweep: the coverage of the calibration's bands"},
      {"e2e.band.coverage", "constant in a sweep: the coverage of the calibration's bands"},
      {"tpot_is_next_step", "follows from METRIC_DECODE_STEPS, which is then 0"},
      {"prefill.seconds", "equals METRIC_TTFT_SECONDS"},
      {"prefill.bound", "the largest of the five METRIC_PREFILL_..._SECONDS"},
      {"prefill.provenance", "SweepChunk.provenances"},
      {"decode.seconds", "METRIC_DECODE_STEPS times METRIC_TPOT_SECONDS"},
      {"decode.bound", "the largest of the five METRIC_DECODE_..._SECONDS"},
      {"decode.provenance", "SweepChunk.provenances"},
      {"slo_verdict.verdict", "follows from the sign of METRIC_SLO_HEADROOM, or from the bands of the metrics"},
      {"calibration_id", "a name: the columns of a sweep are numbers"},
      {"calibration_age", "constant in a sweep: it has one catalog snapshot"},
      {"live_load_age", "constant in a sweep: it has one live load"},
      {"warnings", "a list"},
      {"prefill_operators", "a list"},
      {"decode_operators", "a list"},
      {"token_latency_seconds", "a list"},
      {"disaggregated_use.limit", "the smallest of METRIC_{PREFILL,TRANSFER,DECODE}_REQUESTS_PER_SECOND"},
      {"percentiles.ttft.mean", kMean},
      {"percentiles.ttft.p50.standard_error_seconds", kError},
      {"percentiles.ttft.p90.standard_error_seconds", kError},
      {"percentiles.ttft.p95.standard_error_seconds", kError},
      {"percentiles.ttft.p99.standard_error_seconds", kError},
      {"percentiles.tpot.mean", kMean},
      {"percentiles.tpot.p50.standard_error_seconds", kError},
      {"percentiles.tpot.p90.standard_error_seconds", kError},
      {"percentiles.tpot.p95.standard_error_seconds", kError},
      {"percentiles.tpot.p99.standard_error_seconds", kError},
      {"percentiles.itl.mean", kMean},
      {"percentiles.itl.p50.standard_error_seconds", kError},
      {"percentiles.itl.p90.standard_error_seconds", kError},
      {"percentiles.itl.p95.standard_error_seconds", kError},
      {"percentiles.itl.p99.standard_error_seconds", kError},
      {"percentiles.e2e.mean", kMean},
      {"percentiles.e2e.p50.standard_error_seconds", kError},
      {"percentiles.e2e.p90.standard_error_seconds", kError},
      {"percentiles.e2e.p95.standard_error_seconds", kError},
      {"percentiles.e2e.p99.standard_error_seconds", kError},
      {"percentiles.requests", "constant in a sweep but for simulations that their steps cut short"},
      {"energy.is_lower_bound", "constant in a sweep over one hardware: whether it states idle_watts"},
  };
  return reasons;
}

// Fields that no command prints, with the reason.
const Table& WithoutText() {
  static const auto& reasons = *new Table{
      {"warnings.code", "a name for programs: the message says it in words"},
  };
  return reasons;
}

// The exception of a path: its own, or that of a message it is part of.
const std::string* ExceptionOf(const Table& exceptions, const std::string& path) {
  for (const auto& [name, reason] : exceptions) {
    if (path == name || absl::StartsWith(path, name + ".")) return &name;
  }
  return nullptr;
}

std::vector<std::string> Paths() {
  std::vector<std::string> paths;
  v1::Estimate estimate = DistinctEstimate();
  ForEachLeaf(estimate, [&](const Leaf& leaf) { paths.push_back(leaf.path); });
  return paths;
}

// The exceptions that no path needs.
std::vector<std::string> Unused(const Table& exceptions, const std::vector<std::string>& needed) {
  std::vector<std::string> unused;
  for (const auto& [name, reason] : exceptions) {
    const auto uses = [&name = name](const std::string& path) {
      return path == name || absl::StartsWith(path, name + ".");
    };
    if (std::none_of(needed.begin(), needed.end(), uses)) unused.push_back(name);
  }
  return unused;
}

TEST(EstimateDriftTest, EveryFieldHasAColumnOrAReason) {
  std::vector<std::string> without;
  for (const std::string& path : Paths()) {
    const bool has = ColumnOfPath().contains(path);
    if (!has) without.push_back(path);
    EXPECT_NE(has, ExceptionOf(WithoutColumn(), path) != nullptr) << path;
  }
  EXPECT_THAT(Unused(WithoutColumn(), without), testing::IsEmpty());
}

TEST(EstimateDriftTest, EveryFieldIsAMetricOrHasAReason) {
  std::vector<std::string> without;
  std::set<int> metrics = {v1::METRIC_UNSPECIFIED};
  for (const std::string& path : Paths()) {
    const auto column = ColumnOfPath().find(path);
    const std::optional<int> metric =
        column == ColumnOfPath().end() ? std::nullopt : ParseEnum(*v1::Metric_descriptor(), column->second);
    if (metric.has_value()) metrics.insert(*metric);
    if (!metric.has_value()) without.push_back(path);
    EXPECT_NE(metric.has_value(), ExceptionOf(WithoutMetric(), path) != nullptr) << path;
  }
  EXPECT_THAT(Unused(WithoutMetric(), without), testing::IsEmpty());
  for (int i = 0; i < v1::Metric_descriptor()->value_count(); ++i) {
    EXPECT_TRUE(metrics.contains(v1::Metric_descriptor()->value(i)->number()))
        << v1::Metric_descriptor()->value(i)->name() << " has no column of CSV of its name";
  }
}

class EstimateOutputTest : public testing::Test {
 protected:
  std::string Run(const std::vector<std::string>& command, const v1::Estimate& estimate) {
    server_.estimator.reply = estimate;
    std::vector<std::string> arguments = command;
    arguments.insert(arguments.end(), {"small", "gpu-a", "-p", "7", "-o", "9"});
    return RunCli(server_, arguments).out;
  }

  // What the commands print of an estimate.
  std::string Text(const v1::Estimate& estimate) {
    return Run({"estimate", "--token-latencies"}, estimate) + Run({"explain"}, estimate);
  }

  // The only line of a CSV by its columns.
  Table Csv(const v1::Estimate& estimate) {
    std::istringstream in(Run({"estimate", "--output", "csv"}, estimate));
    CsvReader reader(in);
    const std::vector<std::string> names = reader.Next().value().cells;
    const std::vector<std::string> cells = reader.Next().value().cells;
    EXPECT_EQ(names.size(), cells.size());
    Table row;
    for (size_t i = 0; i < names.size(); ++i) EXPECT_TRUE(row.emplace(names[i], cells[i]).second) << names[i];
    return row;
  }

  client::FakeServer server_;
};

TEST_F(EstimateOutputTest, EveryFieldIsPrintedOrHasAReason) {
  const v1::Estimate estimate = DistinctEstimate();
  const std::string text = Text(estimate);
  const std::vector<std::string> paths = Paths();
  std::vector<std::string> without;
  for (const std::string& path : paths) {
    v1::Estimate changed = estimate;
    ForEachLeaf(changed, [&path](const Leaf& leaf) {
      if (leaf.path == path) Change(leaf);
    });
    const bool printed = Text(changed) != text;
    if (!printed) without.push_back(path);
    EXPECT_NE(printed, ExceptionOf(WithoutText(), path) != nullptr) << path;
  }
  EXPECT_THAT(Unused(WithoutText(), without), testing::IsEmpty());
}

TEST_F(EstimateOutputTest, EveryColumnHoldsItsField) {
  v1::Estimate estimate = DistinctEstimate();
  Table row = Csv(estimate);
  ForEachLeaf(estimate, [&row](const Leaf& leaf) {
    const auto column = ColumnOfPath().find(leaf.path);
    if (column == ColumnOfPath().end()) return;
    ASSERT_TRUE(row.contains(column->second)) << column->second;
    EXPECT_EQ(row.at(column->second), ExactText(leaf)) << leaf.path;
    row.erase(column->second);
  });
  EXPECT_EQ(row, (Table{{"model", "small"},
                        {"hardware", "gpu-a"},
                        {"slo_verdict", absl::AsciiStrToUpper(EnumText(estimate.slo_verdict().verdict()))},
                        {"provenance", "CALIBRATED/TRANSFERRED"}}));
}

TEST_F(EstimateOutputTest, WhatIsAbsentIsEmpty) {
  v1::Estimate estimate;
  estimate.set_decode_steps(3);
  estimate.set_waves(1);
  estimate.set_devices(2);
  Table row = Csv(estimate);
  std::erase_if(row, [](const auto& cell) { return cell.second.empty(); });
  EXPECT_EQ(row, (Table{{"model", "small"},
                        {"hardware", "gpu-a"},
                        {"decode_steps", "3"},
                        {"waves", "1"},
                        {"devices", "2"},
                        {"tpot_is_next_step", "false"}}));
}

}  // namespace
}  // namespace foretoken::cli
