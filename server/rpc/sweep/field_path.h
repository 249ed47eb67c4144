// A numeric, text or dtype field of v1.Scenario by its path, found by reflection.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_FIELD_PATH_H_
#define FORETOKEN_SERVER_RPC_SWEEP_FIELD_PATH_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "foretoken/v1/scenario.pb.h"
#include "google/protobuf/descriptor.h"
#include "server/rpc/estimate/scenario_reader.h"

namespace foretoken::rpc {

// What a field holds, and so what an axis over it may list.
enum class FieldKind { kInteger, kNumber, kText, kDtype };

class FieldPath {
 public:
  // Resolves a path that a sweep may vary (SweepAxis.field). The message of an error says why it is not one.
  static absl::StatusOr<FieldPath> Resolve(std::string_view path);

  const std::string& text() const { return text_; }
  FieldKind kind() const { return kind_; }
  // The part of the scenario that the field lies in.
  Part part() const { return part_; }
  // Whether a number is one that the field can hold: whole and in range for an integer.
  bool Holds(double value) const;
  // Those in words: "whole numbers from -2147483647 to 2147483647".
  std::string AllowedNumbers() const;

  // Sets the field, and makes it present. REQUIRES: a value of its kind, that it Holds.
  void SetNumber(double value, v1::Scenario& scenario) const;
  void SetText(const std::string& value, v1::Scenario& scenario) const;
  void SetDtype(int value, v1::Scenario& scenario) const;

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
