// A CSV of measurements. A row that cannot be read says why.
#include <sstream>

#include "client/cli/validation/measurements.h"
#include "tests/fuzz/fuzz.h"

namespace foretoken {

void fuzz::One(std::string_view input) {
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
