// What is profiled: the question that the flags ask, completed by what the endpoint tells about itself.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_SETUP_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_SETUP_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/profile/discovery.h"
#include "client/cli/profile/runs_file.h"

namespace foretoken::cli {

struct Setup {
  v1::Scenario base;                // model, hardware and deployment
  ProfiledSystem system;            // the same, for the rows
  std::string served_model;         // as the endpoint names it
  int longest_sequence = 0;         // tokens of prompt and output together that it takes; 0: not told
  std::vector<std::string> told;    // "max_num_seqs 256 (/get_server_info)"
  std::vector<std::string> absent;  // "max_num_seqs (--max-running)": neither told nor given
};

// Completes `base`, of which a flag that is given counts more than what the endpoint tells. Errors: INVALID_ARGUMENT:
// model, hardware or engine are neither given nor told, or the endpoint does not serve `served_model`.
absl::StatusOr<Setup> Complete(v1::Scenario base, const std::string& served_model, const ServerFacts& facts);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_SETUP_H_
