// Traces of requests from other projects: when each came and how long it was, without times of an engine. They become
// the CSV that `simulate --trace` reads, and a summary of the workload.
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_TRACE_FORMAT_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_TRACE_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace foretoken::cli {

struct TracedRequest {
  double arrival_seconds = 0;
  int32_t prompt_tokens = 0;
  int32_t output_tokens = 0;
};

struct ImportedTrace {
  std::vector<TracedRequest> requests;  // in order of arrival, the first at 0
  size_t left_out = 0;                  // requests without a prompt or an output
  // Share of the blocks of prompts that an earlier prompt had, as a cache of any size would find; nothing where the
  // trace does not tell blocks.
  std::optional<double> repeated_blocks;
};

struct TraceFormat {
  const char* name;
  const char* tool;  // whose traces these are
  absl::StatusOr<ImportedTrace> (*read)(const std::string& file, const std::string& text);
};

const std::vector<TraceFormat>& TraceFormats();

// Names of all formats, of results and of traces.
std::vector<std::string> ImportNames();

// Null if there is none of that name.
const TraceFormat* FindTraceFormat(const std::string& name);

// One object a line: timestamp (milliseconds), input_length, output_length, hash_ids (blocks of the prompt).
// Errors: INVALID_ARGUMENT: the file cannot be read, with line and field; it has too many requests, or none.
absl::StatusOr<ImportedTrace> ReadMooncakeTrace(const std::string& file, const std::string& text);

// CSV with the columns TIMESTAMP (a date and time, with or without a zone), ContextTokens, GeneratedTokens.
// Errors: as ReadMooncakeTrace.
absl::StatusOr<ImportedTrace> ReadAzureTrace(const std::string& file, const std::string& text);

// The columns arrival_seconds, prompt_tokens, output_tokens.
std::string TraceCsv(const ImportedTrace& trace);

// Lines for the error stream: rate, lengths, and what of the trace has no column. REQUIRES: there is a request.
std::string TraceSummary(const ImportedTrace& trace);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_TRACE_FORMAT_H_
