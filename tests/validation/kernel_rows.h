// Kernels timed alone, of the folder `kernels`: which engine's implementation on which device, and how long it took.
#ifndef FORETOKEN_TESTS_VALIDATION_KERNEL_ROWS_H_
#define FORETOKEN_TESTS_VALIDATION_KERNEL_ROWS_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "estimator/fit/kernel_fit.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::validation {

struct KernelRow {
  std::string hardware, engine, version;
  KernelSample sample;

  std::string EngineAtVersion() const { return engine + "@" + version; }
};

// Reads experts.csv of a folder, in the form of README.md. Rows that cannot be right are left out and told in
// `rejected`. Errors: a row that cannot be read or names an unknown id.
absl::StatusOr<std::vector<KernelRow>> ReadKernels(const std::string& folder, const catalog::Snapshot& snapshot,
                                                   std::vector<std::string>& rejected);

}  // namespace foretoken::validation

#endif  // FORETOKEN_TESTS_VALIDATION_KERNEL_ROWS_H_
