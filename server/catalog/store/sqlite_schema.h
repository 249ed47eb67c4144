// The tables of a SQLite store, and the way there from older files.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_SQLITE_SCHEMA_H_
#define FORETOKEN_SERVER_CATALOG_STORE_SQLITE_SCHEMA_H_

#include "absl/status/status.h"
#include "server/catalog/store/sqlite.h"

namespace foretoken::catalog {

// Makes the tables of an empty file, or brings those of an older program up to date, in one transaction. A file that
// is neither empty nor a catalog is left as it is.
// Errors: kStoreUnavailable, also for a file of a newer program or of another one.
absl::Status PrepareSchema(SqliteDatabase& database);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_SQLITE_SCHEMA_H_
