#include "client/cli/terminal/session.h"

#include "absl/strings/str_cat.h"

namespace foretoken::cli {

absl::Status CheckNotCsv(const Session& session, std::string_view what) {
  if (session.output != OutputFormat::kCsv) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("--output csv: ", absl::string_view(what.data(), what.size()),
                                                 " is not a table; allowed: text, json"));
}

}  // namespace foretoken::cli
