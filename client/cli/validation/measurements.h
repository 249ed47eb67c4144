// Measurements of real hardware: the CSV that `validate`, `fit` and `register-hardware --samples` read, one row per
// configuration.
//
// Columns: hardware, model, engine, engine_version, tensor_parallel, pipeline_parallel, expert_parallel, data_parallel,
// weight_dtype, activation_dtype, kv_cache_dtype, batching, batch_size, request_rate, prompt_tokens, output_tokens,
// prefill_chunk_tokens, memory_utilization, ttft_s, tpot_s, e2e_s, source. The order is free; a column whose
// cells may all be blank may be absent. A blank or 0 degree is 1; a blank time was not measured.
//
// Served runs may have more columns:
//   prompt_tokens_min, output_tokens_min  lengths are uniform from these to prompt_tokens and output_tokens
//   requests                              of the whole run
//   max_num_seqs, scheduler               of the engine
//   max_num_batched_tokens                the prefill chunk, where prefill_chunk_tokens is blank
//   ttft_p50_s, ttft_p90_s, ttft_p95_s, ttft_p99_s, likewise of tpot, itl and e2e
//                                         percentiles over requests (itl: over tokens), seconds; no estimate uses them
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENTS_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENTS_H_

#include <istream>
#include <map>
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
  std::vector<std::string> cells;  // as in the file, one per column
  std::string hardware_id;
  v1::ProfileSample sample;  // configuration and measured times
  absl::Status status;       // why the row cannot be read; it then has file, line and cells only
  std::string source = {};
  std::map<std::string, double> percentiles = {};  // column, such as "ttft_p50_s", to seconds
};

// One file.
struct MeasurementFile {
  std::vector<std::string> columns;
  std::vector<Measurement> rows;
};

// Reads every row, also those that cannot be read. `file` is the name in messages.
// Errors: INVALID_ARGUMENT: columns are unknown, repeated or missing (all are named), or there is no row.
absl::StatusOr<MeasurementFile> ReadMeasurements(const std::string& file, std::istream& in);

// The columns of percentiles.
const std::vector<std::string>& PercentileColumns();

// A line for the error stream that names the columns with values that no estimate uses; empty: there is none.
std::string NoteOfUnused(const std::string& file, const MeasurementFile& read);

// "argonne.csv:12".
std::string Place(const Measurement& row);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_MEASUREMENTS_H_
