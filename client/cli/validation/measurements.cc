#include "client/cli/validation/measurements.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"

namespace foretoken::cli {
namespace {

const std::vector<std::string>& Known() {
  static const auto& columns = *new std::vector<std::string>{"hardware",
                                                             "model",
                                                             "engine",
                                                             "engine_version",
                                                             "tensor_parallel",
                                                             "pipeline_parallel",
                                                             "expert_parallel",
                                                             "data_parallel",
                                                             "weight_dtype",
                                                             "activation_dtype",
                                                             "kv_cache_dtype",
                                                             "batching",
                                                             "batch_size",
                                                             "request_rate",
                                                             "prompt_tokens",
                                                             "output_tokens",
                                                             "ttft_s",
                                                             "tpot_s",
                                                             "e2e_s",
                                                             "prefill_chunk_tokens",
                                                             "memory_utilization",
                                                             "source",
                                                             "requests",
                                                             "prompt_tokens_min",
                                                             "output_tokens_min",
                                                             "max_num_batched_tokens",
                                                             "max_num_seqs",
                                                             "scheduler"};
  return columns;
}

// Read, and used by no estimate yet.
constexpr const char* kUnused[] = {"requests", "max_num_seqs", "scheduler"};

// How engines order prompts and decodes: vLLM, SGLang, TensorRT-LLM.
constexpr const char* kSchedulers[] = {"mixed", "prefill_first", "in_flight"};

// One row's cells by column name; gathers what is wrong with them.
class RowReader {
 public:
  RowReader(const std::vector<std::string>& columns, const std::vector<std::string>& cells) {
    if (cells.size() != columns.size()) {
      Fault(absl::StrCat(cells.size(), " cells; allowed ", columns.size()));
    }
    for (size_t i = 0; i < std::min(columns.size(), cells.size()); ++i) {
      cells_[columns[i]] = std::string(absl::StripAsciiWhitespace(cells[i]));
    }
  }

  std::string Text(const std::string& column) { return cells_[column]; }

  std::string Required(const std::string& column) {
    if (Text(column).empty()) Fault(absl::StrCat(column, " is blank"));
    return Text(column);
  }

  // A whole number; nothing when blank.
  std::optional<int32_t> Whole(const std::string& column, int32_t least) {
    const std::string text = Text(column);
    if (text.empty()) return std::nullopt;
    int32_t number;
    if (absl::SimpleAtoi(text, &number) && number >= least) return number;
    Fault(absl::StrCat(column, " \"", text, "\"; allowed: a whole number of at least ", least));
    return std::nullopt;
  }

  int32_t RequiredWhole(const std::string& column, int32_t least) {
    Required(column);
    return Whole(column, least).value_or(least);
  }

  // A number of `unit` above 0; nothing when blank.
  std::optional<double> Positive(const std::string& column, const char* unit) {
    const std::string text = Text(column);
    if (text.empty()) return std::nullopt;
    double number;
    if (absl::SimpleAtod(text, &number) && std::isfinite(number) && number > 0) return number;
    Fault(absl::StrCat(column, " \"", text, "\"; allowed: finite ", unit, " above 0"));
    return std::nullopt;
  }

  std::optional<double> Time(const std::string& column) { return Positive(column, "seconds"); }

  // Above 0 to 1; nothing when blank.
  std::optional<double> Share(const std::string& column) {
    const std::string text = Text(column);
    if (text.empty()) return std::nullopt;
    double number;
    if (absl::SimpleAtod(text, &number) && number > 0 && number <= 1) return number;
    Fault(absl::StrCat(column, " \"", text, "\"; allowed: above 0 to 1"));
    return std::nullopt;
  }

  v1::Dtype Dtype(const std::string& column) {
    const std::string text = Text(column);
    if (text.empty()) return v1::DTYPE_UNSPECIFIED;
    const std::optional<int> dtype = ParseEnum(*v1::Dtype_descriptor(), text);
    if (!dtype.has_value()) {
      Fault(absl::StrCat(column, " \"", text, "\"; allowed: ", EnumChoices(*v1::Dtype_descriptor())));
    }
    return static_cast<v1::Dtype>(dtype.value_or(0));
  }

  void Fault(const std::string& text) { faults_.push_back(text); }

  absl::Status status() const {
    return faults_.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(faults_, "; "));
  }

 private:
  std::map<std::string, std::string> cells_;
  std::vector<std::string> faults_;
};

std::string Engine(RowReader& row) {
  const std::string version = row.Text("engine_version");
  return absl::StrCat(row.Text("engine"), version.empty() ? "" : "@", version);
}

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
  deployment.set_engine(Engine(row));
  std::optional<int32_t> chunk = row.Whole("prefill_chunk_tokens", 1);
  const std::optional<int32_t> batched = row.Whole("max_num_batched_tokens", 1);
  if (!chunk.has_value()) chunk = batched;
  if (chunk.has_value()) deployment.set_prefill_chunk_tokens(*chunk);
  if (const auto share = row.Share("memory_utilization")) deployment.set_memory_utilization(*share);
  return deployment;
}

v1::BatchingPolicy ReadBatching(RowReader& row) {
  const std::string text = row.Text("batching");
  if (text.empty()) return v1::BATCHING_POLICY_STATIC;
  const std::optional<int> policy = ParseEnum(*v1::BatchingPolicy_descriptor(), text);
  if (!policy.has_value()) {
    row.Fault(absl::StrCat("batching \"", text, "\"; allowed: ", EnumChoices(*v1::BatchingPolicy_descriptor())));
  }
  return static_cast<v1::BatchingPolicy>(policy.value_or(0));
}

// The mean of lengths that are uniform from COLUMN_min to COLUMN; without a least one, all are alike.
int32_t MeanLength(RowReader& row, const std::string& column, int32_t least) {
  const int32_t longest = row.RequiredWhole(column, least);
  const int32_t shortest = row.Whole(column + "_min", least).value_or(longest);
  if (shortest > longest) row.Fault(absl::StrCat(column, "_min ", shortest, "; allowed: at most ", column));
  return longest - (longest - shortest) / 2;
}

// What no estimate uses yet is checked all the same.
void CheckUnused(RowReader& row) {
  row.Whole("requests", 1);
  row.Whole("max_num_seqs", 1);
  const std::string scheduler = row.Text("scheduler");
  if (scheduler.empty() || std::ranges::find(kSchedulers, scheduler) != std::end(kSchedulers)) return;
  row.Fault(absl::StrCat("scheduler \"", scheduler, "\"; allowed: ", absl::StrJoin(kSchedulers, ", ")));
}

v1::ProfileSample ReadSample(RowReader& row) {
  CheckUnused(row);
  v1::ProfileSample sample;
  sample.set_model_id(row.Required("model"));
  *sample.mutable_deployment() = ReadDeployment(row);
  sample.set_batching_policy(ReadBatching(row));
  sample.set_batch_size(row.RequiredWhole("batch_size", 1));
  if (const auto rate = row.Positive("request_rate", "requests/s")) sample.set_request_rate_per_second(*rate);
  sample.set_prompt_tokens(MeanLength(row, "prompt_tokens", 0));
  sample.set_output_tokens(MeanLength(row, "output_tokens", 1));
  if (const auto ttft = row.Time("ttft_s")) sample.set_ttft_seconds(*ttft);
  if (const auto tpot = row.Time("tpot_s")) sample.set_tpot_seconds(*tpot);
  if (const auto e2e = row.Time("e2e_s")) sample.set_e2e_seconds(*e2e);
  return sample;
}

// Columns of the header with a cell that no estimate uses, in its order.
std::vector<std::string> UnusedOf(const std::vector<std::string>& columns, const std::vector<Measurement>& rows) {
  std::vector<std::string> unused;
  for (size_t i = 0; i < columns.size(); ++i) {
    const bool used = std::ranges::find(kUnused, columns[i]) == std::end(kUnused);
    const auto stated = [i](const Measurement& row) { return i < row.cells.size() && !row.cells[i].empty(); };
    if (!used && std::ranges::any_of(rows, stated)) unused.push_back(columns[i]);
  }
  return unused;
}

absl::Status CheckColumns(const std::string& file, const std::vector<std::string>& columns) {
  std::vector<std::string> faults;
  for (const std::string& column : std::set<std::string>(columns.begin(), columns.end())) {
    const auto times = std::count(columns.begin(), columns.end(), column);
    const bool known = std::count(Known().begin(), Known().end(), column) > 0;
    if (!known) faults.push_back(absl::StrCat("unknown column \"", column, "\""));
    if (known && times > 1) faults.push_back(absl::StrCat("column \"", column, "\" stands twice"));
  }
  for (const char* needed : {"hardware", "model", "batch_size", "prompt_tokens", "output_tokens"}) {
    const bool there = std::count(columns.begin(), columns.end(), needed) > 0;
    if (!there) faults.push_back(absl::StrCat("no column \"", needed, "\""));
  }
  if (faults.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(file, ":1: ", absl::StrJoin(faults, ", "), "; allowed: ", absl::StrJoin(Known(), ", ")));
}

}  // namespace

absl::StatusOr<MeasurementFile> ReadMeasurements(const std::string& file, std::istream& in) {
  CsvReader reader(in);
  const std::optional<CsvRecord> header = reader.Next();
  if (!header.has_value()) return absl::InvalidArgumentError(absl::StrCat(file, ": is empty; a header line is needed"));
  absl::Status status = CheckQuotes(*header);
  if (!status.ok()) return absl::InvalidArgumentError(absl::StrCat(file, ":1: ", status.message()));
  status = CheckColumns(file, header->cells);
  if (!status.ok()) return status;
  MeasurementFile result{.columns = header->cells, .rows = {}, .unused = {}};
  while (const std::optional<CsvRecord> record = reader.Next()) {
    RowReader row(header->cells, record->cells);
    Measurement measurement{.file = file,
                            .line = record->line,
                            .cells = record->cells,
                            .hardware_id = row.Required("hardware"),
                            .sample = ReadSample(row),
                            .status = {}};
    const absl::Status quotes = CheckQuotes(*record);
    measurement.status = quotes.ok() ? row.status() : quotes;
    result.rows.push_back(std::move(measurement));
  }
  if (result.rows.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": no rows below the header"));
  result.unused = UnusedOf(result.columns, result.rows);
  return result;
}

std::string WarningOfUnused(const std::string& file, const MeasurementFile& read) {
  if (read.unused.empty()) return "";
  return absl::StrCat("warning: ", file, ": no estimate uses ", absl::StrJoin(read.unused, ", "), "\n");
}

std::string Place(const Measurement& row) { return absl::StrCat(row.file, ":", row.line); }

}  // namespace foretoken::cli
