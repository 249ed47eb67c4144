#include "server/rpc/sweep/sweep_axis.h"

#include <cmath>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/catalog/spec/field_checker.h"

namespace foretoken::rpc {
namespace {

absl::Status CheckCount(int64_t count, std::string_view path) {
  if (count == 0) return Refusal(Reason::kInvalidField, path, "no values; allowed 1 or more");
  if (count <= kMaxAxisValues) return absl::OkStatus();
  return Refusal(Reason::kLimitExceeded, path,
                 absl::StrCat(count, " values on one axis; allowed 1 to ", kMaxAxisValues));
}

// Number `i` of `count` from start to stop; the ends are exact.
double Interpolate(const v1::Range& range, bool logarithmic, int i) {
  if (i == 0) return range.start();
  if (i == range.count() - 1) return range.stop();
  const double share = static_cast<double>(i) / (range.count() - 1);
  if (logarithmic) return range.start() * std::pow(range.stop() / range.start(), share);
  return range.start() + (range.stop() - range.start()) * share;
}

absl::Status CheckEnds(const v1::Range& range, bool logarithmic, std::string_view path) {
  const absl::string_view view(path.data(), path.size());
  for (const auto& [name, value] : {std::pair("start", range.start()), std::pair("stop", range.stop())}) {
    if (std::isfinite(value) && (value > 0 || !logarithmic)) continue;
    return Refusal(
        Reason::kInvalidField, absl::StrCat(view, ".", name),
        absl::StrCat(name, " ", value, "; allowed ", logarithmic ? "finite numbers above 0" : "finite numbers"));
  }
  if (range.count() >= 1) return absl::OkStatus();
  return Refusal(Reason::kInvalidField, absl::StrCat(view, ".count"),
                 absl::StrCat("count ", range.count(), "; allowed 1 to ", kMaxAxisValues));
}

absl::Status CannotHold(const FieldPath& field, double number, std::string_view path) {
  return Refusal(Reason::kInvalidField, path,
                 absl::StrCat(number, " on ", field.text(), "; allowed ", field.AllowedNumbers()));
}

}  // namespace

absl::StatusOr<Axis> Axis::Resolve(const v1::SweepAxis& message, std::string_view path) {
  Axis axis;
  axis.path_ = path;
  absl::StatusOr<FieldPath> field = FieldPath::Resolve(message.field());
  if (!field.ok()) {
    return Refusal(Reason::kInvalidField, axis.path_ + ".field", std::string(field.status().message()));
  }
  axis.field_ = *std::move(field);
  if (absl::Status status = axis.ReadValues(message); !status.ok()) return status;
  return axis;
}

absl::Status Axis::ReadValues(const v1::SweepAxis& message) {
  form_ = message.values_case();
  switch (form_) {
    case v1::SweepAxis::VALUES_NOT_SET:
      return Refusal(Reason::kInvalidField, path_, absl::StrCat(path_, " has no values; allowed 1 or more"));
    case v1::SweepAxis::kTexts:
      return field_.kind() == FieldKind::kText ? ReadTexts(message.texts()) : ReadNames(message.texts());
    case v1::SweepAxis::kDtypes:
      return ReadDtypes(message.dtypes());
    default:
      return ReadNumbers(message);
  }
}

// What an axis over a field of each kind may list.
absl::Status Axis::WrongKind() const {
  const auto allowed = [this]() -> std::string {
    switch (field_.kind()) {
      case FieldKind::kText:
        return "texts";
      case FieldKind::kEnum:
        return absl::StrCat(field_.IsDtype() ? "dtypes, or " : "", "texts, each ", field_.AllowedNames());
      case FieldKind::kBool:
        return absl::StrCat("numbers, each ", field_.AllowedNumbers(), ", or texts, each ", field_.AllowedNames());
      default:
        return "numbers, linear or logarithmic";
    }
  };
  return Refusal(Reason::kInvalidField, path_, absl::StrCat(field_.text(), " takes ", allowed()));
}

absl::Status Axis::ReadNumbers(const v1::SweepAxis& message) {
  if (field_.kind() == FieldKind::kText || field_.kind() == FieldKind::kEnum) return WrongKind();
  if (message.has_linear()) return ReadRange(message.linear(), /*logarithmic=*/false);
  if (message.has_logarithmic()) return ReadRange(message.logarithmic(), /*logarithmic=*/true);
  const v1::NumberList& list = message.numbers();
  values_path_ = path_ + ".numbers.values";
  if (absl::Status status = CheckCount(list.values_size(), values_path_); !status.ok()) return status;
  numbers_.assign(list.values().begin(), list.values().end());
  size_ = list.values_size();
  for (int i = 0; i < size_; ++i) {
    if (field_.Holds(numbers_[i])) continue;
    return CannotHold(field_, numbers_[i], ValuePath(i));
  }
  return absl::OkStatus();
}

absl::Status Axis::ReadRange(const v1::Range& range, bool logarithmic) {
  values_path_ = path_ + (logarithmic ? ".logarithmic" : ".linear");
  listed_ = false;
  if (absl::Status status = CheckEnds(range, logarithmic, values_path_); !status.ok()) return status;
  if (absl::Status status = CheckCount(range.count(), values_path_ + ".count"); !status.ok()) return status;
  for (int i = 0; i < range.count(); ++i) {
    double number = Interpolate(range, logarithmic, i);
    if (field_.kind() == FieldKind::kInteger) {
      number = std::round(number);
      if (!numbers_.empty() && numbers_.back() == number) continue;  // a range is monotone: repeats are neighbours
    }
    if (!field_.Holds(number)) return CannotHold(field_, number, values_path_);
    numbers_.push_back(number);
  }
  size_ = static_cast<int>(numbers_.size());
  return absl::OkStatus();
}

absl::Status Axis::ReadTexts(const v1::TextList& list) {
  values_path_ = path_ + ".texts.values";
  if (absl::Status status = CheckCount(list.values_size(), values_path_); !status.ok()) return status;
  texts_.assign(list.values().begin(), list.values().end());
  size_ = list.values_size();
  return absl::OkStatus();
}

// The values of an enum or of a bool by their names.
absl::Status Axis::ReadNames(const v1::TextList& list) {
  if (field_.kind() != FieldKind::kEnum && field_.kind() != FieldKind::kBool) return WrongKind();
  values_path_ = path_ + ".texts.values";
  if (absl::Status status = CheckCount(list.values_size(), values_path_); !status.ok()) return status;
  size_ = list.values_size();
  for (int i = 0; i < size_; ++i) {
    const std::optional<int> number = field_.NumberOf(list.values(i));
    if (!number) {
      return Refusal(
          Reason::kInvalidField, ValuePath(i),
          absl::StrCat(catalog::Quoted(list.values(i)), " on ", field_.text(), "; allowed ", field_.AllowedNames()));
    }
    numbers_.push_back(*number);
  }
  return absl::OkStatus();
}

absl::Status Axis::ReadDtypes(const v1::DtypeList& list) {
  if (!field_.IsDtype()) return WrongKind();
  values_path_ = path_ + ".dtypes.values";
  if (absl::Status status = CheckCount(list.values_size(), values_path_); !status.ok()) return status;
  numbers_.assign(list.values().begin(), list.values().end());
  size_ = list.values_size();
  return absl::OkStatus();
}

std::string Axis::ValuePath(int index) const {
  return listed_ ? absl::StrCat(values_path_, "[", index, "]") : values_path_;
}

void Axis::Apply(int index, v1::Scenario& scenario) const {
  if (field_.kind() == FieldKind::kText) return field_.SetText(texts_[index], scenario);
  field_.SetNumber(numbers_[index], scenario);
}

v1::SweepAxis Axis::ToProto() const {
  v1::SweepAxis message;
  message.set_field(field_.text());
  if (form_ == v1::SweepAxis::kDtypes) {
    for (const double number : numbers_) message.mutable_dtypes()->add_values(static_cast<v1::Dtype>(number));
  } else if (field_.kind() == FieldKind::kText) {
    message.mutable_texts()->mutable_values()->Assign(texts_.begin(), texts_.end());
  } else if (form_ == v1::SweepAxis::kTexts) {
    for (const double number : numbers_) message.mutable_texts()->add_values(field_.NameOf(static_cast<int>(number)));
  } else {
    message.mutable_numbers()->mutable_values()->Assign(numbers_.begin(), numbers_.end());
  }
  return message;
}

}  // namespace foretoken::rpc
