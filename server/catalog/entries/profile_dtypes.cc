#include "server/catalog/entries/profile_dtypes.h"

#include <algorithm>
#include <utility>

#include "estimator/scenario/scenario.h"
#include "server/catalog/spec/parse.h"

namespace foretoken::catalog {

void ResolveProfileOf(const Model& model, LinearProfile& profile) {
  if (profile.key.model_id != model.id) return;
  Placement placement{.weight_dtype = profile.key.weight_dtype, .kv_cache_dtype = profile.key.kv_cache_dtype};
  ResolveDtypes(model, placement);
  profile.key.weight_dtype = placement.weight_dtype;
  profile.key.kv_cache_dtype = placement.kv_cache_dtype;
}

bool NamesModel(const HardwareRecord& record, const std::function<bool(const std::string& id)>& matters) {
  const auto& profiles = record.hardware.linear_profiles;
  return std::any_of(profiles.begin(), profiles.end(),
                     [&matters](const LinearProfile& profile) { return matters(profile.key.model_id); });
}

std::shared_ptr<const HardwareRecord> WithResolvedProfiles(const std::shared_ptr<const HardwareRecord>& record,
                                                           const ModelById& model) {
  if (record == nullptr || record->hardware.linear_profiles.empty()) return record;
  // From the spec again: what was resolved with another version of the model is open there still.
  absl::StatusOr<Hardware> open = ParseHardware(record->entry.spec());
  if (!open.ok()) return record;
  for (LinearProfile& profile : open->linear_profiles) {
    if (const Model* const of = model(profile.key.model_id); of != nullptr) ResolveProfileOf(*of, profile);
  }
  return std::make_shared<const HardwareRecord>(HardwareRecord{record->entry, *std::move(open)});
}

}  // namespace foretoken::catalog
