#include "client/cli/validation/kernels.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "client/cli/text/csv.h"
#include "client/cli/validation/row_reader.h"

namespace foretoken::cli {
namespace {

const std::vector<std::string>& KernelColumns() {
  static const auto& columns = *new std::vector<std::string>{
      "hardware",         "engine",      "engine_version", "implementation",    "weight_dtype",
      "activation_dtype", "matrices",    "tokens",         "experts_per_token", "rows",
      "experts",          "hidden_size", "width",          "seconds",           "source"};
  return columns;
}

constexpr const char* kNeededOfKernels[] = {
    "hardware", "engine",      "weight_dtype", "activation_dtype", "tokens", "experts_per_token", "rows",
    "experts",  "hidden_size", "width",        "seconds"};

v1::RoutedExpertsKernel ReadExpertsKernel(RowReader& row) {
  v1::RoutedExpertsKernel kernel;
  kernel.set_tokens(row.RequiredCount("tokens", 1));
  kernel.set_num_experts_per_tok(row.RequiredCount("experts_per_token", 1));
  kernel.set_rows(row.RequiredNotNegative("rows"));
  row.Required("experts");
  kernel.set_num_experts(row.Positive("experts", "experts").value_or(1));
  kernel.set_hidden_size(row.RequiredCount("hidden_size", 1));
  kernel.set_moe_intermediate_size(row.RequiredCount("width", 1));
  if (!row.Text("matrices").empty()) kernel.set_mlp_matrices(row.RequiredCount("matrices", 2));
  return kernel;
}

v1::KernelSample ReadKernelSample(RowReader& row) {
  v1::KernelSample sample;
  for (const char* column : {"engine", "weight_dtype", "activation_dtype", "seconds"}) row.Required(column);
  sample.set_engine(EngineOf(row));
  sample.set_weight_dtype(row.Dtype("weight_dtype"));
  sample.set_activation_dtype(row.Dtype("activation_dtype"));
  sample.set_measured_seconds(row.Time("seconds").value_or(0));
  *sample.mutable_routed_experts() = ReadExpertsKernel(row);
  return sample;
}

}  // namespace

absl::StatusOr<std::vector<KernelRow>> ReadKernels(const std::string& file, std::istream& in) {
  CsvReader reader(in);
  const absl::StatusOr<CsvRecord> header = ReadHeader(file, KernelColumns(), kNeededOfKernels, reader);
  if (!header.ok()) return header.status();
  std::vector<KernelRow> rows;
  while (const std::optional<CsvRecord> record = reader.Next()) {
    RowReader cells(header->cells, record->cells);
    KernelRow row{.file = file,
                  .line = record->line,
                  .hardware_id = cells.Required("hardware"),
                  .sample = ReadKernelSample(cells),
                  .status = CheckQuotes(*record)};
    if (row.status.ok()) row.status = cells.status();
    rows.push_back(std::move(row));
  }
  if (rows.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": no rows below the header"));
  return rows;
}

std::string Place(const KernelRow& row) { return absl::StrCat(row.file, ":", row.line); }

}  // namespace foretoken::cli
