// A benchmark file of another tool, read by every format and completed as by flags, and as a trace. A refusal says why;
// rows that are given read back.
#include <sstream>

#include "client/cli/import/import_flags.h"
#include "client/cli/import/import_format.h"
#include "client/cli/import/trace_format.h"
#include "client/cli/validation/measurement_writer.h"
#include "tests/fuzz/fuzz.h"

namespace foretoken {
namespace {

// With what no file says, and with all that some do not say.
const std::vector<cli::ImportFlags>& Flags() {
  static const auto& flags = *new std::vector<cli::ImportFlags>{
      {.hardware = "gpu", .model = "model", .engine = "", .fields = {{"batch_size", "8"}}},
      {.hardware = "gpu",
       .model = "",
       .engine = "vllm@1",
       .fields = {
           {"deployment.weight_dtype", "bf16"}, {"deployment.tensor_parallel", "1"}, {"prompt_spread_tokens", "9"}}}};
  return flags;
}

void CheckRows(const std::vector<cli::ImportedRun>& runs, const cli::ImportFlags& flags) {
  const auto rows = cli::CompleteRuns(runs, flags, "fuzz", [](const std::string& name) { return name; });
  fuzz::Require(rows.ok() || !rows.status().message().empty(), "runs refused without a message");
  if (!rows.ok() || rows->empty()) return;
  std::istringstream in(cli::MeasurementsCsv(*rows));
  const absl::StatusOr<cli::MeasurementFile> read = cli::ReadMeasurements("x.csv", in);
  fuzz::Require(read.ok() && read->rows.size() == rows->size(), "rows that do not read back");
  for (const cli::Measurement& row : read->rows) fuzz::Require(row.status.ok(), "a row that does not read back");
}

void ReadTraces(const std::string& input) {
  for (const cli::TraceFormat& format : cli::TraceFormats()) {
    const auto trace = format.read("x", input);
    fuzz::Require(trace.ok() || !trace.status().message().empty(), "a trace refused without a message");
    if (!trace.ok()) continue;
    fuzz::Require(!trace->requests.empty() && trace->requests[0].arrival_seconds == 0, "a trace that does not begin");
    fuzz::Require(!cli::TraceSummary(*trace).empty(), "no summary");
  }
}

}  // namespace

void fuzz::One(std::string_view input) {
  ReadTraces(std::string(input));
  for (const cli::ImportFormat& format : cli::ImportFormats()) {
    cli::LeftOut left_out;
    const auto runs = cli::ReadImport(format, "x.json", std::string(input), {}, left_out);
    Require(runs.ok() || !runs.status().message().empty(), "a refusal without a message");
    if (!runs.ok()) continue;
    for (const cli::ImportFlags& flags : Flags()) CheckRows(*runs, flags);
  }
}

}  // namespace foretoken
