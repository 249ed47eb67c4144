#include "client/request_text.h"

#include <gtest/gtest.h>

#include "foretoken/v1/estimator_service.pb.h"

namespace foretoken::client {
namespace {

TEST(RequestTextTest, TellsUtf8FromOtherBytes) {
  struct Case {
    std::string text;
    bool want;
  };
  for (const Case& c : {Case{"", true},
                        {"h100", true},
                        {"caf\xc3\xa9", true},
                        {"\xe2\x82\xac", true},
                        {"\xf0\x9f\x98\x80", true},
                        {"\xf4\x8f\xbf\xbf", true},
                        {"caf\xe9", false},  // Latin-1
                        {"\xff\xfe", false},
                        {"\x80", false},
                        {"a\xc3", false},
                        {"\xe2\x82", false},
                        {"\xc0\x80", false},  // more bytes than needed
                        {"\xe0\x80\x80", false},
                        {"\xf0\x80\x80\x80", false},
                        {"\xed\xa0\x80", false},         // a surrogate
                        {"\xf4\x90\x80\x80", false}}) {  // beyond U+10FFFF
    EXPECT_EQ(IsUtf8(c.text), c.want) << testing::PrintToString(c.text);
  }
}

TEST(RequestTextTest, NamesTheFieldThatGrpcDoesNot) {
  v1::BatchEstimateRequest request;
  request.add_candidates();
  request.add_candidates()->set_candidate_id("h\xff\x1b");
  const absl::Status told = NameUnsendable(absl::UnimplementedError(""), request);
  EXPECT_EQ(told.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(told.message(), "candidates[1].candidate_id \"h\\xff\\x1b\" is not UTF-8");
}

TEST(RequestTextTest, LeavesEveryOtherStatusAsItIs) {
  v1::EstimateRequest request;
  request.mutable_scenario()->set_model_id("llama");
  EXPECT_EQ(NameUnsendable(absl::UnimplementedError(""), request), absl::UnimplementedError(""));
  request.mutable_scenario()->set_model_id("\xff");
  EXPECT_EQ(NameUnsendable(absl::UnimplementedError("not modelled"), request),
            absl::UnimplementedError("not modelled"));
  EXPECT_EQ(NameUnsendable(absl::OkStatus(), request), absl::OkStatus());
}

}  // namespace
}  // namespace foretoken::client
