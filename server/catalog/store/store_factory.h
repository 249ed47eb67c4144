// Stores by name, as the flag --catalog_store gives them.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_STORE_FACTORY_H_
#define FORETOKEN_SERVER_CATALOG_STORE_STORE_FACTORY_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "server/catalog/store/etcd/etcd_options.h"
#include "server/catalog/store/store.h"

namespace foretoken::catalog {

// "sqlite:" and a file under the user's state directory: $XDG_STATE_HOME/foretoken, else ~/.local/state/foretoken.
std::string DefaultStore();

// "sqlite:PATH" opens or creates a file, and its folder readable by its owner alone;
// "etcd:HOST:PORT[,HOST:PORT...][/PREFIX]" is a cluster, reached with the credentials of `etcd`; "memory:" forgets at
// exit. Each takes as much as `limits` allow.
//
// Errors: kInvalidField: none of them; kStoreUnavailable.
absl::StatusOr<std::unique_ptr<CatalogStore>> OpenStore(const std::string& name, const EtcdOptions& etcd = {},
                                                        const StoreLimits& limits = {});

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_STORE_FACTORY_H_
