// foretoken explain MODEL HARDWARE: the time, formula and inputs of every operator.
#include <CLI/CLI.hpp>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

using Operators = google::protobuf::RepeatedPtrField<v1::OperatorEstimate>;

v1::OperatorEstimate Sum(const Operators& operators) {
  v1::OperatorEstimate sum;
  for (const v1::OperatorEstimate& one : operators) {
    sum.set_flops(sum.flops() + one.flops());
    sum.set_bytes(sum.bytes() + one.bytes());
    sum.set_communication_bytes(sum.communication_bytes() + one.communication_bytes());
    sum.set_seconds(sum.seconds() + one.seconds());
  }
  return sum;
}

std::vector<Cell> Row(const v1::OperatorEstimate& one, const std::string& name, double step_seconds) {
  const bool is_sum = one.name().empty();
  return {name,
          is_sum ? "" : FormatCount(one.count()),
          FormatSeconds(one.seconds()),
          FormatPercent(step_seconds > 0 ? one.seconds() / step_seconds : kUnknown),
          is_sum || one.bound() == v1::BOUND_UNSPECIFIED ? "" : EnumText(one.bound()),
          one.flops() > 0 ? FormatFlops(one.flops()) : "",
          one.bytes() > 0 ? FormatBytes(one.bytes()) : "",
          one.communication_bytes() > 0 ? FormatBytes(one.communication_bytes()) : ""};
}

std::string OperatorTable(const Operators& operators, double step_seconds, const Terminal& terminal) {
  Table table({{"operator"},
               {"runs", Align::kRight},
               {"time", Align::kRight},
               {"share", Align::kRight},
               {"bound"},
               {"work", Align::kRight},
               {"traffic", Align::kRight},
               {"sent", Align::kRight}});
  for (const v1::OperatorEstimate& one : operators) table.AddRow(Row(one, one.name(), step_seconds));
  const v1::OperatorEstimate sum = Sum(operators);
  table.AddRow(Row(sum, "sum", step_seconds));
  v1::OperatorEstimate rest;
  rest.set_seconds(step_seconds - sum.seconds());
  const bool differs = std::abs(rest.seconds()) > 1e-6 * step_seconds;
  if (differs) {
    table.AddRow({"beside the operators", "", FormatSeconds(rest.seconds()),
                  FormatPercent(rest.seconds() / step_seconds), "", "", "", ""});
  }
  table.AddRow({"step", "", Cell(FormatSeconds(step_seconds), Look::kBold), "100%", "", "", "", ""});
  return table.Render(terminal, 2);
}

std::string FormulaText(const v1::OperatorEstimate& one, const Terminal& terminal) {
  std::string inputs;
  const std::map<std::string, double> sorted(one.inputs().begin(), one.inputs().end());
  for (const auto& [symbol, value] : sorted) {
    const bool plain = std::abs(value) < 1e6 && (value == 0 || std::abs(value) >= 1e-3);
    absl::StrAppend(&inputs, inputs.empty() ? "" : ", ", symbol, " = ",
                    plain ? FormatCount(value) : absl::StrCat(value));
  }
  return absl::StrCat("  ", terminal.Paint(client::Printable(one.name()), Look::kBold), ": ",
                      client::Printable(one.formula()), " = ", FormatSeconds(one.seconds()), "\n",
                      inputs.empty() ? "" : "    ", inputs, inputs.empty() ? "" : "\n");
}

std::string PhaseText(const std::string& title, const Operators& operators, double step_seconds,
                      const Terminal& terminal) {
  if (operators.empty()) return absl::StrCat("\n", title, ": the method has no operators\n");
  std::string text = absl::StrCat("\n", terminal.Paint(title, Look::kBold), "\n",
                                  OperatorTable(operators, step_seconds, terminal), "\n");
  for (const v1::OperatorEstimate& one : operators) text += FormulaText(one, terminal);
  return text;
}

std::string ExplainText(const v1::Estimate& estimate, const Terminal& terminal) {
  return absl::StrCat(PhaseText("Prefill", estimate.prefill_operators(), estimate.prefill().seconds(), terminal),
                      PhaseText("Mean decode step", estimate.decode_operators(),
                                SecondsOf(estimate.has_tpot(), estimate.tpot()), terminal));
}

void AddCsv(const std::string& phase, const Operators& operators, std::string& text) {
  for (const v1::OperatorEstimate& one : operators) {
    text += CsvLine({phase, one.name(), FormatExact(one.count()), FormatExact(one.seconds()), EnumText(one.bound()),
                     FormatExact(one.flops()), FormatExact(one.bytes()), FormatExact(one.communication_bytes()),
                     one.formula()});
  }
}

std::string CsvText(const v1::Estimate& estimate) {
  std::string text = "phase,operator,count,seconds,bound,flops,bytes,communication_bytes,formula\n";
  AddCsv("prefill", estimate.prefill_operators(), text);
  AddCsv("decode", estimate.decode_operators(), text);
  return text;
}

absl::StatusOr<ExitCode> Run(const ScenarioFlags& flags, const Session& session) {
  const absl::StatusOr<v1::Scenario> scenario = flags.Build(session.in);
  if (!scenario.ok()) return scenario.status();
  v1::EstimateRequest request;
  *request.mutable_scenario() = *scenario;
  request.set_include_operators(true);
  const absl::StatusOr<v1::EstimateResponse> response = session.client.Estimate(request);
  if (!response.ok()) return response.status();
  switch (session.output) {
    case OutputFormat::kJson:
      session.out << ToJson(*response);
      break;
    case OutputFormat::kCsv:
      session.out << CsvText(response->estimate());
      break;
    case OutputFormat::kText:
      session.out << absl::StrCat(ScenarioTitle(*scenario, session.terminal),
                                  ExplainText(response->estimate(), session.terminal),
                                  Footer(response->estimate(), response->catalog_revision(), session.terminal));
  }
  return kOk;
}

}  // namespace

void AddExplain(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("explain", "Formula, inputs and result of every operator");
  command->footer("docs/model/notation.md explains the symbols. Prefill is shown as a whole, decode as its mean step.");
  auto flags = std::make_shared<ScenarioFlags>();
  flags->AddTo(*command, ScenarioScope::kWhole);
  command->callback([flags, &chosen] { chosen = [flags](const Session& s) { return Run(*flags, s); }; });
}

}  // namespace foretoken::cli
