#include "server/rpc/estimate/batch_size.h"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "absl/types/span.h"
#include "estimator/scenario/scenario.h"
#include "foretoken/v1/estimator_service.pb.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/wire_format_lite.h"
#include "grpcpp/support/proto_buffer_reader.h"

namespace foretoken::rpc {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedInputStream;

// The number at the end of a path of fields, the last of which is a varint and the others messages. Reads one field,
// whose tag was read already. 0: it is not there.
uint64_t ReadNumber(CodedInputStream& stream, uint32_t tag, absl::Span<const int> path) {
  uint64_t number = 0;
  const auto type = WireFormatLite::GetTagWireType(tag);
  const bool wanted = WireFormatLite::GetTagFieldNumber(tag) == path.front();
  if (wanted && path.size() == 1 && type == WireFormatLite::WIRETYPE_VARINT) {
    stream.ReadVarint64(&number);
  } else if (wanted && path.size() > 1 && type == WireFormatLite::WIRETYPE_LENGTH_DELIMITED) {
    const auto outer = stream.ReadLengthAndPushLimit();
    while (const uint32_t inner = stream.ReadTag())
      number = std::max(number, ReadNumber(stream, inner, path.subspan(1)));
    stream.PopLimit(outer);
  } else {
    WireFormatLite::SkipField(&stream, tag);
  }
  return number;
}

constexpr int kOfBase[] = {v1::BatchEstimateRequest::kBaseFieldNumber, v1::Scenario::kSloFieldNumber,
                           v1::Slo::kSimulatedStepsFieldNumber};
constexpr int kOfCandidate[] = {v1::BatchEstimateRequest::kCandidatesFieldNumber, v1::Candidate::kSloFieldNumber,
                                v1::Slo::kSimulatedStepsFieldNumber};

}  // namespace

BatchSize SizeOf(const grpc::ByteBuffer& request) {
  grpc::ByteBuffer bytes = request;  // shares them
  grpc::ProtoBufferReader reader(&bytes);
  CodedInputStream stream(&reader);
  BatchSize size;
  uint64_t most = 0;
  while (const uint32_t tag = stream.ReadTag()) {
    const bool candidate = WireFormatLite::GetTagFieldNumber(tag) == kOfCandidate[0];
    if (candidate) ++size.candidates;
    most = std::max(most, ReadNumber(stream, tag, candidate ? kOfCandidate : kOfBase));
  }
  size.simulated_steps = size.candidates * static_cast<double>(std::min<uint64_t>(most, kMostSimulatedSteps));
  return size;
}

}  // namespace foretoken::rpc
