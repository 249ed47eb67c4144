#include "client/cli/import/trace_format.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/import/field_reader.h"
#include "client/cli/import/import_format.h"
#include "client/cli/import/imported_run.h"
#include "client/cli/import/json_records.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/format.h"
#include "client/cli/validation/row_reader.h"

namespace foretoken::cli {
namespace {

constexpr const char* kAzureColumns[] = {"TIMESTAMP", "ContextTokens", "GeneratedTokens"};

// Sorted, and from 0.
absl::StatusOr<ImportedTrace> Finished(const std::string& file, ImportedTrace trace,
                                       const std::vector<std::string>& faults) {
  if (!faults.empty()) return absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
  if (trace.requests.empty()) return absl::InvalidArgumentError(absl::StrCat(file, ": has no request"));
  std::stable_sort(trace.requests.begin(), trace.requests.end(), [](const TracedRequest& a, const TracedRequest& b) {
    return a.arrival_seconds < b.arrival_seconds;
  });
  const double start = trace.requests.front().arrival_seconds;
  for (TracedRequest& request : trace.requests) request.arrival_seconds -= start;
  return trace;
}

void Add(const TracedRequest& request, ImportedTrace& trace) {
  if (request.prompt_tokens > 0 && request.output_tokens > 0) {
    trace.requests.push_back(request);
  } else {
    ++trace.left_out;
  }
}

// Counts blocks, and those that were seen before.
class Blocks {
 public:
  void Add(const google::protobuf::Struct& fields) {
    const auto ids = fields.fields().find("hash_ids");
    if (ids == fields.fields().end()) return;
    for (const auto& id : ids->second.list_value().values()) {
      ++all_;
      if (!seen_.insert(id.number_value()).second) ++repeated_;
    }
  }

  std::optional<double> Share() const {
    if (all_ == 0) return std::nullopt;
    return static_cast<double>(repeated_) / static_cast<double>(all_);
  }

 private:
  std::set<double> seen_;
  size_t all_ = 0;
  size_t repeated_ = 0;
};

TracedRequest ReadMooncakeRequest(FieldReader& fields) {
  for (const char* needed : {"timestamp", "input_length", "output_length"}) {
    if (!fields.Has(needed)) fields.AddFault(needed, "is missing");
  }
  return {.arrival_seconds = fields.Seconds("timestamp", kMilliseconds).value_or(0),
          .prompt_tokens = fields.Count("input_length", 0).value_or(0),
          .output_tokens = fields.Count("output_length", 0).value_or(0)};
}

// "2023-11-16 18:15:46.6805900", or with a zone: "2024-05-10 00:00:00.009930+00:00".
std::optional<absl::Time> ParseAzureTime(const std::string& text) {
  absl::Time time;
  std::string error;
  for (const char* form : {"%Y-%m-%d %H:%M:%E*S", "%Y-%m-%d %H:%M:%E*S%Ez"}) {
    if (absl::ParseTime(form, text, absl::UTCTimeZone(), &time, &error)) return time;
  }
  return std::nullopt;
}

// Arrivals from `start`, the first time that was read.
TracedRequest ReadAzureRequest(RowReader& row, std::optional<absl::Time>& start) {
  const std::string text = row.Required("TIMESTAMP");
  const std::optional<absl::Time> time = ParseAzureTime(text);
  if (!time && !text.empty()) {
    row.Fault(absl::StrCat("TIMESTAMP \"", text, "\"; allowed, for example: 2023-11-16 18:15:46.6805900"));
  }
  if (time && !start) start = time;
  return {.arrival_seconds = time ? absl::ToDoubleSeconds(*time - *start) : 0,
          .prompt_tokens = row.RequiredCount("ContextTokens", 0),
          .output_tokens = row.RequiredCount("GeneratedTokens", 0)};
}

// The value that a share of the sorted values does not exceed.
int32_t Quantile(const std::vector<int32_t>& sorted, double share) {
  const size_t rank = static_cast<size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<size_t>(rank, 1) - 1];
}

std::string LengthSummary(const char* what, std::vector<int32_t> lengths) {
  std::sort(lengths.begin(), lengths.end());
  double sum = 0;
  for (const int32_t length : lengths) sum += length;
  return absl::StrCat("note: ", what, " tokens: mean ", FormatCount(sum / static_cast<double>(lengths.size())),
                      ", p50 ", Quantile(lengths, 0.5), ", p90 ", Quantile(lengths, 0.9), ", p99 ",
                      Quantile(lengths, 0.99), ", longest ", lengths.back(), "\n");
}

// Over the gaps between arrivals, 1 for independent arrivals; nothing where there is no time between them.
std::optional<double> VariationOfGaps(const std::vector<TracedRequest>& requests) {
  const double count = static_cast<double>(requests.size()) - 1;
  const double mean = requests.back().arrival_seconds / count;
  if (count < 1 || !(mean > 0)) return std::nullopt;
  double squares = 0;
  for (size_t i = 1; i < requests.size(); ++i) {
    const double off = requests[i].arrival_seconds - requests[i - 1].arrival_seconds - mean;
    squares += off * off;
  }
  return std::sqrt(squares / count) / mean;
}

std::string ArrivalSummary(const std::vector<TracedRequest>& requests) {
  const double span = requests.back().arrival_seconds;
  const std::string count =
      absl::StrCat("note: ", FormatCount(static_cast<double>(requests.size())), " requests in ", FormatSeconds(span));
  const std::optional<double> variation = VariationOfGaps(requests);
  if (!variation) return count + "\n";
  return absl::StrCat(count, ": ", ThreeDigits(static_cast<double>(requests.size() - 1) / span),
                      " requests/s, with gaps of a coefficient of variation of ", ThreeDigits(*variation), "\n");
}

}  // namespace

const std::vector<TraceFormat>& TraceFormats() {
  static const auto& formats = *new std::vector<TraceFormat>{
      {"mooncake-trace", "requests of Mooncake (JSON lines)", &ReadMooncakeTrace},
      {"azure-trace", "requests of the Azure LLM inference traces (CSV)", &ReadAzureTrace}};
  return formats;
}

std::vector<std::string> ImportNames() {
  std::vector<std::string> names;
  for (const ImportFormat& format : ImportFormats()) names.emplace_back(format.name);
  for (const TraceFormat& format : TraceFormats()) names.emplace_back(format.name);
  return names;
}

const TraceFormat* FindTraceFormat(const std::string& name) {
  for (const TraceFormat& format : TraceFormats()) {
    if (name == format.name) return &format;
  }
  return nullptr;
}

absl::StatusOr<ImportedTrace> ReadMooncakeTrace(const std::string& file, const std::string& text) {
  const absl::StatusOr<std::vector<JsonRecord>> records = ReadJsonRecords(file, text);
  if (!records.ok()) return records.status();
  const std::set<std::string> ignored;
  ImportedTrace trace;
  Blocks blocks;
  std::vector<std::string> faults;
  for (const JsonRecord& record : *records) {
    FieldReader fields(record.fields, ignored);
    Add(ReadMooncakeRequest(fields), trace);
    blocks.Add(record.fields);
    for (const FieldReader::Fault& fault : fields.faults()) {
      faults.push_back(absl::StrCat(file, ":", LineOf(record, fault.path), ": ", fault.path, " ", fault.what));
    }
    if (faults.size() >= kMostImportFaults) break;
  }
  trace.repeated_blocks = blocks.Share();
  return Finished(file, std::move(trace), faults);
}

absl::StatusOr<ImportedTrace> ReadAzureTrace(const std::string& file, const std::string& text) {
  std::istringstream in(text);
  CsvReader reader(in);
  const std::vector<std::string> known(std::begin(kAzureColumns), std::end(kAzureColumns));
  const absl::StatusOr<CsvRecord> header = ReadHeader(file, known, kAzureColumns, reader);
  if (!header.ok()) return header.status();
  ImportedTrace trace;
  std::optional<absl::Time> start;
  std::vector<std::string> faults;
  while (const std::optional<CsvRecord> record = reader.Next()) {
    RowReader row(header->cells, record->cells);
    Add(ReadAzureRequest(row, start), trace);
    if (!row.status().ok()) faults.push_back(absl::StrCat(file, ":", record->line, ": ", row.status().message()));
    if (faults.size() >= kMostImportFaults) break;
    if (trace.requests.size() > kMostRecords) {
      return absl::InvalidArgumentError(
          absl::StrCat(file, ":", record->line, ": allowed: at most ", kMostRecords, " requests"));
    }
  }
  return Finished(file, std::move(trace), faults);
}

std::string TraceCsv(const ImportedTrace& trace) {
  std::string csv = CsvLine({"arrival_seconds", "prompt_tokens", "output_tokens"});
  for (const TracedRequest& request : trace.requests) {
    csv += CsvLine({FormatExact(request.arrival_seconds), absl::StrCat(request.prompt_tokens),
                    absl::StrCat(request.output_tokens)});
  }
  return csv;
}

std::string TraceSummary(const ImportedTrace& trace) {
  std::vector<int32_t> prompts;
  std::vector<int32_t> outputs;
  for (const TracedRequest& request : trace.requests) {
    prompts.push_back(request.prompt_tokens);
    outputs.push_back(request.output_tokens);
  }
  std::string summary = absl::StrCat(ArrivalSummary(trace.requests), LengthSummary("prompt", std::move(prompts)),
                                     LengthSummary("output", std::move(outputs)));
  if (trace.repeated_blocks) {
    absl::StrAppend(&summary, "note: ", FormatPercent(*trace.repeated_blocks),
                    " of the blocks of prompts were in an earlier prompt; a trace has no column for them\n");
  }
  if (trace.left_out > 0) {
    absl::StrAppend(&summary, "note: left out ", trace.left_out, " requests without a prompt or an output\n");
  }
  return summary;
}

}  // namespace foretoken::cli
