// Measurements of real hardware, one row a configuration: the CSV that `validate` and `register-hardware --samples`
// read.
//
// Columns: hardware, model, engine, engine_version, tensor_parallel, pipeline_parallel, expert_parallel, data_parallel,
// weight_dtype, activation_dtype, kv_cache_dtype, batching, batch_size, request_rate, prompt_tokens, output_tokens,
// prefill_chunk_tokens, memory_utilization, ttft_s, tpot_s, e2e_s, source. Any order; a column may be absent when it
// may be blank. A degree that is blank or 0 is 1; a blank time was not measured.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENTS_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENTS_H_

#include <istream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::cli {

// One row.
struct Measurement {
  std::string file;
  int line = 0;
  std::vector<std::string> cells;  // as in the file, one per column of it
  std::string hardware_id;
  v1::ProfileSample sample;  // what was run and measured, the API's form of a row
  absl::Status status;       // why the row cannot be read; such a row has only file, line and cells
};

// One file.
struct MeasurementFile {
  std::vector<std::string> columns;
  std::vector<Measurement> rows;
};

// Reads every row, the unreadable ones too. `file` is the name for messages.
// Errors: INVALID_ARGUMENT: a column is unknown, doubled or missing; all of them are named. Or there is no row.
absl::StatusOr<MeasurementFile> ReadMeasurements(const std::string& file, std::istream& in);

// "argonne.csv:12".
std::string Place(const Measurement& row);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENTS_H_
