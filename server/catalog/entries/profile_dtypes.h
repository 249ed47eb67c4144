// Dtypes that a linear profile leaves open: they are those of its model's native deployment.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_PROFILE_DTYPES_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_PROFILE_DTYPES_H_

#include <functional>
#include <memory>
#include <string>

#include "server/catalog/entries/snapshot.h"

namespace foretoken::catalog {

// A model by its id; null: there is none.
using ModelById = std::function<const Model*(const std::string& id)>;

// Fills in the dtypes that a profile of this model leaves open; one of another model stays as it is.
void ResolveProfileOf(const Model& model, LinearProfile& profile);

// Whether a profile of the record names a model that `matters`.
bool NamesModel(const HardwareRecord& record, const std::function<bool(const std::string& id)>& matters);

// The record with the dtypes of its profiles resolved anew; itself where it has no profile.
std::shared_ptr<const HardwareRecord> WithResolvedProfiles(const std::shared_ptr<const HardwareRecord>& record,
                                                           const ModelById& model);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_PROFILE_DTYPES_H_
