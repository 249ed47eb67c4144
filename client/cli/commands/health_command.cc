// foretoken health: whether the server serves.
#include <CLI/CLI.hpp>

#include "client/cli/commands/commands.h"

namespace foretoken::cli {
namespace {

absl::StatusOr<ExitCode> Run(const std::string& service, const Session& session) {
  const absl::StatusOr<std::string> state = session.client.Health(service);
  if (!state.ok()) return state.status();
  switch (session.output) {
    case OutputFormat::kText:
      session.out << *state << "\n";
      break;
    case OutputFormat::kJson:
      session.out << "{\"status\": \"" << *state << "\"}\n";
      break;
    case OutputFormat::kCsv:
      session.out << "status\n" << *state << "\n";
      break;
  }
  return *state == "SERVING" ? kOk : kNo;
}

}  // namespace

void AddHealth(CLI::App& app, Action& chosen) {
  CLI::App* command = app.add_subcommand("health", "Whether the server serves: exit 0 if SERVING, else 1");
  auto service = std::make_shared<std::string>();
  command->add_option("SERVICE", *service,
                      "A service, for example foretoken.v1.EstimatorService; default: the whole server");
  command->callback([service, &chosen] { chosen = [service](const Session& s) { return Run(*service, s); }; });
}

}  // namespace foretoken::cli
