// Measurements of one hardware, from a CSV into a registration.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_SAMPLES_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_SAMPLES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/terminal/session.h"
#include "client/cli/validation/kernels.h"
#include "client/cli/validation/measurements.h"
#include "foretoken/v1/catalog_service.pb.h"

namespace foretoken::cli {

// Reads a CSV of measurements; "-" reads the session's input. Columns that no estimate uses are named on its error
// stream. Errors: INVALID_ARGUMENT: the file or a row cannot be read; every such
// row is named.
absl::StatusOr<std::vector<Measurement>> ReadRuns(const std::string& file, const Session& session);

// Likewise of a CSV of kernels. An empty name gives no rows.
absl::StatusOr<std::vector<KernelRow>> ReadKernels(const std::string& file, const Session& session);

// Puts the rows into the request as its samples. Errors: INVALID_ARGUMENT: rows of other hardware than its spec's.
absl::Status AddSamples(const std::vector<Measurement>& rows, v1::RegisterHardwareRequest& request);

// Puts the rows into the request as its kernels. Errors: as AddSamples.
absl::Status AddKernels(const std::vector<KernelRow>& rows, v1::RegisterHardwareRequest& request);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_SAMPLES_H_
