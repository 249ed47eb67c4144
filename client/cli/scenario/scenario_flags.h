// The flags that spell out a scenario, shared by the commands that ask one.
//
// One table maps each flag to a field of foretoken.v1.Scenario, so a new field of the API is one more line. What no
// flag names (inline specs, quantiles) comes from --scenario; flags given beside it win.
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
};

class ScenarioFlags {
 public:
  // Adds the flags to `command`, which they must outlive.
  void AddTo(CLI::App& command, ScenarioScope scope);

  // The scenario asked for. Errors: INVALID_ARGUMENT: a file or a flag cannot be read; the flag is named.
  absl::StatusOr<v1::Scenario> Build(std::istream& in) const;

 private:
  std::string file_;
  std::string preset_;
  std::map<std::string, std::string> texts_;  // by field path; empty: not given
};

// A flag of the scenario: "--tp" for the field "deployment.tensor_parallel".
struct ScenarioFlag {
  std::string name;
  std::string path;
};

// By what a person calls it: as the flag ("tp") or as its field ("tensor_parallel", "tensor-parallel").
std::optional<ScenarioFlag> FindScenarioFlag(const std::string& called);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_SCENARIO_FLAGS_H_
