#include "server/catalog/spec/field_checker.h"

#include <algorithm>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "estimator/base/violations.h"

namespace foretoken::catalog {
namespace {

constexpr size_t kQuotedLength = 64;

bool IsIdEdge(char c) { return absl::ascii_islower(c) || absl::ascii_isdigit(c); }

bool IsId(std::string_view id) {
  if (id.empty() || id.size() > kMaxIdLength || !IsIdEdge(id.front()) || !IsIdEdge(id.back())) return false;
  return std::all_of(id.begin(), id.end(), [](char c) { return IsIdEdge(c) || c == '.' || c == '-'; });
}

}  // namespace

std::string Quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text.substr(0, kQuotedLength)) out += absl::ascii_isprint(c) ? c : '?';
  return out + (text.size() <= kQuotedLength ? "\"" : "...\"");
}

void FieldChecker::Add(std::string_view field, std::string_view description) {
  AddViolation(std::string(parent_).append(field), std::string(description), violations_);
}

void FieldChecker::Fault(std::string_view field, std::string_view fault) {
  Add(field, std::string(field).append(fault));
}

int FieldChecker::Int(std::string_view field, int value, int low, int high) {
  if (value < low || value > high) {
    Fault(field, high == kMaxInt ? absl::StrCat(" ", value, "; allowed ", low, " or more")
                                 : absl::StrCat(" ", value, "; allowed ", low, " to ", high));
  }
  return value;
}

double FieldChecker::Count(std::string_view field, int64_t value, int64_t high) {
  if (value < 0 || value > high) Fault(field, absl::StrCat(" ", value, "; allowed 0 to ", high));
  return static_cast<double>(value);
}

double FieldChecker::Between(std::string_view field, double value, double low, double high) {
  if (!(value >= low && value <= high)) Fault(field, absl::StrCat(" ", value, "; allowed ", low, " to ", high));
  return value;
}

int FieldChecker::Enum(std::string_view field, int value, int last) {
  if (value >= 0 && value <= last) return value;
  Fault(field, absl::StrCat(" has unknown value ", value, "; allowed 0 to ", last));
  return 0;
}

Dtype FieldChecker::Dtype(std::string_view field, v1::Dtype value) {
  return static_cast<foretoken::Dtype>(Enum(field, value, v1::Dtype_MAX));
}

void FieldChecker::Id(std::string_view field, std::string_view id) {
  if (id.empty()) {
    Required(field);
  } else if (!IsId(id)) {
    Fault(field, absl::StrCat(" ", Quoted(id), "; allowed up to ", kMaxIdLength,
                              " lower-case letters, digits, '.' and '-', a letter or digit first and last"));
  }
}

bool FieldChecker::Size(std::string_view field, int size, int most) {
  if (size > most) Fault(field, absl::StrCat(" has ", size, "; allowed up to ", most));
  return size <= most;
}

}  // namespace foretoken::catalog
