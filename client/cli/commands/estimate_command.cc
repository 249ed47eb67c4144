// foretoken estimate MODEL HARDWARE: one scenario.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

struct Options {
  ScenarioFlags scenario;
  bool token_latencies = false;
};

std::string CsvText(const v1::Scenario& scenario, const v1::Estimate& estimate) {
  std::vector<std::string> names = {"model", "hardware"};
  std::vector<std::string> values = {ModelName(scenario), HardwareName(scenario)};
  Append(EstimateColumnNames(), names);
  Append(EstimateCells(&estimate), values);
  return CsvLine(names) + CsvLine(values);
}

std::string TokensText(const v1::Estimate& estimate) {
  std::string text = estimate.token_latency_seconds().empty() ? "" : "\ntoken latencies:";
  for (double seconds : estimate.token_latency_seconds()) text += " " + FormatSeconds(seconds);
  return text.empty() ? "" : text + "\n";
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const absl::StatusOr<v1::Scenario> scenario = options.scenario.Build(session.in);
  if (!scenario.ok()) return scenario.status();
  v1::EstimateRequest request;
  *request.mutable_scenario() = *scenario;
  request.set_include_token_latencies(options.token_latencies);
  const absl::StatusOr<v1::EstimateResponse> response = session.client.Estimate(request);
  if (!response.ok()) return response.status();
  const v1::Estimate& estimate = response->estimate();
  switch (session.output) {
    case OutputFormat::kJson:
      session.out << ToJson(*response);
      break;
    case OutputFormat::kCsv:
      session.out << CsvText(*scenario, estimate);
      break;
    case OutputFormat::kText:
      session.out << ScenarioTitle(*scenario, session.terminal) << "\n"
                  << EstimateText(estimate, session.terminal) << TokensText(estimate)
                  << Footer(estimate, response->catalog_revision(), session.terminal);
  }
  return MissesSlo(estimate) ? kNo : kOk;
}

}  // namespace

void AddEstimate(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("estimate", "How long one request or one batch takes");
  command->footer(
      "A TIME is in seconds or has a unit: 200ms, 1.5s.\n"
      "Example: foretoken estimate llama-3.1-70b nvidia-h100-sxm-80gb --tp 4 --batch 16 --prompt 2048 "
      "--output-tokens 256");
  auto options = std::make_shared<Options>();
  options->scenario.AddTo(*command, ScenarioScope::kWhole);
  command->add_flag("--token-latencies", options->token_latencies, "Add the latency of every token");
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
