// The measurements of this folder as the core model reads them.
#ifndef FORETOKEN_TESTS_VALIDATION_MEASURED_H_
#define FORETOKEN_TESTS_VALIDATION_MEASURED_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/fit/fit.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::validation {

// One row.
struct Row {
  std::string file, hardware, engine, version, model;
  int line = 0;  // of the file
  Sample sample;
  bool served = false;   // continuous batching
  bool mixture = false;  // of experts

  // What errors are averaged within: one curve of one source.
  std::string Group() const { return file + "/" + hardware + "/" + engine + "/" + model; }
  std::string EngineAtVersion() const { return version.empty() ? engine : engine + "@" + version; }
  // What was run, for a reader.
  std::string Text() const;
  bool AtARate() const { return sample.scenario.workload.request_rate_per_second.has_value(); }
};

// Reads files of the form of README.md. Errors: the first row that cannot be read or names an unknown id.
absl::StatusOr<std::vector<Row>> ReadRows(const std::vector<std::string>& files, const catalog::Snapshot& snapshot);

// Every file of a folder; rows that are faster than light are left out and told in `rejected`.
absl::StatusOr<std::vector<Row>> ReadFolder(const std::string& folder, const catalog::Snapshot& snapshot,
                                            std::vector<std::string>& rejected);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_MEASURED_H_
