// Kernels timed alone: the CSV that `fit --kernels` and `register-hardware --kernels` read, one row per kernel.
//
// Columns of routed experts: hardware, engine, engine_version, implementation, weight_dtype, activation_dtype,
// matrices, tokens, experts_per_token, rows, experts, hidden_size, width, seconds, source. Their meaning is that of
// foretoken.v1.RoutedExpertsKernel; width is moe_intermediate_size. The order is free. engine_version, implementation,
// matrices (blank: 3) and source may be absent; implementation and source are for people.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_KERNELS_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_KERNELS_H_

#include <istream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::cli {

// One row.
struct KernelRow {
  std::string file;
  int line = 0;
  std::string hardware_id;
  v1::KernelSample sample;
  absl::Status status;  // why the row cannot be read
};

// Reads every row, also those that cannot be read. `file` is the name in messages.
// Errors: INVALID_ARGUMENT: columns are unknown, repeated or missing (all are named), or there is no row.
absl::StatusOr<std::vector<KernelRow>> ReadKernels(const std::string& file, std::istream& in);

// "kernels.csv:12".
std::string Place(const KernelRow& row);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_KERNELS_H_
