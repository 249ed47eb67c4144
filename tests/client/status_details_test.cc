#include "client/status_details.h"

#include <gtest/gtest.h>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace foretoken::client {
namespace {

google::rpc::Status Proto(const std::string& message, const std::string& description) {
  google::rpc::Status status;
  status.set_code(3);
  status.set_message(message);
  google::rpc::ErrorInfo info;
  info.set_reason("INVALID_FIELD");
  (*info.mutable_metadata())["current_etag"] = "e7";
  status.add_details()->PackFrom(info);
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field("scenario.workload.batch_size");
  bad.mutable_field_violations(0)->set_description(description);
  status.add_details()->PackFrom(bad);
  return status;
}

TEST(StatusDetailsTest, KeepsReasonMetadataAndFields) {
  const absl::Status status = FromProto(Proto("batch_size 0; allowed 1 to 1000000", "0"));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  const ErrorDetails details = DetailsOf(status);
  EXPECT_EQ(details.reason, "INVALID_FIELD");
  EXPECT_EQ(details.metadata.at("current_etag"), "e7");
  ASSERT_EQ(details.fields.size(), 1u);
  EXPECT_EQ(details.fields[0].path, "scenario.workload.batch_size");
}

TEST(StatusDetailsTest, DescribesForPeople) {
  struct Case {
    const char* name;
    absl::Status status;
    const char* want;
  };
  const Case cases[] = {
      {"the description is in the message: not said twice",
       FromProto(Proto("batch_size 0; allowed 1 to 1000000", "batch_size 0; allowed 1 to 1000000")),
       "batch_size 0; allowed 1 to 1000000 (INVALID_ARGUMENT, INVALID_FIELD)\n  field scenario.workload.batch_size"},
      {"a code without a name", FromWire(99, "odd", ""), "odd (UNKNOWN)"},
      {"it tells more", FromProto(Proto("1 field is invalid", "0; allowed 1 to 1000000")),
       "1 field is invalid (INVALID_ARGUMENT, INVALID_FIELD)\n"
       "  field scenario.workload.batch_size: 0; allowed 1 to 1000000"},
      {"no details", absl::UnavailableError("connection refused"), "connection refused (UNAVAILABLE)"},
      {"no message", absl::InternalError(""), "no message (INTERNAL)"},
      {"details that are not a status", FromWire(13, "broken", "\xff\xff"), "broken (INTERNAL)"},
  };
  for (const Case& c : cases) EXPECT_EQ(Describe(c.status), c.want) << c.name;
}

TEST(StatusDetailsTest, OfSeveralFieldsEachIsDescribed) {
  google::rpc::Status proto = Proto("required. 0; allowed 1 to 9", "required");
  google::rpc::BadRequest more;
  more.add_field_violations()->set_field("scenario.workload.output_tokens");
  more.mutable_field_violations(0)->set_description("0; allowed 1 to 9");
  proto.add_details()->PackFrom(more);
  EXPECT_EQ(
      DescribeInLine(FromProto(proto)),
      "required. 0; allowed 1 to 9 (INVALID_ARGUMENT, INVALID_FIELD); field scenario.workload.batch_size: required; "
      "field scenario.workload.output_tokens: 0; allowed 1 to 9");
}

TEST(StatusDetailsTest, NamesEveryCode) {
  EXPECT_EQ(CodeName(absl::StatusCode::kFailedPrecondition), "FAILED_PRECONDITION");
  EXPECT_EQ(CodeName(absl::StatusCode::kOk), "OK");
  EXPECT_EQ(CodeName(static_cast<absl::StatusCode>(99)), "code 99");
}

TEST(StatusDetailsTest, AReasonThatEqualsTheCodeIsNotRepeated) {
  google::rpc::Status proto;
  proto.set_code(6);
  proto.set_message("id a is taken");
  google::rpc::ErrorInfo info;
  info.set_reason("ALREADY_EXISTS");
  proto.add_details()->PackFrom(info);
  EXPECT_EQ(Describe(FromProto(proto)), "id a is taken (ALREADY_EXISTS)");
}

TEST(StatusDetailsTest, OkCarriesNothing) {
  EXPECT_TRUE(FromWire(0, "", "").ok());
  EXPECT_EQ(DetailsOf(absl::OkStatus()).reason, "");
}

}  // namespace
}  // namespace foretoken::client
