// The tables of a SQLite store, and the way there from older files.
#ifndef FORETOKEN_SERVER_CATALOG_STORE_SQLITE_SCHEMA_H_
#define FORETOKEN_SERVER_CATALOG_STORE_SQLITE_SCHEMA_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/catalog/store/sqlite.h"

namespace foretoken::catalog {

// Makes the tables of an empty file, or brings those of an older program up to date, in one transaction. A file that
// is neither empty nor a catalog is left as it is, and so is one that is damaged: what is wrong with it is returned
// then, as text; empty: nothing.
//
// Checksums stand in a table of their own, which programs of before do not read. What they write is noted as unchecked
// by a trigger, and gets a checksum here at the next start; so servers of before and after may share a file.
// Errors: kStoreUnavailable, also for a file of a newer program or of another one.
absl::StatusOr<std::string> PrepareSchema(SqliteDatabase& database);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_STORE_SQLITE_SCHEMA_H_
