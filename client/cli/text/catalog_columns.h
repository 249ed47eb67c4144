// A catalog entry as columns of `foretoken list`: each column's title and text for people, its name and exact value for
// CSV.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_CATALOG_COLUMNS_H_
#define FORETOKEN_CLIENT_CLI_TEXT_CATALOG_COLUMNS_H_

#include <string>
#include <vector>

#include "client/cli/text/table.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::cli {

struct EntryColumn {
  Column column;  // title and alignment in the table
  std::string name;
  std::string text;
  std::string exact;
};

// The columns of an entry, in order. An empty entry gives their titles and names.
std::vector<EntryColumn> EntryColumns(const v1::HardwareEntry& entry);
std::vector<EntryColumn> EntryColumns(const v1::ModelEntry& entry);
std::vector<EntryColumn> EntryColumns(const v1::CalibrationEntry& entry);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_CATALOG_COLUMNS_H_
