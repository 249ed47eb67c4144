// What differs between the kinds of catalog entries, so that each command is written once.
//
//   template <typename Kind>
//   absl::StatusOr<ExitCode> Delete(const EntryName& name, const Session& session) {
//     auto request = RequestOf(Kind::kDelete);
//     Kind::SetId(name.id, request);
//     return Print((session.client.*Kind::kDelete)(request));
//   }
//   ...
//   return VisitKind<HardwareKind, ModelKind>(name.kind, [&](auto kind) { return Delete<decltype(kind)>(name, session);
//   });
//
// Start of the room entries/: what commands that read and write the catalog share. It includes profile/ and the rooms
// before it.
#ifndef FORETOKEN_CLIENT_CLI_ENTRIES_ENTRY_KIND_H_
#define FORETOKEN_CLIENT_CLI_ENTRIES_ENTRY_KIND_H_

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "absl/strings/str_join.h"
#include "client/client.h"

namespace foretoken::cli {

// Each kind: its name as an argument and in answers, its name in `foretoken list`, its RPCs, and the field of its id.
struct HardwareKind {
  static constexpr const char* kName = "hardware";
  static constexpr const char* kPlural = "hardware";
  static constexpr auto kGet = &client::Client::GetHardware;
  static constexpr auto kList = &client::Client::ListHardware;
  static constexpr auto kRegister = &client::Client::RegisterHardware;
  static constexpr auto kDelete = &client::Client::DeleteHardware;
  static constexpr auto kRollback = &client::Client::RollbackHardware;
  template <typename Request>
  static void SetId(const std::string& id, Request& request) {
    request.set_hardware_id(id);
  }
};

struct ModelKind {
  static constexpr const char* kName = "model";
  static constexpr const char* kPlural = "models";
  static constexpr auto kGet = &client::Client::GetModel;
  static constexpr auto kList = &client::Client::ListModels;
  static constexpr auto kRegister = &client::Client::RegisterModel;
  static constexpr auto kDelete = &client::Client::DeleteModel;
  static constexpr auto kRollback = &client::Client::RollbackModel;
  template <typename Request>
  static void SetId(const std::string& id, Request& request) {
    request.set_model_id(id);
  }
};

// Read only: a calibration is written with its hardware.
struct CalibrationKind {
  static constexpr const char* kName = "calibration";
  static constexpr const char* kPlural = "calibrations";
  static constexpr auto kGet = &client::Client::GetCalibration;
  static constexpr auto kList = &client::Client::ListCalibrations;
  template <typename Request>
  static void SetId(const std::string& id, Request& request) {
    request.set_calibration_id(id);
  }
};

// An empty request of an RPC.
template <typename Response, typename Request>
Request RequestOf(absl::StatusOr<Response> (client::Client::*)(const Request&) const) {
  return Request();
}

// Calls `visit` with the kind that is called `name`, alone or in the plural. REQUIRES: one of the kinds is.
template <typename First, typename... Others, typename Visit>
auto VisitKind(const std::string& name, const Visit& visit) {
  if constexpr (sizeof...(Others) > 0) {
    if (name != First::kName && name != First::kPlural) return VisitKind<Others...>(name, visit);
  }
  return visit(First());
}

// The entry that a command is about.
struct EntryName {
  std::string kind;
  std::string id;
};

// The argument KIND: one of `names`.
inline void AddKind(const std::vector<std::string>& names, std::string& kind, CLI::App& command) {
  command.add_option("KIND", kind, absl::StrJoin(names, ", "))->required()->check(CLI::IsMember(names));
}

// The arguments KIND and ID.
template <typename... Kinds>
void AddEntryName(EntryName& name, CLI::App& command) {
  AddKind({Kinds::kName...}, name.kind, command);
  command.add_option("ID", name.id, "Catalog id or alias")->required();
}

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_ENTRIES_ENTRY_KIND_H_
