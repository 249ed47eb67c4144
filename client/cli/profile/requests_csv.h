// The requests of measured runs as CSV: load, request, sent_s, ttft_s, tpot_s, e2e_s, prompt_tokens, output_tokens,
// status.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_REQUESTS_CSV_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_REQUESTS_CSV_H_

#include <string>

#include "client/cli/profile/load.h"

namespace foretoken::cli {

std::string RequestsHeader();
std::string RequestsLines(const LoadRun& run);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_REQUESTS_CSV_H_
