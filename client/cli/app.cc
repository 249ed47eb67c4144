#include "client/cli/app.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "client/cli/commands/commands.h"
#include "client/cli/commands/connection.h"
#include "client/cli/scenario/usage_error.h"
#include "client/cli/terminal/exit_code.h"
#include "client/printable.h"
#include "client/status_details.h"

namespace foretoken::cli {
namespace {

constexpr char kEnvironmentHelp[] = R"(
Environment:
  FORETOKEN_SERVER      the server, if --server is not given
  FORETOKEN_CA_FILE, FORETOKEN_CERT_FILE, FORETOKEN_KEY_FILE, FORETOKEN_TOKEN_FILE
                        the files, if --ca-file, --cert-file, --key-file, --token-file are not given
  FORETOKEN_AUTHOR      author of writes in the history of an entry; default: USER@HOST
  NO_COLOR              no colour, if --color is not given

Help of a command: foretoken COMMAND --help)";

struct Globals {
  Connection connection;
  OutputFormat output = OutputFormat::kText;
  ColorMode color = ColorMode::kAuto;
};

void AddGlobals(CLI::App& app, Globals& globals) {
  globals.connection.AddTo(app);
  app.add_option("--output", globals.output, "text, json or csv")
      ->type_name("FORMAT")
      ->transform(OneOf<OutputFormat>(
          {{"text", OutputFormat::kText}, {"json", OutputFormat::kJson}, {"csv", OutputFormat::kCsv}}));
  app.add_option("--color", globals.color, "auto, never or always")
      ->type_name("WHEN")
      ->transform(
          OneOf<ColorMode>({{"auto", ColorMode::kAuto}, {"never", ColorMode::kNever}, {"always", ColorMode::kAlways}}));
}

void AddCommands(CLI::App& app, Action& chosen) {
  app.require_subcommand(1);
  app.fallthrough();  // global flags may follow the command
  AddEstimate(app, chosen);
  AddExplain(app, chosen);
  AddCompare(app, chosen);
  AddSweep(app, chosen);
  AddSolve(app, chosen);
  AddSimulate(app, chosen);
  AddValidate(app, chosen);
  AddProfile(app, chosen);
  AddImport(app, chosen);
  AddList(app, chosen);
  AddGet(app, chosen);
  AddRegisterHardware(app, chosen);
  AddFit(app, chosen);
  AddRegisterModel(app, chosen);
  AddDelete(app, chosen);
  AddRevisions(app, chosen);
  AddRollback(app, chosen);
  AddCatalogStatus(app, chosen);
  AddHealth(app, chosen);
  AddCompletion(app, chosen);
}

int Fail(const absl::Status& status, const Terminal& terminal, std::ostream& err) {
  const int code = ExitCodeOf(status);
  if (code != kInterrupted) err << terminal.Paint("foretoken", Look::kBad) << ": " << client::Describe(status) << "\n";
  return code;
}

int RunChosen(Globals& globals, const Action& action, std::istream& in, std::ostream& out, std::ostream& err,
              const GetEnv& getenv) {
  const bool err_is_terminal = &err == &std::cerr && isatty(STDERR_FILENO);
  const Terminal terminal =
      DescribeTerminal(globals.color, &out == &std::cout && isatty(STDOUT_FILENO), err_is_terminal, getenv);
  globals.connection.Complete(getenv);
  const absl::StatusOr<client::ClientOptions> options = globals.connection.Options(getenv);
  if (!options.ok()) return Fail(options.status(), terminal, err);
  const auto channel = globals.connection.Dial();
  if (!channel.ok()) return Fail(channel.status(), terminal, err);
  const client::Client client(*channel, *options);
  const absl::StatusOr<ExitCode> code =
      action({.client = client, .output = globals.output, .terminal = terminal, .in = in, .out = out, .err = err});
  if (code.ok()) return *code;
  const int failed = Fail(code.status(), terminal, err);
  if (failed == kUnavailable) err << "  server " << client::Printable(globals.connection.Describe()) << "\n";
  if (failed == kDenied) err << "  " << client::Printable(globals.connection.TokenAdvice()) << "\n";
  return failed;
}

// Whether the answer left this process; if not, says so on `err`.
bool Delivered(std::ostream& out, std::ostream& err) {
  errno = 0;
  // Also if the stream failed before, because trying again sets errno.
  const bool synced = out.rdbuf()->pubsync() == 0;
  if (synced && out.good()) return true;
  err << "foretoken: standard output cannot be written" << (errno == 0 ? "" : ": ")
      << (errno == 0 ? "" : std::strerror(errno)) << "\n";
  return false;
}

int ParseAndRun(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out, std::ostream& err,
                const GetEnv& getenv) {
  CLI::App app("Predicts how long an LLM request takes on given hardware", "foretoken");
  app.footer(absl::StrCat("Exit codes:\n", ExitCodeHelp(), kEnvironmentHelp));
  app.failure_message(UsageError);
  app.set_version_flag("--version", "foretoken " FORETOKEN_VERSION);
  Globals globals;
  Action chosen;
  AddGlobals(app, globals);
  AddCommands(app, chosen);
  try {
    CheckNoEmptyValue(arguments);
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 expects them in reverse
    CheckResults(app);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, err) == 0 ? kOk : kUsage;
  }
  return RunChosen(globals, chosen, in, out, err, getenv);
}

}  // namespace

int RunForetoken(const std::vector<std::string>& arguments, std::istream& in, std::ostream& out, std::ostream& err,
                 const GetEnv& getenv) {
  const int code = ParseAndRun(arguments, in, out, err, getenv);
  return Delivered(out, err) ? code : kNotWritten;
}

}  // namespace foretoken::cli
