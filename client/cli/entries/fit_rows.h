// From measured rows to a calibration: fitted, held to the rows that the fit did not see, registered.
#ifndef FORETOKEN_CLIENT_CLI_ENTRIES_FIT_ROWS_H_
#define FORETOKEN_CLIENT_CLI_ENTRIES_FIT_ROWS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/cli/scenario/write_flags.h"
#include "client/cli/terminal/session.h"
#include "client/cli/validation/measurements.h"

namespace foretoken::cli {

struct FitOptions {
  std::string spec;                      // file of the hardware entry; empty: the catalog's
  std::optional<double> max_median_ape;  // gate of the registration
  WriteFlags write;
  bool store = false;  // register; else a dry run
  uint64_t seed = 1;   // of the choice of rows that are held out

  // Sets the gate, etag, request_id and validate_only.
  void Fill(v1::RegisterHardwareRequest& request) const;
};

// --spec, --max-median-ape, --register and the flags of a write, which `options` outlives.
void AddFitFlags(CLI::App& command, FitOptions& options);

// Fits the rows and prints the report. With `store` a fifth of the rows is held out, if there are six or more, the rest
// is registered if it passes the gate, in one call under the entry's etag, and the rows held out are predicted with it.
// As JSON only the answer of the registration is printed.
// Errors: those of GetHardware, RegisterHardware and BatchEstimate.
absl::Status FitRows(std::vector<Measurement> rows, const FitOptions& options, const Session& session);

// "gemm_efficiency ±12%, layer_gap ±30%": the parameters that these rows identify, best known first, from a dry run;
// empty where none is, or the rows cannot be fitted yet.
std::string Learned(const std::vector<Measurement>& rows, const std::string& spec, const Session& session);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_ENTRIES_FIT_ROWS_H_
