// foretoken sweep MODEL HARDWARE --axis ...: every point of a grid.
#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/sweep_output.h"
#include "client/cli/scenario/axis.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/terminal/interrupt.h"
#include "client/cli/terminal/progress.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

struct Options {
  ScenarioFlags scenario;
  std::vector<std::string> axes;
  std::vector<std::string> metrics;
  std::string frontier = "tpot";
  int max_rows = 100;
};

absl::StatusOr<v1::Metric> ParseMetric(const std::string& text) {
  for (const std::string& name : {text, text + "_seconds"}) {
    const std::optional<int> metric = ParseEnum(*v1::Metric_descriptor(), name);
    if (metric.has_value()) return static_cast<v1::Metric>(*metric);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("--metric \"", text, "\"; allowed: ", EnumChoices(*v1::Metric_descriptor())));
}

absl::StatusOr<v1::SweepRequest> BuildRequest(const Options& options, std::istream& in) {
  const absl::StatusOr<v1::Scenario> base = options.scenario.Build(in);
  if (!base.ok()) return base.status();
  v1::SweepRequest request;
  *request.mutable_base() = *base;
  for (const std::string& text : options.axes) {
    const absl::StatusOr<v1::SweepAxis> axis = ParseAxis(text);
    if (!axis.ok()) return axis.status();
    *request.add_axes() = *axis;
  }
  for (const std::string& text : options.metrics) {
    const absl::StatusOr<v1::Metric> metric = ParseMetric(text);
    if (!metric.ok()) return metric.status();
    request.add_metrics(*metric);
  }
  const bool ttft = options.frontier == "ttft";
  request.set_frontier_metric(ttft ? v1::FRONTIER_METRIC_TTFT : v1::FRONTIER_METRIC_TPOT);
  return request;
}

void ShowProgress(const v1::SweepHeader& header, const v1::SweepChunk& chunk, Progress& progress) {
  const double done = static_cast<double>(chunk.first_point() + chunk.num_points());
  progress.Update(chunk.progress(), absl::StrCat(FormatCount(done), " of ",
                                                 FormatCount(static_cast<double>(header.total_points())), " points"));
}

// Reads the stream into `output`, to its end or until `out` cannot be written; the caller of Run reports that.
absl::Status Drain(client::SweepStream& sweep, SweepOutput& output, const std::ostream& out, Progress& progress) {
  const absl::StatusOr<v1::SweepHeader> header = sweep.ReadHeader();
  if (!header.ok()) return header.status();
  output.Header(*header);
  const client::SweepGrid grid(*header);
  while (true) {
    const absl::StatusOr<std::optional<v1::SweepChunk>> chunk = sweep.ReadChunk();
    if (!chunk.ok()) return chunk.status();
    if (!chunk->has_value()) return absl::OkStatus();
    for (int i = 0; i < (*chunk)->num_points(); ++i) output.Row(client::RowOf(grid, **chunk, i));
    for (const v1::SweepError& error : (*chunk)->errors()) output.Error(error);
    ShowProgress(*header, **chunk, progress);
    if (!out.good()) {
      sweep.Cancel();
      return absl::OkStatus();
    }
  }
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const absl::StatusOr<v1::SweepRequest> request = BuildRequest(options, session.in);
  if (!request.ok()) return request.status();
  const std::unique_ptr<client::SweepStream> sweep = session.client.Sweep(*request);
  const std::unique_ptr<SweepOutput> output = MakeSweepOutput(session, options.max_rows);
  Progress progress(session.err, session.terminal);
  const InterruptScope interrupt([&sweep] { sweep->Cancel(); });
  const absl::Status status = Drain(*sweep, *output, session.out, progress);
  progress.Clear();
  if (absl::IsCancelled(status)) session.err << "foretoken: interrupted, the sweep was cancelled\n";
  if (!status.ok()) return status;
  output->Summary(sweep->summary());
  return sweep->summary().ok_points() > 0 ? kOk : kNo;
}

}  // namespace

void AddSweep(CLI::App& app, Action& chosen) {
  CLI::App* command =
      app.add_subcommand("sweep", "Every point of a grid, its frontier, and the best point that meets an SLO");
  command->footer(
      "An axis is FIELD=VALUES: batch=1,2,4 or batch=1..256:log:9 or batch=1..64:lin:8 or batch=1..8 or hardware=a,b\n"
      "or weight-dtype=bf16,fp8 or batching=static,continuous or unfused=true,false. FIELD is the name of a flag or "
      "any\n"
      "path in a scenario (workload.batch_size). The last axis is innermost. --output csv and json stream one line "
      "per\n"
      "point. Ctrl-C cancels. Exit 1: no point could be estimated.");
  auto options = std::make_shared<Options>();
  options->scenario.AddTo(*command, ScenarioScope::kWhole);
  command->add_option("-x,--axis", options->axes, "An axis of the grid; the first is outermost")
      ->required()
      ->type_name("FIELD=VALUES")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      ->add_option("-m,--metric", options->metrics,
                   "A metric, for example ttft or mbu; default: TTFT, TPOT, E2E, throughput")
      ->type_name("NAME,...")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->delimiter(',');
  command->add_option("--frontier", options->frontier, "Latency of the frontier: tpot or ttft")
      ->check(CLI::IsMember({"tpot", "ttft"}))
      ->capture_default_str();
  command->add_option("--max-rows", options->max_rows, "Text output: list the points if there are at most this many")
      ->capture_default_str();
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
