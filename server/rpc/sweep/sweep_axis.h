// One dimension of a sweep with every value spelled out.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_SWEEP_AXIS_H_
#define FORETOKEN_SERVER_RPC_SWEEP_SWEEP_AXIS_H_

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "foretoken/v1/sweep.pb.h"
#include "server/rpc/sweep/field_path.h"

namespace foretoken::rpc {

// Values of one axis: the header, which spells them out, has to fit in a message.
inline constexpr int kMaxAxisValues = 250'000;

class Axis {
 public:
  // Checks and expands `message`, which `path` ("axes[1]") names in errors.
  //
  // Ranges include both ends; on an integer field their numbers are rounded and repeats dropped.
  // Errors: kInvalidField: no such field, values of the wrong kind, none, not finite or not whole; kLimitExceeded.
  static absl::StatusOr<Axis> Resolve(const v1::SweepAxis& message, std::string_view path);

  const FieldPath& field() const { return field_; }
  int size() const { return size_; }
  // The values of an axis, the numbers of an enum's or a bool's; empty for texts.
  const std::vector<double>& numbers() const { return numbers_; }
  // Path of value `index` in the request: "axes[1].numbers.values[3]", or "axes[1].linear".
  std::string ValuePath(int index) const;

  // Sets the field to value `index`.
  void Apply(int index, v1::Scenario& scenario) const;

  // With its values listed.
  v1::SweepAxis ToProto() const;

 private:
  absl::Status ReadNumbers(const v1::SweepAxis& message);
  absl::Status ReadRange(const v1::Range& range, bool logarithmic);
  absl::Status ReadTexts(const v1::TextList& list);
  absl::Status ReadNames(const v1::TextList& list);
  absl::Status ReadDtypes(const v1::DtypeList& list);
  absl::Status ReadValues(const v1::SweepAxis& message);
  absl::Status WrongKind() const;

  std::string path_;         // "axes[1]"
  std::string values_path_;  // "axes[1].numbers.values" or "axes[1].linear"
  bool listed_ = true;       // each value has a path of its own
  v1::SweepAxis::ValuesCase form_ = v1::SweepAxis::VALUES_NOT_SET;
  FieldPath field_;
  int size_ = 0;
  std::vector<double> numbers_;     // of every kind but texts
  std::vector<std::string> texts_;  // of texts
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_SWEEP_AXIS_H_
