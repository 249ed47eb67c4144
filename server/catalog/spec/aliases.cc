#include "server/catalog/spec/aliases.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace foretoken::catalog {
namespace {

constexpr char kAllowed[] = "; allowed 1 to 128 printable ASCII characters, no space first or last";
static_assert(kMaxIdLength == 128);

bool IsAlias(std::string_view name) {
  if (name.empty() || name.size() > kMaxIdLength || name.front() == ' ' || name.back() == ' ') return false;
  return std::all_of(name.begin(), name.end(), [](char c) { return absl::ascii_isprint(c); });
}

}  // namespace

std::string Folded(std::string_view name) {
  std::string folded(name);
  absl::AsciiStrToLower(&folded);
  return folded;
}

void CheckAliases(FieldChecker& checks, const std::string& id,
                  const google::protobuf::RepeatedPtrField<std::string>& aliases) {
  if (!checks.Size("aliases", aliases.size(), kMaxAliases)) return;
  for (int i = 0; i < aliases.size(); ++i) {
    const std::string& alias = aliases[i];
    const auto fault = [&](std::string_view what) {
      checks.Fault(absl::StrCat("aliases[", i, "]"), absl::StrCat(" ", Quoted(alias), std::string(what)));
    };
    const auto same = [&alias](const std::string& other) { return absl::EqualsIgnoreCase(other, alias); };
    if (!IsAlias(alias)) {
      fault(kAllowed);
    } else if (same(id)) {
      fault(" is the id of its entry; allowed: other names");
    } else if (std::any_of(aliases.begin(), aliases.begin() + i, same)) {
      fault(" repeats an alias before it; allowed once");
    }
  }
}

}  // namespace foretoken::catalog
