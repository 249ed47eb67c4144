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

// INVALID_ARGUMENT with every row that cannot be read.
template <typename Row>
absl::Status CheckRead(const std::vector<Row>& rows) {
  std::vector<std::string> faults;
  for (const Row& row : rows) {
    if (!row.status.ok()) faults.push_back(absl::StrCat(Place(row), ": ", row.status.message()));
  }
  return Together(faults);
}

// INVALID_ARGUMENT with every row that is not of the registered hardware.
template <typename Row>
absl::Status CheckHardware(const std::vector<Row>& rows, const v1::HardwareSpec& spec) {
  std::vector<std::string> faults;
  for (const Row& row : rows) {
    if (IsNameOf(spec, row.hardware_id)) continue;
    faults.push_back(absl::StrCat(Place(row), ": hardware \"", row.hardware_id, "\"; allowed: \"", spec.id(),
                                  "\", which is registered"));
  }
  return Together(faults);
}

}  // namespace

absl::StatusOr<std::vector<Measurement>> ReadRuns(const std::string& file, const Session& session) {
  const absl::StatusOr<std::string> text = ReadText(file, session.in);
  if (!text.ok()) return text.status();
  std::istringstream stream(*text);
  absl::StatusOr<MeasurementFile> measured = ReadMeasurements(file, stream);
  if (!measured.ok()) return measured.status();
  if (absl::Status status = CheckRead(measured->rows); !status.ok()) return status;
  session.err << NoteOfUnused(file, *measured);
  return std::move(measured->rows);
}

absl::StatusOr<std::vector<KernelRow>> ReadKernels(const std::string& file, const Session& session) {
  if (file.empty()) return std::vector<KernelRow>();
  const absl::StatusOr<std::string> text = ReadText(file, session.in);
  if (!text.ok()) return text.status();
  std::istringstream stream(*text);
  absl::StatusOr<std::vector<KernelRow>> rows = ReadKernels(file, stream);
  if (!rows.ok()) return rows.status();
  if (absl::Status status = CheckRead(*rows); !status.ok()) return status;
  return rows;
}

absl::Status AddSamples(const std::vector<Measurement>& rows, v1::RegisterHardwareRequest& request) {
  for (const Measurement& row : rows) *request.add_samples() = row.sample;
  return CheckHardware(rows, request.spec());
}

absl::Status AddKernels(const std::vector<KernelRow>& rows, v1::RegisterHardwareRequest& request) {
  for (const KernelRow& row : rows) *request.add_kernels() = row.sample;
  return CheckHardware(rows, request.spec());
}

}  // namespace foretoken::cli
