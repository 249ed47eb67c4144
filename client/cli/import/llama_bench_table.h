// The table that llama-bench prints unless another format is asked for (Markdown), as records with the names of its
// JSON.
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_LLAMA_BENCH_TABLE_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_LLAMA_BENCH_TABLE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/import/json_records.h"

namespace foretoken::cli {

// Whether the text is no JSON and has a line that begins with "|".
bool IsLlamaBenchTable(const std::string& text);

// Other lines, as logs, are passed over; "build: 8cf427ff (5163)" gives the build of all rows. A time is tokens over
// their mean rate. Errors: INVALID_ARGUMENT: no row, too many, a row with other cells than the header, a test or a rate
// that cannot be read.
absl::StatusOr<std::vector<JsonRecord>> ReadLlamaBenchTable(const std::string& file, const std::string& text);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_LLAMA_BENCH_TABLE_H_
