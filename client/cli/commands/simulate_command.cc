// foretoken simulate MODEL HARDWARE: percentiles of a simulated engine.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/scenario/simulation_flags.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/simulation_text.h"

namespace foretoken::cli {
namespace {

struct Options {
  ScenarioFlags scenario;
  SimulationFlags simulation;
  std::string requests_out;
};

int Rounded(double tokens) { return static_cast<int>(std::clamp(std::round(tokens), 1.0, 1e8)); }

int MeanOf(const v1::LengthDistribution& lengths) {
  switch (lengths.shape_case()) {
    case v1::LengthDistribution::kUniform:
      return Rounded((static_cast<double>(lengths.uniform().low_tokens()) + lengths.uniform().high_tokens()) / 2);
    case v1::LengthDistribution::kLogNormal:
      return Rounded(lengths.log_normal().mean_tokens());
    default:
      return Rounded(lengths.fixed_tokens());
  }
}

// Of a trace's column.
template <typename Of>
int MeanOf(const v1::Simulation::Trace& trace, const Of& of) {
  double sum = 0;
  for (const v1::Simulation::Trace::Request& request : trace.requests()) sum += of(request);
  return Rounded(sum / std::max(1, trace.requests_size()));
}

// Batching is continuous unless something else is asked for. The lengths of a scenario, which are required, are the
// means of those that the simulation has.
void FillDefaults(const v1::Simulation& simulation, v1::Scenario& scenario) {
  v1::Workload& workload = *scenario.mutable_workload();
  if (workload.batching_policy() == v1::BATCHING_POLICY_UNSPECIFIED) {
    workload.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  }
  if (simulation.has_prompt_lengths()) workload.set_prompt_tokens(MeanOf(simulation.prompt_lengths()));
  if (simulation.has_output_lengths()) workload.set_output_tokens(MeanOf(simulation.output_lengths()));
  if (!simulation.has_trace()) return;
  workload.set_prompt_tokens(MeanOf(simulation.trace(), [](const auto& request) { return request.prompt_tokens(); }));
  workload.set_output_tokens(MeanOf(simulation.trace(), [](const auto& request) { return request.output_tokens(); }));
}

absl::StatusOr<v1::SimulateRequest> BuildRequest(const Options& options, std::istream& in) {
  const absl::StatusOr<v1::Scenario> scenario = options.scenario.Build(in);
  if (!scenario.ok()) return scenario.status();
  const absl::StatusOr<v1::Simulation> simulation = options.simulation.Build(in);
  if (!simulation.ok()) return simulation.status();
  v1::SimulateRequest request;
  *request.mutable_scenario() = *scenario;
  *request.mutable_simulation() = *simulation;
  FillDefaults(*simulation, *request.mutable_scenario());
  request.mutable_simulation()->set_include_requests(!options.requests_out.empty());
  return request;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const absl::StatusOr<v1::SimulateRequest> request = BuildRequest(options, session.in);
  if (!request.ok()) return request.status();
  const absl::StatusOr<v1::SimulateResponse> response = session.client.Simulate(*request);
  if (!response.ok()) return response.status();
  if (!options.requests_out.empty()) {
    const absl::Status written = WriteText(options.requests_out, RequestsCsv(*response));
    if (!written.ok()) return absl::InvalidArgumentError(absl::StrCat("--requests-out: ", written.message()));
  }
  switch (session.output) {
    case OutputFormat::kJson:
      session.out << ToJson(*response);
      break;
    case OutputFormat::kCsv:
      session.out << SimulationCsv(*response);
      break;
    case OutputFormat::kText:
      session.out << ScenarioTitle(request->scenario(), session.terminal) << "\n"
                  << SimulationText(*response, session.terminal);
  }
  return kOk;
}

}  // namespace

void AddSimulate(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand(
      "simulate", "Percentiles of TTFT, TPOT, ITL and E2E, from the engine's scheduler simulated step by step");
  command->footer(
      "Batching is continuous. -b is the concurrency of a closed loop; with --request-rate requests arrive at random.\n"
      "Example: foretoken simulate llama-3.1-8b nvidia-h100-sxm-80gb -p 1000 --output-lengths 200:0.8 --request-rate "
      "5");
  auto options = std::make_shared<Options>();
  options->simulation.AddTo(*command);
  command->add_option("--requests-out", options->requests_out, "Write one row for each counted request to this CSV")
      ->type_name("FILE")
      ->group("Simulation");
  options->scenario.AddTo(*command, ScenarioScope::kWhole);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
