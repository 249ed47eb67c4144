// Benchmark files of other tools, as runs.
//
// Start of the room import/: ReadImport takes a file by its format and gives runs, and CompleteRuns (import_flags.h)
// adds what flags say and makes measurements of them. A format is a row in import_format.cc and a reader in formats.h.
// It includes the rooms before it.
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_IMPORT_FORMAT_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_IMPORT_FORMAT_H_

#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/import/field_reader.h"
#include "client/cli/import/imported_run.h"

namespace foretoken::cli {

// Fields that are known and have no column: "std_*", "*_throughput" or a whole name, which stands for what is below it.
struct LostFields {
  const char* meaning;
  std::vector<const char*> patterns;
};

struct ImportFormat {
  const char* name;
  const char* tool;  // what writes such files
  void (*read)(FieldReader& fields, ImportedRun& run);
  std::vector<LostFields> lost;
};

const std::vector<ImportFormat>& ImportFormats();

// Null if there is none of that name.
const ImportFormat* FindImportFormat(const std::string& name);

// What of the files went into no row.
struct LeftOut {
  std::map<std::string, std::set<std::string>> lost;  // meaning to fields
  std::set<std::string> unknown;                      // fields
  std::set<std::string> ignored;                      // fields, as the user wished
  std::vector<std::string> runs;                      // "run.json:3: why"
};

// Lines for the error stream; empty: nothing was left out.
std::string NoteOfLeftOut(const LeftOut& left_out);

// Reads the runs of a file, and adds what is left out. `ignored` fields are read as absent.
// Errors: INVALID_ARGUMENT: the file cannot be read by the format; each message has file, line and field.
absl::StatusOr<std::vector<ImportedRun>> ReadImport(const ImportFormat& format, const std::string& file,
                                                    const std::string& text, const std::set<std::string>& ignored,
                                                    LeftOut& left_out);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_IMPORT_FORMAT_H_
