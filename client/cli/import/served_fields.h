// What the files of several tools have alike: times by name, lengths as means, traffic.
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_SERVED_FIELDS_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_SERVED_FIELDS_H_

#include <optional>
#include <string>

#include "client/cli/import/field_reader.h"
#include "client/cli/import/imported_run.h"

namespace foretoken::cli {

// Sets "ttft_p50_s" of ("ttft", 50).
void SetPercentile(const std::string& metric, int percent, std::optional<double> seconds, ImportedRun& run);

// Sets the mean of "ttft", "tpot" or "e2e".
void SetMean(const std::string& metric, std::optional<double> seconds, ImportedRun& run);

// Reads "mean_ttft_ms", "median_ttft_ms", "p99_ttft_ms" and so on of ttft, tpot, itl and e2e. `e2e` is how the tool
// calls the end-to-end time ("e2el"), `suffix` its unit ("_ms"), of which `per_second` make a second.
void ReadNamedTimes(const std::string& e2e, const std::string& suffix, double per_second, FieldReader& fields,
                    ImportedRun& run);

// Lengths that all requests are taken to have: totals of the run over its requests.
void ReadMeanLengths(const std::string& prompt_total, const std::string& output_total, std::optional<int32_t> requests,
                     FieldReader& fields, ImportedRun& run);

// The nearest whole number of tokens, at least 1. REQUIRES: tokens is finite and not negative.
int32_t WholeTokens(double tokens);

// How requests came: at a rate per second ("inf": all at once), in a closed loop of `concurrency`, or all at once.
// `requests` of the run; nothing if it is not known. A file that has a rate and a limit of concurrency is a fault.
void ReadTraffic(const std::string& rate, const std::string& concurrency, std::optional<int32_t> requests,
                 FieldReader& fields, ImportedRun& run);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_SERVED_FIELDS_H_
