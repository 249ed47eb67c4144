// Stores by name, as the flag --catalog_store gives them.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_FACTORY_H_
#define FORETOKEN_SERVER_CATALOG_STORE_FACTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/catalog/store.h"

namespace foretoken::catalog {

// "sqlite:" and a file under the user's state directory: $XDG_STATE_HOME/foretoken, else ~/.local/state/foretoken.
std::string DefaultStore();

// "sqlite:PATH" opens or creates a file, and its folder readable by its owner alone; "memory:" forgets at exit.
//
// Errors: kInvalidField: neither; kStoreUnavailable.
absl::StatusOr<std::unique_ptr<CatalogStore>> OpenStore(const std::string& name);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_FACTORY_H_
