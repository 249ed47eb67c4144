// A CSV of measurements, runs or kernels. A row that cannot be read says why.
#include <sstream>

#include "client/cli/validation/kernels.h"
#include "client/cli/validation/measurements.h"
#include "tests/fuzz/fuzz.h"

namespace foretoken {

namespace {

void ReadAsKernels(std::string_view input) {
  std::istringstream in{std::string(input)};
  const absl::StatusOr<std::vector<cli::KernelRow>> rows = cli::ReadKernels("x.csv", in);
  fuzz::Require(rows.ok() || !rows.status().message().empty(), "a refusal without a message");
  if (!rows.ok()) return;
  for (const cli::KernelRow& row : *rows) {
    fuzz::Require(row.status.ok() || !row.status.message().empty(), "a row refused without a message");
  }
}

}  // namespace

void fuzz::One(std::string_view input) {
  ReadAsKernels(input);
  std::istringstream in{std::string(input)};
  const absl::StatusOr<cli::MeasurementFile> file = cli::ReadMeasurements("x.csv", in);
  Require(file.ok() || !file.status().message().empty(), "a refusal without a message");
  if (!file.ok()) return;
  Require(!file->rows.empty(), "a file without rows");
  for (const cli::Measurement& row : file->rows) {
    Require(row.status.ok() || !row.status.message().empty(), "a row refused without a message");
    Require(row.cells.size() <= file->columns.size() || !row.status.ok(), "more cells than columns");
  }
}

}  // namespace foretoken
