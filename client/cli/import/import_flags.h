// Flags of what a benchmark file does not say, and runs with them as measurements.
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_IMPORT_FLAGS_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_IMPORT_FLAGS_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/import/imported_run.h"
#include "client/cli/validation/measurements.h"

namespace CLI {
class App;
}

namespace foretoken::cli {

struct ImportFlags {
  std::string hardware;
  std::string model;
  std::string engine;                         // "vllm@0.12.0"
  std::map<std::string, std::string> fields;  // path in ProfileSample to the flag's text; empty: not given

  void AddTo(CLI::App& command);
  bool AnyGiven() const;
};

// The catalog id of a model by the name that a file has for it.
using ModelNames = std::function<absl::StatusOr<std::string>(const std::string& name)>;

// The runs as measurements. `source` begins the column of that name, and the place of the
// run follows. `models` is asked for each name
// once, and only without --model.
// Errors: INVALID_ARGUMENT: a run lacks what no flag states, a flag contradicts the file, one flag stands for runs that
// differ in it, or a value is out of range; all are named, each with the flag. What `models` returns.
absl::StatusOr<std::vector<Measurement>> CompleteRuns(const std::vector<ImportedRun>& runs, const ImportFlags& flags,
                                                      const std::string& source, const ModelNames& models);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_IMPORT_FLAGS_H_
