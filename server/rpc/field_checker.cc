#include "server/rpc/field_checker.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "estimator/violations.h"

namespace foretoken::rpc {
namespace {

absl::string_view View(std::string_view text) { return absl::string_view(text.data(), text.size()); }

// The last part of a path: messages name the field, the path tells where it is.
absl::string_view Name(std::string_view field) {
  const size_t dot = field.rfind('.');
  return View(dot == std::string_view::npos ? field : field.substr(dot + 1));
}

}  // namespace

void FieldChecker::Add(std::string_view field, std::string_view description) {
  AddViolation(absl::StrCat(View(parent_), View(field)), std::string(description), violations_);
}

int FieldChecker::Int(std::string_view field, int value, int low, int high) {
  if (value < low || value > high) {
    Add(field, high == kMaxInt ? absl::StrCat(Name(field), " ", value, "; allowed ", low, " or more")
                               : absl::StrCat(Name(field), " ", value, "; allowed ", low, " to ", high));
  }
  return value;
}

double FieldChecker::Count(std::string_view field, int64_t value) {
  if (value < 0) Add(field, absl::StrCat(Name(field), " ", value, "; allowed 0 or more"));
  return static_cast<double>(value);
}

double FieldChecker::Between(std::string_view field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    Add(field, absl::StrCat(Name(field), " ", value, "; allowed ", low, " to ", high));
  }
  return value;
}

int FieldChecker::Enum(std::string_view field, int value, int last) {
  if (value >= 0 && value <= last) return value;
  Add(field, absl::StrCat(Name(field), " has unknown value ", value, "; allowed 0 to ", last));
  return 0;
}

}  // namespace foretoken::rpc
