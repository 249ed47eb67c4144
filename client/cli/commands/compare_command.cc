// foretoken compare MODEL HARDWARE...: one row per hardware, best first.
#include <CLI/CLI.hpp>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/evidence.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/evidence_note.h"
#include "client/cli/text/format.h"
#include "client/status_details.h"

namespace foretoken::cli {
namespace {

struct Options {
  ScenarioFlags scenario;
  std::vector<std::string> hardware;
  std::string rank = "e2e";
};

absl::StatusOr<v1::BatchEstimateRequest> BuildRequest(const Options& options, std::istream& in) {
  const absl::StatusOr<v1::Scenario> base = options.scenario.Build(in);
  if (!base.ok()) return base.status();
  v1::BatchEstimateRequest request;
  *request.mutable_base() = *base;
  for (const std::string& id : options.hardware) {
    v1::Candidate& candidate = *request.add_candidates();
    candidate.set_candidate_id(id);
    candidate.set_hardware_id(id);
  }
  // CLI11 has checked the value.
  request.set_rank_by(static_cast<v1::RankBy>(*ParseEnum(*v1::RankBy_descriptor(), options.rank)));
  return request;
}

std::vector<int> Order(const v1::BatchEstimateResponse& response) {
  if (!response.ranking().empty()) return {response.ranking().begin(), response.ranking().end()};
  std::vector<int> order(response.results_size());
  std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<Cell> Row(int rank, const v1::CandidateResult& result) {
  const v1::Estimate& e = result.estimate();
  const double per_device = e.has_throughput() ? e.throughput().output_tokens_per_second_per_device() : kUnknown;
  return {absl::StrCat(rank),
          result.candidate_id(),
          FormatSeconds(SecondsOf(e.has_ttft(), e.ttft())),
          FormatSeconds(SecondsOf(e.has_tpot(), e.tpot())),
          FormatSeconds(SecondsOf(e.has_e2e(), e.e2e())),
          FormatCount(per_device),
          FormatPercent(e.has_mbu() ? e.mbu() : kUnknown),
          VerdictCell(e),
          ProvenanceText(e)};
}

std::string TextOf(const v1::BatchEstimateResponse& response, const std::string& model, const Session& session) {
  const Terminal& terminal = session.terminal;
  Table table({{"", Align::kRight},
               {"hardware"},
               {"TTFT", Align::kRight},
               {"TPOT", Align::kRight},
               {"E2E", Align::kRight},
               {"tok/s/device", Align::kRight},
               {"MBU", Align::kRight},
               {"SLO"},
               {"provenance"}});
  std::string refusals;
  std::vector<RankedRow> rows;
  int rank = 0;
  for (int index : Order(response)) {
    const v1::CandidateResult& result = response.results(index);
    if (result.has_estimate()) {
      table.AddRow(Row(++rank, result));
      rows.push_back({result.candidate_id(), result.estimate()});
    } else {
      absl::StrAppend(&refusals, terminal.Paint(result.candidate_id(), Look::kBad), ": ",
                      client::Describe(client::FromProto(result.status())), "\n");
    }
  }
  return absl::StrCat(table.empty() ? "" : table.Render(terminal), NoteOfEvidence(rows, model, session),
                      EngineWarnings(rows, terminal), refusals.empty() ? "" : "\n", refusals, "\n",
                      terminal.Paint(RevisionText(response.catalog_revision()), Look::kDim), "\n");
}

std::string CsvText(const v1::BatchEstimateResponse& response) {
  std::vector<std::string> names = {"rank", "hardware"};
  Append(EstimateColumnNames(), names);
  names.push_back("status");
  std::string text = CsvLine(names);
  int rank = 0;
  for (int index : Order(response)) {
    const v1::CandidateResult& result = response.results(index);
    std::vector<std::string> cells = {result.has_estimate() ? absl::StrCat(++rank) : "", result.candidate_id()};
    Append(EstimateCells(result.has_estimate() ? &result.estimate() : nullptr), cells);
    cells.push_back(result.has_estimate() ? "OK" : client::DescribeInLine(client::FromProto(result.status())));
    text += CsvLine(cells);
  }
  return text;
}

ExitCode Answer(const v1::BatchEstimateResponse& response) {
  for (const v1::CandidateResult& result : response.results()) {
    if (result.has_estimate() && !MissesSlo(result.estimate())) return kOk;
  }
  return kNo;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const absl::StatusOr<v1::BatchEstimateRequest> request = BuildRequest(options, session.in);
  if (!request.ok()) return request.status();
  const absl::StatusOr<v1::BatchEstimateResponse> response = session.client.BatchEstimate(*request);
  if (!response.ok()) return response.status();
  switch (session.output) {
    case OutputFormat::kJson:
      session.out << ToJson(*response);
      break;
    case OutputFormat::kCsv:
      session.out << CsvText(*response);
      break;
    case OutputFormat::kText:
      session.out << ScenarioTitle(request->base(), session.terminal) << "\n"
                  << TextOf(*response, ModelName(request->base()), session);
  }
  return Answer(*response);
}

}  // namespace

void AddCompare(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("compare", "One scenario on several hardware, best first");
  command->footer("Exit 1: nothing could be estimated, or no hardware meets the SLO.");
  auto options = std::make_shared<Options>();
  options->scenario.AddTo(*command, ScenarioScope::kWithoutHardware);
  command->add_option("HARDWARE,--hardware", options->hardware, "Hardware, catalog ids or aliases")
      ->required()
      ->expected(1, 1000)
      ->group("Question");
  command->add_option("--rank", options->rank, "Metric to rank by")
      ->check(CLI::IsMember({"ttft", "tpot", "e2e", "slo_headroom", "slo_probability"}))
      ->capture_default_str();
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
