// The entries that ship as files: one textproto per entry under DIR/hardware and DIR/models. A file is named after its
// entry's id, and every number in it is covered by a source.
#ifndef FORETOKEN_SERVER_CATALOG_ENTRIES_BUNDLE_H_
#define FORETOKEN_SERVER_CATALOG_ENTRIES_BUNDLE_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::catalog {

struct Bundle {
  std::vector<HardwareRecord> hardware;
  std::vector<ModelRecord> models;
  std::shared_ptr<const ShippedCalibrations> calibrations = std::make_shared<ShippedCalibrations>();
  std::string digest;  // SHA-256 of the files' contents in order of their names, hex
};

// One file of a bundle: its path inside it and what it holds.
struct CatalogFile {
  std::string path;  // "hardware/nvidia-h100-sxm-80gb.textproto"
  std::string contents;
};

// Every fault of the files under `dir`, one line each: "hardware/x.textproto:12:3: ..." or
// "hardware/x.textproto: peak.bf16_flops_per_second: ...". Empty: none.
std::vector<std::string> CheckBundle(const std::string& dir);

// Reads and checks the files under `dir`. Errors: INVALID_ARGUMENT listing every fault; NOT_FOUND: no such folder.
absl::StatusOr<Bundle> LoadBundle(const std::string& dir);

// The same for files that are in memory already.
absl::StatusOr<Bundle> ParseBundle(const std::vector<CatalogFile>& files);

}  // namespace foretoken::catalog

#endif  // FORETOKEN_SERVER_CATALOG_ENTRIES_BUNDLE_H_
