#include "server/catalog/field_checks.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "estimator/violations.h"

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

void FieldChecks::Add(std::string_view field, std::string_view fault) {
  std::string description(field);
  description.append(fault);
  AddViolation(std::string(field), std::move(description), violations_);
}

int FieldChecks::Int(std::string_view field, int value, int min, int max) {
  if (value < min || value > max) Add(field, absl::StrFormat(" %d; allowed %d to %d", value, min, max));
  return value;
}

double FieldChecks::AtLeast(std::string_view field, double value, double min, double max) {
  if (!(value >= min && value <= max)) Add(field, absl::StrFormat(" %g; allowed %g to %g", value, min, max));
  return value;
}

double FieldChecks::Positive(std::string_view field, double value, double max) {
  constexpr double kLeast = 1e-9;  // what follows from smaller ones is not a number any more
  return AtLeast(field, value, kLeast, max);
}

void FieldChecks::Id(std::string_view field, std::string_view id) {
  if (id.empty()) {
    Add(field, " is required");
  } else if (!IsId(id)) {
    Add(field, absl::StrCat(" ", Quoted(id), "; allowed up to ", kMaxIdLength,
                            " lower-case letters, digits, '.' and '-', a letter or digit first and last"));
  }
}

void FieldChecks::Known(std::string_view field, int value, bool known) {
  if (!known) Add(field, absl::StrCat(" ", value, "; not a value of this enum"));
}

Dtype FieldChecks::Dtype(std::string_view field, v1::Dtype value) {
  Known(field, value, v1::Dtype_IsValid(value));
  // The core model's enum has the API's order and numbers.
  return v1::Dtype_IsValid(value) ? static_cast<foretoken::Dtype>(value) : foretoken::Dtype::kUnspecified;
}

}  // namespace foretoken::catalog
