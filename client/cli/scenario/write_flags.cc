#include "client/cli/scenario/write_flags.h"

#include <CLI/CLI.hpp>
#include <cstdint>

#include "absl/random/random.h"
#include "absl/strings/str_format.h"

namespace foretoken::cli {

void WriteFlags::AddTo(CLI::App& command) {
  command.add_option("--etag", etag, "Write only if the entry has this etag; * for any existing entry")
      ->type_name("ETAG");
  command.add_option("--request-id", request_id, "Id that makes repeating the command safe; default: random")
      ->type_name("ID");
}

std::string WriteFlags::RandomRequestId() {
  absl::BitGen random;
  return absl::StrFormat("%016x%016x", absl::Uniform<uint64_t>(random), absl::Uniform<uint64_t>(random));
}

}  // namespace foretoken::cli
