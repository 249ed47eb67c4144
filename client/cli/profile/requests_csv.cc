#include "client/cli/profile/requests_csv.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {

std::string RequestsHeader() {
  return CsvLine(
      {"load", "request", "sent_s", "ttft_s", "tpot_s", "e2e_s", "prompt_tokens", "output_tokens", "status"});
}

std::string RequestsLines(const LoadRun& run) {
  std::string lines;
  for (size_t i = 0; i < run.requests.size(); ++i) {
    const RequestTiming& request = run.requests[i];
    const int output = request.output_tokens.value_or(request.events);
    const bool known = request.status.ok() && request.events > 0;
    const double tpot = output > 1 ? (request.last - request.first) / (output - 1) : kUnknown;
    lines += CsvLine({Describe(run.point), absl::StrCat(i), FormatExact(request.sent),
                      FormatExact(known ? request.first : kUnknown), FormatExact(known ? tpot : kUnknown),
                      FormatExact(known ? request.last : kUnknown),
                      absl::StrCat(request.prompt_tokens.value_or(request.prompt_asked)), absl::StrCat(output),
                      request.status.ok() ? "ok" : std::string(request.status.message())});
  }
  return lines;
}

}  // namespace foretoken::cli
