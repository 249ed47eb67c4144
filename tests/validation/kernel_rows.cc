#include "tests/validation/kernel_rows.h"

#include <fstream>
#include <map>
#include <optional>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/cli/text/csv.h"

namespace foretoken::validation {
namespace {

using Cells = std::map<std::string, std::string>;

std::optional<Dtype> DtypeOf(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(Dtype::kQ4_K_M); ++i) {
    if (DtypeName(static_cast<Dtype>(i)) == name) return static_cast<Dtype>(i);
  }
  return std::nullopt;
}

// NaN: no number.
double Number(const Cells& cells, const std::string& column) {
  double number;
  const auto found = cells.find(column);
  return found != cells.end() && absl::SimpleAtod(found->second, &number) ? number
                                                                          : std::numeric_limits<double>::quiet_NaN();
}

absl::StatusOr<KernelRow> RowOf(const Cells& cells, const catalog::Snapshot& snapshot) {
  const auto hardware = snapshot.FindHardware(cells.at("hardware"), "hardware");
  if (!hardware.ok()) return hardware.status();
  const std::optional<Dtype> weight = DtypeOf(cells.at("weight_dtype"));
  const std::optional<Dtype> activation = DtypeOf(cells.at("activation_dtype"));
  if (!weight || !activation) return absl::InvalidArgumentError("a dtype that is none");
  return KernelRow{.hardware = cells.at("hardware"),
                   .engine = cells.at("engine"),
                   .version = cells.at("engine_version"),
                   .sample = {.hardware = &(*hardware)->hardware,
                              .kernel = {.tokens = Number(cells, "tokens"),
                                         .chosen = Number(cells, "experts_per_token"),
                                         .rows = Number(cells, "rows"),
                                         .experts = Number(cells, "experts"),
                                         .hidden = Number(cells, "hidden_size"),
                                         .width = Number(cells, "width"),
                                         .matrices = Number(cells, "matrices"),
                                         .weight_dtype = *weight,
                                         .activation_dtype = *activation},
                              .measured = Seconds(Number(cells, "seconds"))}};
}

Cells CellsOf(const std::vector<std::string>& columns, const std::vector<std::string>& record) {
  Cells cells;
  for (size_t i = 0; i < columns.size(); ++i) cells[columns[i]] = i < record.size() ? record[i] : "";
  return cells;
}

}  // namespace

absl::StatusOr<std::vector<KernelRow>> ReadKernels(const std::string& folder, const catalog::Snapshot& snapshot,
                                                   std::vector<std::string>& rejected) {
  std::ifstream in(folder + "/experts.csv");
  cli::CsvReader reader(in);
  const std::optional<cli::CsvRecord> header = reader.Next();
  if (!header) return absl::NotFoundError(folder + "/experts.csv: is empty or absent");
  std::vector<KernelRow> rows;
  while (const std::optional<cli::CsvRecord> record = reader.Next()) {
    absl::StatusOr<KernelRow> row = RowOf(CellsOf(header->cells, record->cells), snapshot);
    const std::string place = absl::StrCat("kernels/experts.csv:", record->line, ": ");
    if (!row.ok()) return absl::Status(row.status().code(), absl::StrCat(place, row.status().message()));
    if (const std::optional<std::string> fault = KernelFault(row->sample)) {
      rejected.push_back(absl::StrCat(place, *fault));
    } else {
      rows.push_back(*std::move(row));
    }
  }
  return rows;
}

}  // namespace foretoken::validation
