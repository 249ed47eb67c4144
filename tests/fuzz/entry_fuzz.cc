// A file of a catalog: a textproto of hardware, of a model or of a calibration, by the first byte.
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/stubs/logging.h"
#include "server/catalog/entries/bundle.h"
#include "tests/fuzz/fuzz.h"

namespace foretoken {

// Where nothing is wrong, there is an entry; else each fault begins with the name of the file.
void fuzz::One(std::string_view input) {
  google::protobuf::SetLogHandler(nullptr);
  if (input.empty()) return;
  const char* const folders[] = {"hardware", "models", "calibrations"};
  const std::string folder = folders[static_cast<unsigned char>(input.front()) % 3];
  const std::string path = absl::StrCat(folder, "/x.textproto");
  const absl::StatusOr<catalog::Bundle> bundle = catalog::ParseBundle({{path, std::string(input.substr(1))}});
  Require(bundle.ok() || absl::StrContains(bundle.status().message(), path), "a fault without its file");
  Require(!bundle.ok() || !bundle->digest.empty(), "a bundle without a digest");
}

}  // namespace foretoken
