#include "server/catalog/store/store_factory.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "estimator/base/errors.h"
#include "server/catalog/store/etcd/etcd_store.h"
#include "server/catalog/store/memory_store.h"
#include "server/catalog/store/sqlite_store.h"

namespace foretoken::catalog {
namespace {

namespace fs = std::filesystem;

absl::Status MakeFolder(const fs::path& folder) {
  std::error_code error;
  if (folder.empty() || fs::exists(folder, error)) return absl::OkStatus();
  if (fs::create_directories(folder, error)) fs::permissions(folder, fs::perms::owner_all, error);
  if (!error) return absl::OkStatus();
  return Refusal(Reason::kStoreUnavailable, "",
                 absl::StrCat("catalog store: create ", folder.string(), ": ", error.message()));
}

absl::StatusOr<std::unique_ptr<CatalogStore>> OpenSqlite(const fs::path& file, const StoreLimits& limits) {
  if (absl::Status status = MakeFolder(file.parent_path()); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(file.string(), limits);
  if (!store.ok()) return store.status();
  return *std::move(store);
}

absl::StatusOr<std::unique_ptr<CatalogStore>> OpenEtcd(absl::string_view address, const EtcdOptions& credentials,
                                                       const StoreLimits& limits) {
  const absl::StatusOr<EtcdOptions> options =
      ParseEtcdAddress(std::string_view(address.data(), address.size()), credentials);
  if (!options.ok()) return options.status();
  absl::StatusOr<std::unique_ptr<EtcdStore>> store = EtcdStore::Open(*options, limits);
  if (!store.ok()) return store.status();
  return *std::move(store);
}

}  // namespace

std::string DefaultStore() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path base =
      state != nullptr && *state != '\0' ? fs::path(state) : fs::path(home != nullptr ? home : ".") / ".local/state";
  return absl::StrCat("sqlite:", (base / "foretoken" / "catalog.db").string());
}

absl::StatusOr<std::unique_ptr<CatalogStore>> OpenStore(const std::string& name, const EtcdOptions& etcd,
                                                        const StoreLimits& limits) {
  absl::string_view rest = name;
  if (name == "memory:") return std::make_unique<MemoryStore>(limits);
  if (absl::ConsumePrefix(&rest, "etcd:")) return OpenEtcd(rest, etcd, limits);
  if (absl::ConsumePrefix(&rest, "sqlite:") && !rest.empty()) {
    return OpenSqlite(fs::path(std::string{rest}), limits);
  }
  return Refusal(Reason::kInvalidField, "catalog_store",
                 absl::StrCat("catalog_store \"", name,
                              "\"; allowed: sqlite:PATH, etcd:HOST:PORT[,HOST:PORT...][/PREFIX], memory:"));
}

}  // namespace foretoken::catalog
