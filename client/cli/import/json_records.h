// The records of a file of results: one JSON object, an array of objects, or one object on each line.
//
// Python writes Infinity and NaN without quotes, which JSON does not have. They are read as the texts "Infinity" and
// "NaN".
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_JSON_RECORDS_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_JSON_RECORDS_H_

#include <google/protobuf/struct.pb.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace foretoken::cli {

// Bytes of a file at most: its fields take up to 40 times as much memory.
inline constexpr size_t kMostImportBytes = size_t{16} << 20;
// Records of a file at most: as many as a trace of requests may have.
inline constexpr size_t kMostRecords = 100'000;

// Objects and arrays inside each other at most: what Protobuf reads into its messages of JSON.
inline constexpr int kMostDepth = 30;

struct JsonRecord {
  google::protobuf::Struct fields;
  int line = 1;      // where `text` begins
  std::string root;  // path of the record in `text`: "", or "[3]"
  std::shared_ptr<const std::string> text;
};

// Errors: INVALID_ARGUMENT: the text is empty or too long, is no JSON, has other than objects, or too many. `file` is
// the name in messages.
absl::StatusOr<std::vector<JsonRecord>> ReadJsonRecords(const std::string& file, const std::string& text);

// The line of the field at `path` ("a.b[2].c"); the first line of the record if there is none.
int LineOf(const JsonRecord& record, std::string_view path);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_JSON_RECORDS_H_
