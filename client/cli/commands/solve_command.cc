// foretoken solve WHAT MODEL HARDWARE: the largest batch, highest rate, ... that meets an SLO.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/evidence.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/scenario/usage_error.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/evidence_note.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"
#include "client/status_details.h"

namespace foretoken::cli {
namespace {

struct Options {
  ScenarioFlags scenario;
  v1::SolveFor what = v1::SOLVE_FOR_UNSPECIFIED;
  std::optional<double> min, max;
  std::vector<std::string> candidates;  // as AddCandidate reads them
};

// "ID", "ID=PRICE" or "ID:TP=PRICE"; the rest of the deployment comes from the base.
absl::Status AddCandidate(const std::string& text, v1::SolveRequest& request) {
  const std::pair<std::string, std::string> placed_and_price = absl::StrSplit(text, absl::MaxSplits('=', 1));
  const std::pair<std::string, std::string> id_and_tp = absl::StrSplit(placed_and_price.first, absl::MaxSplits(':', 1));
  v1::HardwareCandidate& candidate = *request.add_candidates();
  candidate.set_hardware_id(id_and_tp.first);
  int tensor_parallel = 0;
  double price = 0;
  const bool has_tp = !id_and_tp.second.empty();
  const bool has_price = !placed_and_price.second.empty();
  if ((has_tp && !absl::SimpleAtoi(id_and_tp.second, &tensor_parallel)) ||
      (has_price && !absl::SimpleAtod(placed_and_price.second, &price))) {
    return absl::InvalidArgumentError(
        absl::StrCat("--candidate \"", text, "\"; allowed: ID=PRICE, ID:TP=PRICE, or without a price and --price"));
  }
  if (has_price) candidate.set_price_per_device_hour(price);
  if (!has_tp) return absl::OkStatus();
  *candidate.mutable_deployment() = request.base().deployment();
  candidate.mutable_deployment()->set_tensor_parallel(tensor_parallel);
  return absl::OkStatus();
}

absl::StatusOr<v1::SolveRequest> BuildRequest(const Options& options, std::istream& in) {
  const absl::StatusOr<v1::Scenario> base = options.scenario.Build(in);
  if (!base.ok()) return base.status();
  v1::SolveRequest request;
  *request.mutable_base() = *base;
  request.set_solve_for(options.what);
  if (options.min) request.set_min_value(*options.min);
  if (options.max) request.set_max_value(*options.max);
  for (const std::string& text : options.candidates) {
    if (absl::Status status = AddCandidate(text, request); !status.ok()) return status;
  }
  return request;
}

// "batch_size 37", "hardware nvidia-l4-24gb".
std::string Named(const v1::SolveRequest& request, double value) {
  const std::string name = EnumText(request.solve_for());
  const bool is_candidate =
      request.solve_for() == v1::SOLVE_FOR_HARDWARE && value >= 0 && value < request.candidates_size();
  if (!is_candidate) return absl::StrCat(name, " ", FormatCount(value));
  return absl::StrCat(name, " ", request.candidates(static_cast<int>(value)).hardware_id());
}

std::string AnswerText(const v1::SolveRequest& request, const v1::SolveResponse& response, const Terminal& terminal) {
  std::string text;
  if (response.satisfied()) {
    text = terminal.Paint(Named(request, response.value()), Look::kGood) + " satisfies\n";
  } else {
    text = terminal.Paint(absl::StrCat("no ", EnumText(request.solve_for()), " satisfies"), Look::kBad);
    if (response.has_nearest_value()) text += "; nearest: " + Named(request, response.nearest_value());
    text += "\n";
  }
  if (response.binding_message().empty()) return text;
  return absl::StrCat(text, "  ", EnumText(response.binding_constraint()), ": ",
                      client::Printable(response.binding_message()), "\n");
}

std::string CandidatesText(const v1::SolveRequest& request, const v1::SolveResponse& response, const Session& session) {
  const Terminal& terminal = session.terminal;
  if (response.candidate_results().empty()) return "";
  Table table({{"hardware"},
               {"TTFT", Align::kRight},
               {"TPOT", Align::kRight},
               {"E2E", Align::kRight},
               {"cost/request", Align::kRight},
               {"SLO"},
               {"provenance"}});
  std::string refusals;
  std::vector<RankedRow> rows;
  for (int i = 0; i < std::min(response.candidate_results_size(), request.candidates_size()); ++i) {
    const v1::HardwareCandidateResult& result = response.candidate_results(i);
    const std::string& id = request.candidates(i).hardware_id();
    const v1::Estimate& e = result.estimate();
    if (result.has_estimate()) {
      table.AddRow(
          {id, FormatSeconds(e.ttft().seconds()), FormatSeconds(e.tpot().seconds()), FormatSeconds(e.e2e().seconds()),
           FormatCount(e.has_cost() ? e.cost().cost_per_request() : kUnknown), VerdictCell(e), ProvenanceText(e)});
      rows.push_back({id, e});
    } else {
      absl::StrAppend(&refusals, terminal.Paint(id, Look::kBad), ": ",
                      client::Describe(client::FromProto(result.status())), "\n");
    }
  }
  return absl::StrCat("\n", table.Render(terminal, 0), NoteOfEvidence(rows, ModelName(request.base()), session),
                      EngineWarnings(rows, terminal), refusals);
}

std::string CsvText(const v1::SolveRequest& request, const v1::SolveResponse& response) {
  std::vector<std::string> names = {"solve_for", "satisfied", "value", "nearest_value", "binding_constraint"};
  std::vector<std::string> values = {EnumText(request.solve_for()), response.satisfied() ? "true" : "false",
                                     FormatExact(response.has_value() ? response.value() : kUnknown),
                                     FormatExact(response.has_nearest_value() ? response.nearest_value() : kUnknown),
                                     EnumText(response.binding_constraint())};
  Append(EstimateColumnNames(), names);
  Append(EstimateCells(response.has_estimate() ? &response.estimate() : nullptr), values);
  return CsvLine(names) + CsvLine(values);
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  const absl::StatusOr<v1::SolveRequest> request = BuildRequest(options, session.in);
  if (!request.ok()) return request.status();
  const absl::StatusOr<v1::SolveResponse> response = session.client.Solve(*request);
  if (!response.ok()) return response.status();
  const v1::Estimate& estimate = response->estimate();
  switch (session.output) {
    case OutputFormat::kJson:
      session.out << ToJson(*response);
      break;
    case OutputFormat::kCsv:
      session.out << CsvText(*request, *response);
      break;
    case OutputFormat::kText:
      session.out << AnswerText(*request, *response, session.terminal) << CandidatesText(*request, *response, session);
      if (response->has_estimate()) {
        session.out << "\n"
                    << EstimateText(estimate, session.terminal)
                    << Footer(estimate, response->catalog_revision(), session.terminal);
      }
  }
  return response->satisfied() ? kOk : kNo;
}

}  // namespace

void AddSolve(CLI::App& app, Action& chosen) {
  const std::vector<std::pair<std::string, v1::SolveFor>> what = {{"batch", v1::SOLVE_FOR_BATCH_SIZE},
                                                                  {"rate", v1::SOLVE_FOR_REQUEST_RATE},
                                                                  {"prompt", v1::SOLVE_FOR_PROMPT_TOKENS},
                                                                  {"tp", v1::SOLVE_FOR_TENSOR_PARALLEL},
                                                                  {"hardware", v1::SOLVE_FOR_HARDWARE}};
  CLI::App* command = app.add_subcommand(
      "solve", "The largest batch, highest rate, longest prompt, smallest tp or cheapest hardware that meets an SLO");
  command->footer(
      "Exit 1: no value meets the SLO; the answer then names the nearest value.\n"
      "Example: foretoken solve batch llama-3.1-70b nvidia-h100-sxm-80gb --tp 4 -p 2048 -o 256 --slo-tpot 40ms");
  auto options = std::make_shared<Options>();
  command->add_option("WHAT", options->what, "batch, rate, prompt, tp or hardware")
      ->required()
      ->type_name("NAME")
      ->transform(OneOf(what));
  command->add_option("--min", options->min, "Smallest value to consider")->type_name("NUMBER");
  command->add_option("--max", options->max, "Largest value to consider")->type_name("NUMBER");
  command
      ->add_option("--candidate", options->candidates,
                   "With WHAT hardware: a candidate, its tensor parallel degree and its price per device-hour")
      ->type_name("ID[:TP]=PRICE")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  options->scenario.AddTo(*command, ScenarioScope::kWhole);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
