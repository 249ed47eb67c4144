// foretoken profile MODEL HARDWARE --endpoint URL --out FILE.csv: measures an inference server, and fits the core
// model.
#include <CLI/CLI.hpp>
#include <atomic>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands/commands.h"
#include "client/cli/entries/fit_rows.h"
#include "client/cli/entries/registration.h"
#include "client/cli/profile/discovery.h"
#include "client/cli/profile/endpoint.h"
#include "client/cli/profile/local_device.h"
#include "client/cli/profile/plan.h"
#include "client/cli/profile/profiler.h"
#include "client/cli/profile/requests_csv.h"
#include "client/cli/profile/runs_file.h"
#include "client/cli/profile/setup.h"
#include "client/cli/scenario/field_path.h"
#include "client/cli/scenario/message_file.h"
#include "client/cli/scenario/scenario_flags.h"
#include "client/cli/scenario/usage_error.h"
#include "client/cli/terminal/interrupt.h"
#include "client/cli/terminal/progress.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

enum class ApiChoice { kAuto, kIds, kWords, kChat };

struct Options {
  ScenarioFlags scenario;
  std::string endpoint;
  std::string served_model;
  ApiChoice api = ApiChoice::kAuto;
  std::string endpoint_token_file;
  std::string endpoint_ca_file;
  std::string out;
  std::string points;
  std::string requests_out;
  std::string budget = "5m";
  PlanLimits limits;
  bool show_plan = false;
  FitOptions fit;
};

// What one call of the command holds.
struct Job {
  const Options& options;
  const Session& session;
  HttpClient& http;
  Setup setup;
  double budget_seconds = 0;
};

std::optional<Api> AskedApi(ApiChoice choice) {
  if (choice == ApiChoice::kIds) return Api::kCompletions;
  if (choice == ApiChoice::kWords) return Api::kWords;
  if (choice == ApiChoice::kChat) return Api::kChat;
  return std::nullopt;
}

absl::StatusOr<HttpOptions> HttpOf(const Options& options, std::istream& in) {
  HttpOptions http{.ca_file = options.endpoint_ca_file};
  if (options.endpoint_token_file.empty()) return http;
  const absl::StatusOr<std::string> token = ReadText(options.endpoint_token_file, in);
  if (!token.ok()) return token.status();
  http.bearer_token = token->substr(0, token->find_first_of("\r\n"));
  return http;
}

// The question of the flags; --spec gives the hardware.
absl::StatusOr<v1::Scenario> BaseOf(const Options& options, std::istream& in) {
  absl::StatusOr<v1::Scenario> base = options.scenario.Build(in);
  if (!base.ok() || options.fit.spec.empty()) return base;
  if (absl::Status read = ReadMessage(options.fit.spec, in, *base->mutable_hardware_spec()); !read.ok()) return read;
  return base;
}

std::string SetupText(const Job& job) {
  const Setup& setup = job.setup;
  const ProfiledSystem& system = setup.system;
  std::string text = absl::StrCat(system.model_id, " on ", system.hardware_id, ", ", system.deployment.engine(), "\n",
                                  job.options.endpoint, " tells: ", absl::StrJoin(setup.told, ", "), "\n");
  const std::string device = IsLocal(job.options.endpoint) ? LocalDevice() : "";
  if (!device.empty()) absl::StrAppend(&text, "this machine has ", device, "\n");
  if (!setup.absent.empty()) {
    absl::StrAppend(&text,
                    "neither told nor given, so that estimates take their default: ", absl::StrJoin(setup.absent, ", "),
                    "\n");
  }
  return client::Printable(text);
}

absl::StatusOr<std::vector<PlannedLoad>> LoadsOf(const Job& job) {
  const Options& options = job.options;
  if (options.points.empty()) {
    PlanLimits limits = options.limits;
    limits.longest_sequence = job.setup.longest_sequence;
    return MakePlan(job.session.client, job.setup.base, limits);
  }
  std::ifstream in(options.points);
  if (!in) return absl::InvalidArgumentError(absl::StrCat("--points: ", options.points, " cannot be read"));
  const absl::StatusOr<std::vector<LoadPoint>> loads = ReadLoads(options.points, in);
  if (!loads.ok()) return loads.status();
  std::vector<PlannedLoad> planned;
  for (const LoadPoint& load : *loads) planned.push_back({.point = load});
  return planned;
}

// The loads of the plan that the budget has room for, each twice.
std::string PlanText(const std::vector<PlannedLoad>& loads, double budget_seconds, const Terminal& terminal) {
  Table table({{"load"}, {"one run", Align::kRight}, {"together", Align::kRight}});
  double seconds = 0;
  for (const PlannedLoad& load : loads) {
    seconds += 2 * load.seconds;
    if (seconds > budget_seconds) break;
    table.AddRow({Describe(load.point), FormatSeconds(load.seconds), FormatSeconds(seconds)});
  }
  return table.Render(terminal);
}

std::string TimeCell(const std::optional<Spread>& time) {
  return time.has_value() ? FormatSeconds(time->mean) : kUnknownText;
}

// What was measured, as it is told at the end.
class Report {
 public:
  void Add(const LoadPoint& asked, const Outcome& outcome, int runs) {
    if (outcome.usable()) {
      table_.AddRow(
          {Describe(asked), absl::StrCat(runs), TimeCell(outcome.ttft), TimeCell(outcome.tpot), TimeCell(outcome.e2e)});
    }
    for (const Finding& finding : outcome.findings) Note(finding, Describe(asked));
  }
  void Note(const Finding& finding, const std::string& load) {
    const char* spoils = finding.spoils ? "not used: " : "";
    if (notes_.size() < kMostNotes) notes_.push_back(absl::StrCat("  ", load, ": ", spoils, finding.text));
  }
  // What the counters of a prefix cache say of the time between.
  void NoteCached(const PrefixCounters& before, const PrefixCounters& after) {
    const double hits = after.hits - before.hits;
    const double queries = after.queries - before.queries;
    if (!(hits > kCachedShare * queries)) return;
    Note({.kind = FindingKind::kPrefixCached,
          .text = absl::StrCat(FormatPercent(hits / queries),
                               " of the prompt tokens came from the prefix cache (/metrics)")},
         "all loads");
  }

  std::string Text(const Terminal& terminal) const {
    std::string text = table_.empty() ? "" : "\n" + table_.Render(terminal);
    if (!notes_.empty()) absl::StrAppend(&text, "\nFound while measuring:\n", absl::StrJoin(notes_, "\n"), "\n");
    return text;
  }

 private:
  static constexpr size_t kMostNotes = 40;
  static constexpr double kCachedShare = 0.01;
  Table table_{{{"measured (means)"},
                {"runs", Align::kRight},
                {"TTFT", Align::kRight},
                {"TPOT", Align::kRight},
                {"E2E", Align::kRight}}};
  std::vector<std::string> notes_;
};

// Measures what the file does not have yet.
absl::Status Measure(const Job& job, const Target& target, const std::vector<PlannedLoad>& planned, RunsFile& runs,
                     Report& report) {
  std::vector<LoadPoint> loads;
  for (const PlannedLoad& load : planned) {
    if (!runs.Has(load.point)) loads.push_back(load.point);
  }
  if (loads.empty()) return absl::OkStatus();
  Progress progress(job.session.err, job.session.terminal);
  std::string learned;
  std::atomic<bool> interrupted = false;
  const InterruptScope scope([&interrupted] { interrupted = true; });
  std::string requests = RequestsHeader();
  const ProfilerEvents events = {.on_outcome =
                                     [&](const LoadPoint& asked, const Outcome& outcome, int repeats) {
                                       report.Add(asked, outcome, repeats);
                                       return outcome.usable() ? runs.Add(asked, outcome, repeats) : absl::OkStatus();
                                     },
                                 .on_drift =
                                     [&](const Finding& finding, const std::vector<LoadPoint>& drifted) {
                                       for (const LoadPoint& load : drifted) report.Note(finding, Describe(load));
                                       return runs.Remove(drifted);
                                     },
                                 .on_block = [&] { learned = Learned(runs.rows(), job.options.fit.spec, job.session); },
                                 .on_run =
                                     [&](const LoadRun& run) {
                                       if (job.options.requests_out.empty()) return absl::OkStatus();
                                       requests += RequestsLines(run);
                                       return WriteText(job.options.requests_out, requests);
                                     },
                                 .on_progress =
                                     [&](double share, const std::string& what) {
                                       progress.Update(share,
                                                       learned.empty() ? what : absl::StrCat(what, " (", learned, ")"));
                                     }};
  Profiler profiler(job.http,
                    {.target = target,
                     .budget_seconds = job.budget_seconds,
                     .interrupted = [&interrupted] { return interrupted.load(); }},
                    events, job.options.fit.seed);
  return profiler.Measure(std::move(loads));
}

absl::StatusOr<ExitCode> RunJob(const Job& job) {
  const Session& session = job.session;
  const absl::StatusOr<std::vector<PlannedLoad>> loads = LoadsOf(job);
  if (!loads.ok()) return loads.status();
  session.err << SetupText(job);
  if (job.options.show_plan) {
    session.out << PlanText(*loads, job.budget_seconds, session.terminal);
    return kOk;
  }
  const absl::StatusOr<Target> target =
      FindTarget(job.http, *EndpointUrl(job.options.endpoint), job.setup.served_model, AskedApi(job.options.api), {});
  if (!target.ok()) return target.status();
  absl::StatusOr<RunsFile> runs = RunsFile::Open(job.options.out, job.setup.system);
  if (!runs.ok()) return runs.status();
  const size_t before = runs->rows().size();
  Report report;
  const PrefixCounters cached = ReadPrefixCounters(job.http, target->url);
  const absl::Status measured = Measure(job, *target, *loads, *runs, report);
  report.NoteCached(cached, ReadPrefixCounters(job.http, target->url));
  // JSON has the answer of the registration alone.
  std::ostream& told = session.output == OutputFormat::kText ? session.out : session.err;
  told << report.Text(session.terminal) << "\n"
       << job.options.out << ": " << runs->rows().size() << " loads, " << before << " of them from before\n";
  if (!measured.ok()) return measured;
  if (runs->rows().empty()) return absl::FailedPreconditionError("no load was measured");
  const absl::Status fitted = FitRows(runs->rows(), job.options.fit, session);
  if (!fitted.ok()) return fitted;
  return kOk;
}

absl::StatusOr<ExitCode> Run(const Options& options, const Session& session) {
  if (absl::Status csv = CheckNotCsv(session, "a profile"); !csv.ok()) return csv;
  const absl::StatusOr<std::string> url = EndpointUrl(options.endpoint);
  if (!url.ok()) return url.status();
  if (options.out.empty() && !options.show_plan) {
    return absl::InvalidArgumentError("--out is missing; allowed: a CSV file for the measurements");
  }
  const absl::StatusOr<double> budget = ParseSeconds(options.budget);
  if (!budget.ok()) return absl::InvalidArgumentError(absl::StrCat("--budget: ", budget.status().message()));
  if (!(*budget > 0)) return absl::InvalidArgumentError("--budget: allowed above 0");
  const absl::StatusOr<v1::Scenario> base = BaseOf(options, session.in);
  if (!base.ok()) return base.status();
  const absl::StatusOr<HttpOptions> http_options = HttpOf(options, session.in);
  if (!http_options.ok()) return http_options.status();
  HttpClient http(*http_options);
  const absl::StatusOr<ServerFacts> facts = Discover(http, *url);
  if (!facts.ok()) return facts.status();
  absl::StatusOr<Setup> setup = Complete(*base, options.served_model, *facts);
  if (!setup.ok()) return setup.status();
  return RunJob(
      {.options = options, .session = session, .http = http, .setup = *std::move(setup), .budget_seconds = *budget});
}

void AddEndpointFlags(CLI::App& command, Options& options) {
  const char* group = "Endpoint";
  command.add_option("--endpoint", options.endpoint, "Server with the OpenAI API: http://HOST:PORT")
      ->required()
      ->type_name("URL")
      ->group(group);
  command.add_option("--served-model", options.served_model, "Model as the endpoint names it; default: its only one")
      ->type_name("NAME")
      ->group(group);
  command.add_option("--api", options.api, "How prompts are sent: auto, ids, words or chat")
      ->type_name("NAME")
      ->transform(OneOf<ApiChoice>({{"auto", ApiChoice::kAuto},
                                    {"ids", ApiChoice::kIds},
                                    {"words", ApiChoice::kWords},
                                    {"chat", ApiChoice::kChat}}))
      ->group(group);
  command.add_option("--endpoint-token-file", options.endpoint_token_file, "Bearer token of the endpoint")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--endpoint-ca-file", options.endpoint_ca_file, "PEM of who signed its certificate")
      ->type_name("FILE")
      ->group(group);
}

void AddPlanFlags(CLI::App& command, Options& options) {
  const char* group = "Measuring";
  command.add_option("--out", options.out, "CSV of measurements; one that is there is gone on with")
      ->type_name("FILE.csv")
      ->group(group);
  command.add_option("--requests-out", options.requests_out, "CSV with a row for each request")
      ->type_name("FILE.csv")
      ->group(group);
  command.add_option("--points", options.points, "Loads to measure as CSV (docs/profiling.md); default: a plan")
      ->type_name("FILE.csv")
      ->group(group);
  command.add_option("--budget", options.budget, "Time to measure; default: 5m")->type_name("TIME")->group(group);
  command.add_option("--longest-prompt", options.limits.longest_prompt, "Longest prompt of the plan; default: 2048")
      ->check(CLI::Range(32, 131072))
      ->group(group);
  command.add_option("--longest-output", options.limits.longest_output, "Longest output of the plan; default: 256")
      ->check(CLI::Range(16, 4096))
      ->group(group);
  command.add_option("--most-concurrent", options.limits.most_concurrent, "Most requests at once; default: 64")
      ->check(CLI::Range(1, 1024))
      ->group(group);
  command.add_option("--seed", options.fit.seed, "Of lengths and order; default: 1")->group(group);
  command.add_flag("--show-plan", options.show_plan, "Print the plan and its time, measure nothing")->group(group);
}

}  // namespace

void AddProfile(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("profile", "Measures an inference server and fits the core model to it");
  command->footer(
      "Loads are measured in the order in which they tell most about the model's constants for their time. The report\n"
      "shows the fit; --register stores it if it passes --max-median-ape, and predicts measurements that it did not "
      "see.\n"
      "Example: foretoken profile llama-3.1-8b nvidia-h100-sxm-80gb --endpoint http://127.0.0.1:8000 --out runs.csv");
  auto options = std::make_shared<Options>();
  AddEndpointFlags(*command, *options);
  AddPlanFlags(*command, *options);
  AddFitFlags(*command, options->fit);
  options->scenario.AddTo(*command, ScenarioScope::kDeployment);
  command->callback([options, &chosen] { chosen = [options](const Session& s) { return Run(*options, s); }; });
}

}  // namespace foretoken::cli
