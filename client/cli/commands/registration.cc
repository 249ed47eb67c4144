#include "client/cli/commands/registration.h"

#include <CLI/CLI.hpp>

namespace foretoken::cli {

void RegistrationFlags::AddTo(CLI::App& command) {
  write.AddTo(command);
  command.add_flag("--validate-only", validate_only, "Check and fit everything, store nothing");
}

}  // namespace foretoken::cli
