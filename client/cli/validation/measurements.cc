#include "client/cli/validation/measurements.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/validation/measurement_writer.h"
#include "client/cli/validation/row_reader.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

constexpr const char* kNeeded[] = {"hardware", "model", "batch_size", "prompt_tokens", "output_tokens"};

v1::Deployment ReadDeployment(RowReader& row) {
  v1::Deployment deployment;
  const auto degree = [&row](const char* column) { return std::max(1, row.Whole(column, 0).value_or(1)); };
  deployment.set_tensor_parallel(degree("tensor_parallel"));
  deployment.set_pipeline_parallel(degree("pipeline_parallel"));
  deployment.set_expert_parallel(degree("expert_parallel"));
  deployment.set_data_parallel(degree("data_parallel"));
  deployment.set_weight_dtype(row.Dtype("weight_dtype"));
  deployment.set_activation_dtype(row.Dtype("activation_dtype"));
  deployment.set_kv_cache_dtype(row.Dtype("kv_cache_dtype"));
  deployment.set_engine(EngineOf(row));
  std::optional<int32_t> chunk = row.Whole("prefill_chunk_tokens", 1);
  const std::optional<int32_t> batched = row.Whole("max_num_batched_tokens", 1);
  if (!chunk.has_value()) chunk = batched;
  if (chunk.has_value()) deployment.set_prefill_chunk_tokens(*chunk);
  if (const auto slots = row.Whole("max_num_seqs", 1)) deployment.set_max_num_seqs(*slots);
  deployment.set_scheduler(static_cast<v1::SchedulerPolicy>(row.Enum("scheduler", *v1::SchedulerPolicy_descriptor())));
  if (const auto share = row.Share("memory_utilization")) deployment.set_memory_utilization(*share);
  return deployment;
}

v1::BatchingPolicy ReadBatching(RowReader& row) {
  const int policy = row.Enum("batching", *v1::BatchingPolicy_descriptor());
  return policy == 0 ? v1::BATCHING_POLICY_STATIC : static_cast<v1::BatchingPolicy>(policy);
}

// Lengths that are uniform from COLUMN_min to COLUMN, as their mean and how far they lie from it. Without a least one,
// all are alike.
struct Lengths {
  int32_t mean = 0;
  int32_t spread = 0;
};

Lengths ReadLengths(RowReader& row, const std::string& column, int32_t least) {
  const int32_t longest = row.RequiredWhole(column, least);
  const int32_t shortest = row.Whole(column + "_min", least).value_or(longest);
  if (shortest > longest) row.Fault(absl::StrCat(column, "_min ", shortest, "; allowed: at most ", column));
  const int32_t spread = (longest - shortest) / 2;
  return {.mean = longest - spread, .spread = spread};
}

v1::ProfileSample ReadSample(RowReader& row) {
  v1::ProfileSample sample;
  sample.set_model_id(row.Required("model"));
  *sample.mutable_deployment() = ReadDeployment(row);
  sample.set_batching_policy(ReadBatching(row));
  sample.set_batch_size(row.RequiredWhole("batch_size", 1));
  if (const auto rate = row.Positive("request_rate", "requests/s")) sample.set_request_rate_per_second(*rate);
  const Lengths prompt = ReadLengths(row, "prompt_tokens", 0);
  sample.set_prompt_tokens(prompt.mean);
  if (prompt.spread > 0) sample.set_prompt_spread_tokens(prompt.spread);
  const Lengths output = ReadLengths(row, "output_tokens", 1);
  sample.set_output_tokens(output.mean);
  if (output.spread > 0) sample.set_output_spread_tokens(output.spread);
  if (const auto requests = row.Whole("requests", 1)) sample.set_closed_loop_requests(*requests);
  if (const auto ttft = row.Time("ttft_s")) sample.set_ttft_seconds(*ttft);
  if (const auto tpot = row.Time("tpot_s")) sample.set_tpot_seconds(*tpot);
  if (const auto e2e = row.Time("e2e_s")) sample.set_e2e_seconds(*e2e);
  return sample;
}

std::map<std::string, double> ReadPercentiles(RowReader& row) {
  std::map<std::string, double> percentiles;
  for (const std::string& column : PercentileColumns()) {
    if (const auto time = row.Time(column)) percentiles[column] = *time;
  }
  return percentiles;
}

std::vector<std::string> MakePercentileColumns() {
  std::vector<std::string> columns;
  for (const char* metric : {"ttft", "tpot", "itl", "e2e"}) {
    for (const int percent : {50, 90, 95, 99}) columns.push_back(absl::StrCat(metric, "_p", percent, "_s"));
  }
  return columns;
}

}  // namespace

const std::vector<std::string>& PercentileColumns() {
  static const auto& columns = *new std::vector<std::string>(MakePercentileColumns());
  return columns;
}

absl::StatusOr<MeasurementFile> ReadMeasurements(const std::string& file, std::istream& in) {
  CsvReader reader(in);
  const absl::StatusOr<CsvRecord> header = ReadHeader(file, MeasurementColumns(), kNeeded, reader);
  if (!header.ok()) return header.status();
  MeasurementFile result{.columns = header->cells, .rows = {}};
  while (const std::optional<CsvRecord> record = reader.Next()) {
    RowReader row(header->cells, record->cells);
    Measurement measurement{.file = file,
                            .line = record->line,
                            .cells = record->cells,
                            .hardware_id = row.Required("hardware"),
                            .sample = ReadSample(row),
                            .status = {},
                            .source = row.Text("source"),
                            .percentiles = ReadPercentiles(row)};
    const absl::Status quotes = CheckQuotes(*record);
    measurement.status = quotes.ok() ? row.status() : quotes;
    result.rows.push_back(std::move(measurement));
  }
  if (result.rows.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": no rows below the header"));
  return result;
}

std::string NoteOfUnused(const std::string& file, const MeasurementFile& read) {
  std::vector<std::string> unused;
  for (const std::string& column : PercentileColumns()) {
    const auto has = [&column](const Measurement& row) { return row.percentiles.contains(column); };
    if (std::any_of(read.rows.begin(), read.rows.end(), has)) unused.push_back(column);
  }
  if (unused.empty()) return "";
  return client::Printable(absl::StrCat("note: ", file, ": no estimate uses ", absl::StrJoin(unused, ", "))) + "\n";
}

std::string Place(const Measurement& row) { return absl::StrCat(row.file, ":", row.line); }

}  // namespace foretoken::cli
