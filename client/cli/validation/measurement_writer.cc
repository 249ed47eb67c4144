#include "client/cli/validation/measurement_writer.h"

#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

// One column and what a row writes in it.
struct WrittenColumn {
  std::string name;
  std::function<std::string(const Measurement&)> cell;
  bool needed = false;  // written even where all cells are blank
};

std::string CountCell(bool has, int32_t count) { return has ? absl::StrCat(count) : ""; }
std::string NumberCell(bool has, double number) { return has ? FormatExact(number) : ""; }

template <typename Enum>
std::string EnumCell(Enum value) {
  return static_cast<int>(value) == 0 ? "" : EnumText(value);
}

// "vllm" and "0.7.3" of "vllm@0.7.3".
std::string EngineName(const std::string& engine) { return engine.substr(0, engine.find('@')); }
std::string EngineVersion(const std::string& engine) {
  const size_t at = engine.find('@');
  return at == std::string::npos ? "" : engine.substr(at + 1);
}

// A column of the sample, and one of its deployment.
template <typename Cell>
WrittenColumn OfSample(const char* name, Cell cell, bool needed = false) {
  return {.name = name, .cell = [cell](const Measurement& row) { return cell(row.sample); }, .needed = needed};
}

template <typename Cell>
WrittenColumn OfDeployment(const char* name, Cell cell) {
  return OfSample(name, [cell](const v1::ProfileSample& sample) { return cell(sample.deployment()); });
}

std::vector<WrittenColumn> DeploymentColumns() {
  return {
      OfDeployment("engine", [](const v1::Deployment& d) { return EngineName(d.engine()); }),
      OfDeployment("engine_version", [](const v1::Deployment& d) { return EngineVersion(d.engine()); }),
      OfDeployment("tensor_parallel",
                   [](const v1::Deployment& d) { return CountCell(d.has_tensor_parallel(), d.tensor_parallel()); }),
      OfDeployment("pipeline_parallel",
                   [](const v1::Deployment& d) { return CountCell(d.has_pipeline_parallel(), d.pipeline_parallel()); }),
      OfDeployment("expert_parallel",
                   [](const v1::Deployment& d) { return CountCell(d.has_expert_parallel(), d.expert_parallel()); }),
      OfDeployment("data_parallel",
                   [](const v1::Deployment& d) { return CountCell(d.has_data_parallel(), d.data_parallel()); }),
      OfDeployment("weight_dtype", [](const v1::Deployment& d) { return EnumCell(d.weight_dtype()); }),
      OfDeployment("activation_dtype", [](const v1::Deployment& d) { return EnumCell(d.activation_dtype()); }),
      OfDeployment("kv_cache_dtype", [](const v1::Deployment& d) { return EnumCell(d.kv_cache_dtype()); }),
      OfDeployment(
          "prefill_chunk_tokens",
          [](const v1::Deployment& d) { return CountCell(d.has_prefill_chunk_tokens(), d.prefill_chunk_tokens()); }),
      OfDeployment("max_num_batched_tokens", [](const v1::Deployment&) { return ""; }),
      OfDeployment("max_num_seqs",
                   [](const v1::Deployment& d) { return CountCell(d.has_max_num_seqs(), d.max_num_seqs()); }),
      OfDeployment("scheduler", [](const v1::Deployment& d) { return EnumCell(d.scheduler()); }),
      OfDeployment(
          "memory_utilization",
          [](const v1::Deployment& d) { return NumberCell(d.has_memory_utilization(), d.memory_utilization()); }),
  };
}

// Lengths are uniform from mean - spread to mean + spread.
std::vector<WrittenColumn> SampleColumns() {
  return {
      OfSample("batching", [](const v1::ProfileSample& s) { return EnumCell(s.batching_policy()); }),
      OfSample(
          "batch_size", [](const v1::ProfileSample& s) { return absl::StrCat(s.batch_size()); }, true),
      OfSample("request_rate",
               [](const v1::ProfileSample& s) {
                 return NumberCell(s.has_request_rate_per_second(), s.request_rate_per_second());
               }),
      OfSample(
          "requests",
          [](const v1::ProfileSample& s) { return CountCell(s.has_closed_loop_requests(), s.closed_loop_requests()); }),
      OfSample(
          "prompt_tokens",
          [](const v1::ProfileSample& s) { return absl::StrCat(s.prompt_tokens() + s.prompt_spread_tokens()); }, true),
      OfSample("prompt_tokens_min",
               [](const v1::ProfileSample& s) {
                 return CountCell(s.has_prompt_spread_tokens(), s.prompt_tokens() - s.prompt_spread_tokens());
               }),
      OfSample(
          "output_tokens",
          [](const v1::ProfileSample& s) { return absl::StrCat(s.output_tokens() + s.output_spread_tokens()); }, true),
      OfSample("output_tokens_min",
               [](const v1::ProfileSample& s) {
                 return CountCell(s.has_output_spread_tokens(), s.output_tokens() - s.output_spread_tokens());
               }),
      OfSample("ttft_s", [](const v1::ProfileSample& s) { return NumberCell(s.has_ttft_seconds(), s.ttft_seconds()); }),
      OfSample("tpot_s", [](const v1::ProfileSample& s) { return NumberCell(s.has_tpot_seconds(), s.tpot_seconds()); }),
      OfSample("e2e_s", [](const v1::ProfileSample& s) { return NumberCell(s.has_e2e_seconds(), s.e2e_seconds()); }),
  };
}

std::vector<WrittenColumn> MakeColumns() {
  std::vector<WrittenColumn> columns = {
      {.name = "hardware", .cell = [](const Measurement& row) { return row.hardware_id; }, .needed = true},
      OfSample(
          "model", [](const v1::ProfileSample& s) { return s.model_id(); }, true),
  };
  for (WrittenColumn& column : DeploymentColumns()) columns.push_back(std::move(column));
  for (WrittenColumn& column : SampleColumns()) columns.push_back(std::move(column));
  for (const std::string& name : PercentileColumns()) {
    const auto cell = [name](const Measurement& row) {
      const auto percentile = row.percentiles.find(name);
      return percentile == row.percentiles.end() ? "" : FormatExact(percentile->second);
    };
    columns.push_back({.name = name, .cell = cell});
  }
  columns.push_back({.name = "source", .cell = [](const Measurement& row) { return row.source; }});
  return columns;
}

const std::vector<WrittenColumn>& WrittenColumns() {
  static const auto& columns = *new std::vector<WrittenColumn>(MakeColumns());
  return columns;
}

}  // namespace

const std::vector<std::string>& MeasurementColumns() {
  static const auto& names = *[] {
    auto* made = new std::vector<std::string>();
    for (const WrittenColumn& column : WrittenColumns()) made->push_back(column.name);
    return made;
  }();
  return names;
}

std::vector<std::string> MeasurementCells(const Measurement& row) {
  std::vector<std::string> cells;
  for (const WrittenColumn& column : WrittenColumns()) cells.push_back(column.cell(row));
  return cells;
}

std::string MeasurementHeader() { return CsvLine(MeasurementColumns()); }

std::string MeasurementLine(const Measurement& row) { return CsvLine(MeasurementCells(row)); }

std::string MeasurementsCsv(const std::vector<Measurement>& rows) {
  std::vector<std::vector<std::string>> lines = {MeasurementColumns()};
  for (const Measurement& row : rows) lines.push_back(MeasurementCells(row));
  std::vector<bool> kept;
  for (size_t i = 0; i < WrittenColumns().size(); ++i) {
    const auto has = [i](const std::vector<std::string>& line) { return !line[i].empty(); };
    kept.push_back(WrittenColumns()[i].needed || std::any_of(lines.begin() + 1, lines.end(), has));
  }
  std::string text;
  for (const std::vector<std::string>& line : lines) {
    std::vector<std::string> cells;
    for (size_t i = 0; i < line.size(); ++i) {
      if (kept[i]) cells.push_back(line[i]);
    }
    text += CsvLine(cells);
  }
  return text;
}

}  // namespace foretoken::cli
