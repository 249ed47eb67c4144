#include "server/catalog/store_factory.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "estimator/errors.h"
#include "server/catalog/memory_store.h"
#include "server/catalog/sqlite_store.h"

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

}  // namespace

std::string DefaultStore() {
  const char* state = std::getenv("XDG_STATE_HOME");
  const char* home = std::getenv("HOME");
  const fs::path base =
      state != nullptr && *state != '\0' ? fs::path(state) : fs::path(home != nullptr ? home : ".") / ".local/state";
  return absl::StrCat("sqlite:", (base / "foretoken" / "catalog.db").string());
}

absl::StatusOr<std::unique_ptr<CatalogStore>> OpenStore(const std::string& name) {
  if (name == "memory:") return std::make_unique<MemoryStore>();
  absl::string_view path = name;
  if (!absl::ConsumePrefix(&path, "sqlite:") || path.empty()) {
    return Refusal(Reason::kInvalidField, "catalog_store",
                   absl::StrCat("catalog_store \"", name, "\"; allowed: sqlite:PATH, memory:"));
  }
  const fs::path file(std::string{path});
  if (absl::Status status = MakeFolder(file.parent_path()); !status.ok()) return status;
  absl::StatusOr<std::unique_ptr<SqliteStore>> store = SqliteStore::Open(file.string());
  if (!store.ok()) return store.status();
  return *std::move(store);
}

}  // namespace foretoken::catalog
