// Get and List.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/catalog/spec/field_checker.h"
#include "server/rpc/catalog/catalog_api.h"
#include "server/rpc/catalog/catalog_calls.h"
#include "server/rpc/catalog/page_token.h"

namespace foretoken::rpc {
namespace {

// A calibration where it lies in the snapshot: copies of all of them would be as large as the catalog.
struct FoundCalibration {
  const v1::CalibrationSpec* spec = nullptr;
  v1::EntryOrigin origin = v1::ENTRY_ORIGIN_BUNDLED;
};

const v1::CalibrationSpec& SpecOf(const FoundCalibration& found) { return *found.spec; }
template <typename Record>
const auto& SpecOf(const std::shared_ptr<const Record>& record) {
  return record->entry.spec();
}

void Copy(const FoundCalibration& found, v1::CalibrationEntry& entry) {
  *entry.mutable_spec() = *found.spec;
  entry.set_origin(found.origin);
}
template <typename Record, typename Entry>
void Copy(const std::shared_ptr<const Record>& record, Entry& entry) {
  entry = record->entry;
}

// All collections of a snapshot page alike; `records` are sorted by id.
template <typename Records, typename Request, typename Response>
absl::Status ListPage(const catalog::Snapshot& snapshot, const Records& records, std::string_view collection,
                      const Request& request, Response& response) {
  const absl::StatusOr<int> page_size = ReadPageSize(request.page_size());
  if (!page_size.ok()) return page_size.status();
  const absl::StatusOr<std::string> after = ReadPageToken(request.page_token(), collection, request.id_contains());
  if (!after.ok()) return after.status();
  int matching = 0;
  size_t bytes = 0;
  for (const auto& record : records) {
    const std::string& id = SpecOf(record).id();
    if (!absl::StrContains(id, request.id_contains())) continue;
    ++matching;
    if (id <= *after) continue;
    if (!response.next_page_token().empty()) continue;
    const size_t entry_bytes = SpecOf(record).ByteSizeLong();
    const bool fits = response.entries_size() < *page_size && bytes + entry_bytes <= kMaxPageBytes;
    if (fits || response.entries_size() == 0) {
      Copy(record, *response.add_entries());
      bytes += entry_bytes;
    } else {
      const std::string& last = response.entries(response.entries_size() - 1).spec().id();
      response.set_next_page_token(MakePageToken(collection, request.id_contains(), last));
    }
  }
  response.set_total_size(matching);
  *response.mutable_catalog_revision() = snapshot.revision();
  return absl::OkStatus();
}

// Shipped calibrations and calibrations of registered hardware, by id.
std::vector<FoundCalibration> AllCalibrations(const catalog::Snapshot& snapshot) {
  std::vector<FoundCalibration> all;
  const auto add = [&all](const v1::CalibrationSpec& spec, v1::EntryOrigin origin) { all.push_back({&spec, origin}); };
  for (const v1::CalibrationSpec& spec : snapshot.calibration_specs()) add(spec, v1::ENTRY_ORIGIN_BUNDLED);
  for (const auto& hardware : snapshot.hardware()) {
    for (const v1::CalibrationSpec& spec : hardware->entry.spec().calibrations()) add(spec, hardware->entry.origin());
  }
  // A registered one hides a bundled one of its id: it is the one that answers.
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return std::pair<const std::string&, int>(a.spec->id(), -a.origin) <
           std::pair<const std::string&, int>(b.spec->id(), -b.origin);
  });
  const auto same = [](const auto& a, const auto& b) { return a.spec->id() == b.spec->id(); };
  all.erase(std::unique(all.begin(), all.end(), same), all.end());
  return all;
}

}  // namespace

absl::Status Get(const v1::GetHardwareRequest& request, const catalog::Snapshot& snapshot,
                 v1::GetHardwareResponse& response) {
  if (absl::Status status = RequireId(request.hardware_id(), "hardware_id"); !status.ok()) return status;
  const auto record = snapshot.FindHardware(request.hardware_id(), "hardware_id");
  if (!record.ok()) return record.status();
  *response.mutable_entry() = (*record)->entry;
  *response.mutable_catalog_revision() = snapshot.revision();
  return absl::OkStatus();
}

absl::Status Get(const v1::GetModelRequest& request, const catalog::Snapshot& snapshot,
                 v1::GetModelResponse& response) {
  if (absl::Status status = RequireId(request.model_id(), "model_id"); !status.ok()) return status;
  const auto record = snapshot.FindModel(request.model_id(), "model_id");
  if (!record.ok()) return record.status();
  *response.mutable_entry() = (*record)->entry;
  *response.mutable_catalog_revision() = snapshot.revision();
  return absl::OkStatus();
}

absl::Status Get(const v1::GetCalibrationRequest& request, const catalog::Snapshot& snapshot,
                 v1::GetCalibrationResponse& response) {
  if (absl::Status status = RequireId(request.calibration_id(), "calibration_id"); !status.ok()) return status;
  for (const FoundCalibration& found : AllCalibrations(snapshot)) {
    if (found.spec->id() != request.calibration_id()) continue;
    Copy(found, *response.mutable_entry());
    *response.mutable_catalog_revision() = snapshot.revision();
    return absl::OkStatus();
  }
  return Refusal(
      Reason::kUnknownId, "calibration_id",
      absl::StrCat("unknown calibration ", catalog::Quoted(request.calibration_id()), "; ListCalibrations tells all"));
}

absl::Status List(const v1::ListCalibrationsRequest& request, const catalog::Snapshot& snapshot,
                  v1::ListCalibrationsResponse& response) {
  return ListPage(snapshot, AllCalibrations(snapshot), "calibrations", request, response);
}

absl::Status List(const v1::ListHardwareRequest& request, const catalog::Snapshot& snapshot,
                  v1::ListHardwareResponse& response) {
  return ListPage(snapshot, snapshot.hardware(), "hardware", request, response);
}

absl::Status List(const v1::ListModelsRequest& request, const catalog::Snapshot& snapshot,
                  v1::ListModelsResponse& response) {
  return ListPage(snapshot, snapshot.models(), "models", request, response);
}

}  // namespace foretoken::rpc
