// An estimate in which every field has a value of its own, so that a test notices two fields that are swapped.
#ifndef FORETOKEN_TESTS_CLIENT_CLI_DISTINCT_ESTIMATE_H_
#define FORETOKEN_TESTS_CLIENT_CLI_DISTINCT_ESTIMATE_H_

#include <google/protobuf/message.h>

#include <functional>
#include <string>

#include "foretoken/v1/estimate.pb.h"

namespace foretoken::cli {

// Fills every field of a message: numbers 101, 102, ... in the order of the descriptor, texts "text-103", the enums'
// values other than 0 in turn, bools true, repeated fields one element.
void FillDistinct(google::protobuf::Message& message);

v1::Estimate DistinctEstimate();

// A field that holds a value: a scalar, a list of scalars, a map, or a duration.
struct Leaf {
  std::string path;  // "ttft.band.low"; "warnings.message" in the first element of a list
  google::protobuf::Message& owner;
  const google::protobuf::FieldDescriptor& field;
};

// Visits every leaf below a message that FillDistinct has filled, in the order of the descriptor.
void ForEachLeaf(google::protobuf::Message& message, const std::function<void(const Leaf&)>& visit);

// Gives the leaf another value.
void Change(const Leaf& leaf);

// The value as CSV shows it: numbers exactly, enums in lower case without their prefix, durations in seconds.
std::string ExactText(const Leaf& leaf);

}  // namespace foretoken::cli

#endif  // FORETOKEN_TESTS_CLIENT_CLI_DISTINCT_ESTIMATE_H_
