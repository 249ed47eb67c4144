// The flags of a scenario, shared by all commands that send one.
//
// Start of the room scenario/: from flags and files to messages of the API. It includes text/, terminal/ and the client
// library.
//
// One table maps each flag to a field of foretoken.v1.Scenario, so a new field of the API is one more row. Fields
// without a flag (inline specs, quantiles) come from the file of --scenario; flags override the file.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_SCENARIO_FLAGS_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_SCENARIO_FLAGS_H_

#include <istream>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "foretoken/v1/scenario.pb.h"

namespace CLI {
class App;
}

namespace foretoken::cli {

// Which flags a command has.
enum class ScenarioScope {
  kWhole,            // everything
  kWithoutHardware,  // the command has its own list of hardware
  kDeployment,       // the model, the hardware and the deployment
};

class ScenarioFlags {
 public:
  // Adds the flags to `command`, which they must outlive.
  void AddTo(CLI::App& command, ScenarioScope scope);

  // The requested scenario. Errors: INVALID_ARGUMENT: a file or a flag cannot be read; the flag is named.
  absl::StatusOr<v1::Scenario> Build(std::istream& in) const;

 private:
  std::string file_;
  std::string preset_;
  bool percentiles_ = false;
  std::map<std::string, std::string> texts_;  // by field path; empty: not given
};

// A flag of the scenario: "--tp" for the field "deployment.tensor_parallel".
struct ScenarioFlag {
  std::string name;
  std::string path;
};

// Finds a flag by its name ("tp") or by its field ("tensor_parallel", "tensor-parallel").
std::optional<ScenarioFlag> FindScenarioFlag(const std::string& called);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_SCENARIO_FLAGS_H_
