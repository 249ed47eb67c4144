// What an inference server tells about itself.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_DISCOVERY_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_DISCOVERY_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/profile/http.h"

namespace foretoken::cli {

// A fact of the server, as its text.
enum class Fact {
  kEngine,       // "vllm": as deployment.engine names it
  kVersion,      // "0.32.0"
  kModel,        // as requests name it
  kMaxModelLen,  // tokens of prompt and output together
  kMaxNumSeqs,
  kBatchedTokens,  // of a step at most
  kTensorParallel,
  kBlockTokens,  // of the KV cache
  kKvTokens,     // that the KV cache holds
};

struct KnownFact {
  std::string value;
  std::string source;  // the path that told
};

struct ServerFacts {
  std::map<Fact, KnownFact> facts;
  std::vector<std::string> models;  // all that are served

  std::string Text(Fact fact) const;  // empty: not told
  int Number(Fact fact) const;        // 0: not told, or no whole number above 0
};

// "max_num_seqs".
const char* NameOf(Fact fact);

// Asks the paths at which engines describe themselves. A path that is not there tells nothing. Errors:
// FAILED_PRECONDITION: the list of models (/v1/models), which every engine has, cannot be read.
absl::StatusOr<ServerFacts> Discover(HttpClient& http, const std::string& url);

// Counters of vLLM's prefix cache, tokens: {asked, found}; zeros where /metrics does not tell.
struct PrefixCounters {
  double queries = 0;
  double hits = 0;
};
PrefixCounters ReadPrefixCounters(HttpClient& http, const std::string& url);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_DISCOVERY_H_
