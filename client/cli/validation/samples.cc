#include "client/cli/validation/samples.h"

#include <algorithm>
#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/scenario/message_file.h"
#include "client/printable.h"

namespace foretoken::cli {
namespace {

absl::Status Together(const std::vector<std::string>& faults) {
  return faults.empty() ? absl::OkStatus() : absl::InvalidArgumentError(absl::StrJoin(faults, "\n"));
}

// Whether the server takes `name` for this hardware, where the spec has all its names.
bool IsNameOf(const v1::HardwareSpec& spec, const std::string& name) {
  return absl::EqualsIgnoreCase(name, spec.id()) ||
         std::any_of(spec.aliases().begin(), spec.aliases().end(),
                     [&name](const std::string& alias) { return absl::EqualsIgnoreCase(name, alias); });
}

}  // namespace

absl::StatusOr<std::vector<Measurement>> ReadRuns(const std::string& file, const Session& session) {
  const absl::StatusOr<std::string> text = ReadText(file, session.in);
  if (!text.ok()) return text.status();
  std::istringstream stream(*text);
  absl::StatusOr<MeasurementFile> measured = ReadMeasurements(file, stream);
  if (!measured.ok()) return measured.status();
  std::vector<std::string> faults;
  for (const Measurement& row : measured->rows) {
    if (!row.status.ok()) faults.push_back(absl::StrCat(Place(row), ": ", row.status.message()));
  }
  if (absl::Status status = Together(faults); !status.ok()) return status;
  session.err << client::Printable(WarningOfUnused(file, *measured));
  return std::move(measured->rows);
}

absl::Status AddSamples(const std::vector<Measurement>& rows, v1::RegisterHardwareRequest& request) {
  std::vector<std::string> faults;
  for (const Measurement& row : rows) {
    *request.add_samples() = row.sample;
    if (IsNameOf(request.spec(), row.hardware_id)) continue;
    faults.push_back(absl::StrCat(Place(row), ": hardware \"", row.hardware_id, "\"; allowed: \"", request.spec().id(),
                                  "\", which is registered"));
  }
  return Together(faults);
}

}  // namespace foretoken::cli
