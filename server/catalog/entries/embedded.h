// The bundle that is compiled into the program, so that a server needs no files beside it.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_EMBEDDED_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_EMBEDDED_H_

#include <vector>

#include "absl/status/statusor.h"
#include "server/catalog/entries/bundle.h"

namespace foretoken::catalog {

// The files of catalogs/ as they were at build time.
const std::vector<CatalogFile>& EmbeddedFiles();

// Errors: as LoadBundle; the build's own tests keep it from having any.
absl::StatusOr<Bundle> LoadEmbeddedBundle();

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_EMBEDDED_H_
