#include "client/cli/entries/registration.h"

#include <CLI/CLI.hpp>

namespace foretoken::cli {

void RegistrationFlags::AddTo(CLI::App& command) {
  write.AddTo(command);
  command.add_flag("--validate-only", validate_only, "Check and fit everything, store nothing");
}

void AddGate(CLI::App& command, std::optional<double>& max_median_ape) {
  command
      .add_option("--max-median-ape", max_median_ape,
                  "Fail if the held-out median error of a metric exceeds this share (0.1 = 10%)")
      ->check(CLI::PositiveNumber);
}

absl::Status ReadEntry(const std::string& spec, const std::string& id, const Session& session,
                       v1::RegisterHardwareRequest& request) {
  if (!spec.empty()) {
    request.set_etag("*");
    return ReadMessage(spec, session.in, *request.mutable_spec());
  }
  v1::GetHardwareRequest get;
  get.set_hardware_id(id);
  absl::StatusOr<v1::GetHardwareResponse> got = session.client.GetHardware(get);
  if (!got.ok()) return got.status();
  *request.mutable_spec() = std::move(*got->mutable_entry()->mutable_spec());
  request.set_etag(got->entry().etag());
  return absl::OkStatus();
}

}  // namespace foretoken::cli
