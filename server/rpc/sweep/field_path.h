// A field of v1.Scenario that a sweep may vary, found by its path through reflection: every number, enum and bool, and
// a few texts.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_FIELD_PATH_H_
#define FORETOKEN_SERVER_RPC_SWEEP_FIELD_PATH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "foretoken/v1/scenario.pb.h"
#include "google/protobuf/descriptor.h"
#include "server/rpc/estimate/scenario_reader.h"

namespace foretoken::rpc {

// What a field holds, and so what an axis over it may list.
enum class FieldKind { kInteger, kNumber, kText, kEnum, kBool };

class FieldPath {
 public:
  // Resolves a path that a sweep may vary (SweepAxis.field). The message of an error says why it is not one.
  static absl::StatusOr<FieldPath> Resolve(std::string_view path);

  const std::string& text() const { return text_; }
  FieldKind kind() const { return kind_; }
  // The part of the scenario that the field lies in.
  Part part() const { return part_; }
  // An enum of number formats, which an axis may also list as dtypes.
  bool IsDtype() const;

  // Whether a number is one that the field can hold: whole and in range for an integer, 0 or 1 for a bool.
  bool Holds(double value) const;
  // Those in words: "whole numbers from -2147483647 to 2147483647".
  std::string AllowedNumbers() const;

  // The number behind the name of an enum's value, or behind "true" and "false"; absent: no such name.
  std::optional<int> NumberOf(const std::string& name) const;
  // The name behind such a number. REQUIRES: NumberOf has given it.
  std::string NameOf(int number) const;
  // All names in words: "one of KV_CACHE_MODE_UNSPECIFIED, KV_CACHE_MODE_CACHED, ...".
  std::string AllowedNames() const;

  // Sets the field, and makes it present. A bool or an enum is set by its number.
  // REQUIRES: a value of its kind, and for a number one that it Holds.
  void SetNumber(double value, v1::Scenario& scenario) const;
  void SetText(const std::string& value, v1::Scenario& scenario) const;

 private:
  int64_t LargestInteger() const;
  google::protobuf::Message& Parent(v1::Scenario& scenario) const;

  std::string text_;
  std::vector<const google::protobuf::FieldDescriptor*> parents_;
  const google::protobuf::FieldDescriptor* field_ = nullptr;
  FieldKind kind_ = FieldKind::kNumber;
  Part part_ = Part::kWorkload;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_FIELD_PATH_H_
