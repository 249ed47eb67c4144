// The CSV of measurements that a profile writes as it goes on.
#ifndef FORETOKEN_CLIENT_CLI_PROFILE_RUNS_FILE_H_
#define FORETOKEN_CLIENT_CLI_PROFILE_RUNS_FILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/profile/outcome.h"
#include "client/cli/validation/measurements.h"

namespace foretoken::cli {

// What all rows have in common.
struct ProfiledSystem {
  std::string hardware_id;
  std::string model_id;
  v1::Deployment deployment;
};

// After each change the file is written whole beside itself and then renamed, so that a kill leaves either the old rows
// or the new ones.
class RunsFile {
 public:
  // Reads the rows of an earlier profile, if there are any, so that it goes on. Errors: INVALID_ARGUMENT: the file
  // cannot be read, or has rows of another hardware or model.
  static absl::StatusOr<RunsFile> Open(const std::string& file, const ProfiledSystem& system);

  const std::vector<Measurement>& rows() const { return rows_; }

  // Whether a row is of this load.
  bool Has(const LoadPoint& asked) const;

  // Errors: INVALID_ARGUMENT: the file cannot be written.
  absl::Status Add(const LoadPoint& asked, const Outcome& outcome, int runs);

  // Takes the rows of these loads back. Errors: likewise.
  absl::Status Remove(const std::vector<LoadPoint>& asked);

 private:
  RunsFile(std::string file, ProfiledSystem system) : file_(std::move(file)), system_(std::move(system)) {}
  absl::Status Write() const;

  std::string file_;
  ProfiledSystem system_;
  std::vector<Measurement> rows_;
};

// Reads the loads of a CSV with the columns batch_size, request_rate, arrival_cv, requests, prompt_tokens,
// prompt_tokens_min, output_tokens and output_tokens_min, of which the lengths are required. Errors: INVALID_ARGUMENT:
// the file or a row cannot be read; every such row is named.
absl::StatusOr<std::vector<LoadPoint>> ReadLoads(const std::string& file, std::istream& in);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_PROFILE_RUNS_FILE_H_
