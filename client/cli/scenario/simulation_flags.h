// The flags of a simulation: what `foretoken simulate` has beside those of a scenario.
#ifndef FORETOKEN_CLIENT_CLI_SCENARIO_SIMULATION_FLAGS_H_
#define FORETOKEN_CLIENT_CLI_SCENARIO_SIMULATION_FLAGS_H_

#include <istream>
#include <map>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "foretoken/v1/simulation.pb.h"

namespace CLI {
class App;
}

namespace foretoken::cli {

class SimulationFlags {
 public:
  // Adds the flags to `command`, which they must outlive.
  void AddTo(CLI::App& command);

  // What is asked. `in` is read for a trace "-". Errors: INVALID_ARGUMENT: a file or a flag cannot be read.
  absl::StatusOr<v1::Simulation> Build(std::istream& in) const;

 private:
  std::map<std::string, std::string> texts_;  // by field path; empty: not given
  std::string prompts_, outputs_, trace_;
};

// "500", "100..900", "200:0.8" (log-normal: mean and coefficient of variation) or "200:0.8:4000" (and the longest).
// Errors: INVALID_ARGUMENT: none of these.
absl::StatusOr<v1::LengthDistribution> ParseLengths(std::string_view text);

// A CSV with the columns arrival_seconds, prompt_tokens and output_tokens. Errors: INVALID_ARGUMENT: a column or a
// number is missing; the line is named.
absl::StatusOr<v1::Simulation::Trace> ReadTrace(const std::string& text, const std::string& file);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_SCENARIO_SIMULATION_FLAGS_H_
