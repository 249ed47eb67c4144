#include "estimator/base/errors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "estimator/base/violations.h"

namespace foretoken {
namespace {

using ::testing::IsEmpty;

TEST(ErrorsTest, RefusalCarriesCodeFieldAndMessage) {
  const absl::Status status =
      Refusal(Reason::kInvalidField, "deployment.tensor_parallel", "tensor_parallel 0; allowed 1 to 1024");
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "tensor_parallel 0; allowed 1 to 1024");
  const RefusalDetail detail = DetailOf(status);
  EXPECT_EQ(detail.reason, Reason::kInvalidField);
  ASSERT_EQ(detail.violations.size(), 1u);
  EXPECT_EQ(detail.violations[0].field, "deployment.tensor_parallel");
  EXPECT_EQ(detail.violations[0].description, "tensor_parallel 0; allowed 1 to 1024");
}

TEST(ErrorsTest, AnyTextSurvives) {
  const RefusalDetail in{.reason = Reason::kEtagMismatch,
                         .violations = {{"a:b", "12:\n\"x\""}, {"", ""}, {std::string("nul\0", 4), "é"}},
                         .current_etag = "3:abc"};
  const RefusalDetail out = DetailOf(RefusalWithDetail("etag", in));
  EXPECT_EQ(out.reason, in.reason);
  EXPECT_EQ(out.current_etag, in.current_etag);
  ASSERT_EQ(out.violations.size(), in.violations.size());
  for (size_t i = 0; i < in.violations.size(); ++i) {
    EXPECT_EQ(out.violations[i].field, in.violations[i].field);
    EXPECT_EQ(out.violations[i].description, in.violations[i].description);
  }
}

TEST(ErrorsTest, InvalidFieldsListsAll) {
  EXPECT_TRUE(InvalidFields({}).ok());
  const absl::Status status = InvalidFields({{"a", "a 0; allowed 1"}, {"b", "b 2; allowed 3"}});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(), "a 0; allowed 1. b 2; allowed 3");
  EXPECT_EQ(DetailOf(status).violations.size(), 2u);
}

TEST(ErrorsTest, TheMessageTellsTheFirstFive) {
  struct Case {
    size_t violations;
    const char* message;
  };
  const Case cases[] = {{5, "x. x. x. x. x"},
                        {6, "x. x. x. x. x. And 1 more"},
                        {255, "x. x. x. x. x. And 250 more"},
                        {256, "x. x. x. x. x. And at least 251 more"}};
  for (const auto& [count, message] : cases) {
    const absl::Status status = InvalidFields(std::vector<FieldViolation>(count, {"a", "x"}));
    EXPECT_EQ(status.message(), message);
    EXPECT_EQ(DetailOf(status).violations.size(), count);
  }
}

TEST(ErrorsTest, NoMoreViolationsAreKeptThanACallerIsToldOf) {
  std::vector<FieldViolation> violations;
  for (int i = 0; i < 1000; ++i) AddViolation("a", "x", violations);
  EXPECT_EQ(violations.size(), kMaxViolations);
}

TEST(ErrorsTest, PrefixGoesBeforeEveryField) {
  const absl::Status status = WithFieldPrefix(InvalidFields({{"a", "x"}, {"b", "y"}}), "scenario.");
  EXPECT_EQ(DetailOf(status).violations[0].field, "scenario.a");
  EXPECT_EQ(DetailOf(status).violations[1].field, "scenario.b");
  EXPECT_EQ(status.message(), "x. y");
  const absl::Status no_field = Refusal(Reason::kStoreUnavailable, "", "store is down");
  EXPECT_EQ(WithFieldPrefix(no_field, "scenario."), no_field);
}

TEST(ErrorsTest, OtherStatusesHaveNoDetail) {
  EXPECT_EQ(DetailOf(absl::InternalError("x")).reason, Reason::kUnspecified);
  EXPECT_THAT(DetailOf(absl::OkStatus()).violations, IsEmpty());
}

TEST(ErrorsTest, NamesAndCodes) {
  struct Case {
    Reason reason;
    const char* name;
    absl::StatusCode code;
  };
  const Case cases[] = {
      {Reason::kUnknownId, "UNKNOWN_ID", absl::StatusCode::kNotFound},
      {Reason::kOutOfMemory, "OUT_OF_MEMORY", absl::StatusCode::kFailedPrecondition},
      {Reason::kNotModelled, "NOT_MODELLED", absl::StatusCode::kUnimplemented},
      {Reason::kLimitExceeded, "LIMIT_EXCEEDED", absl::StatusCode::kInvalidArgument},
      {Reason::kEtagMismatch, "ETAG_MISMATCH", absl::StatusCode::kAborted},
      {Reason::kStoreUnavailable, "STORE_UNAVAILABLE", absl::StatusCode::kUnavailable},
      {Reason::kWriteNotAllowed, "WRITE_NOT_ALLOWED", absl::StatusCode::kUnauthenticated},
      {Reason::kOverloaded, "OVERLOADED", absl::StatusCode::kResourceExhausted},
      {Reason::kUnstableLoad, "UNSTABLE_LOAD", absl::StatusCode::kFailedPrecondition},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ReasonName(c.reason), c.name);
    EXPECT_EQ(CodeOf(c.reason), c.code) << c.name;
  }
}

}  // namespace
}  // namespace foretoken
