#include "tests/proto/breaking.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/paths.h"

namespace foretoken::api {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

const std::string kBaseline = SourcePath("tests/proto/foretoken_v1.baseline.pb");
constexpr char kHowToUpdate[] = "after adding to the API: cmake --build build/release --target foretoken_api_baseline";

TEST(Breaking, TheApiOnlyAddsToItsBaseline) {
  EXPECT_THAT(CheckBreaking(ReadApi(kBaseline), ReadApi(DescriptorSetPath())), IsEmpty());
}

// What is not in the baseline is not protected: an addition and its baseline are one commit.
TEST(BaselineAge, TheBaselineHoldsAllOfTheApi) {
  EXPECT_THAT(CheckBreaking(ReadApi(DescriptorSetPath()), ReadApi(kBaseline)), IsEmpty()) << kHowToUpdate;
}

struct Case {
  std::string name;
  std::string before;
  std::string after;
  std::vector<std::string> want;
};

Api Parse(const std::string& body) {
  return ParseApi({{"a/v1/a.proto", "syntax = \"proto3\"; package a.v1;\n" + body}});
}

std::vector<std::string> BrokenBy(const Case& c) {
  std::vector<std::string> rules;
  for (const Fault& fault : CheckBreaking(Parse(c.before), Parse(c.after))) rules.push_back(fault.rule);
  return rules;
}

TEST(Breaking, Fields) {
  const Case kCases[] = {
      {"added", "message M { int32 a = 1; }", "message M { int32 a = 1; string b = 2; } message N {}", {}},
      {"removed", "message M { int32 a = 1; }", "message M {}", {"FIELD_NO_DELETE"}},
      {"removed and reserved", "message M { int32 a = 1; }", "message M { reserved 1; }", {"FIELD_NO_DELETE"}},
      {"renumbered", "message M { int32 a = 1; }", "message M { int32 a = 2; }", {"FIELD_SAME_NUMBER"}},
      {"renamed",
       "message M { int32 a = 1; }",
       "message M { int32 b = 1; }",
       {"FIELD_SAME_NAME", "FIELD_SAME_JSON_NAME"}},
      {"JSON name",
       "message M { int32 a = 1; }",
       "message M { int32 a = 1 [json_name = \"b\"]; }",
       {"FIELD_SAME_JSON_NAME"}},
      {"widened", "message M { int32 a = 1; }", "message M { int64 a = 1; }", {"FIELD_SAME_TYPE"}},
      {"other message",
       "message X {} message Y {} message M { X a = 1; }",
       "message X {} message Y {} message M { Y a = 1; }",
       {"FIELD_SAME_TYPE"}},
      {"other enum",
       "enum X { A = 0; } enum Y { B = 0; } message M { X a = 1; }",
       "enum X { A = 0; } enum Y { B = 0; } message M { Y a = 1; }",
       {"FIELD_SAME_TYPE"}},
      {"map value",
       "message M { map<string, int32> a = 1; }",
       "message M { map<string, string> a = 1; }",
       {"FIELD_SAME_TYPE"}},
      {"repeated", "message M { int32 a = 1; }", "message M { repeated int32 a = 1; }", {"FIELD_SAME_CARDINALITY"}},
      {"no presence", "message M { optional int32 a = 1; }", "message M { int32 a = 1; }", {"FIELD_SAME_CARDINALITY"}},
      {"into a oneof",
       "message M { string a = 1; }",
       "message M { oneof o { string a = 1; } }",
       {"FIELD_SAME_CARDINALITY", "FIELD_SAME_ONEOF"}},
      {"out of a oneof", "message M { oneof o { M a = 1; } }", "message M { M a = 1; }", {"FIELD_SAME_ONEOF"}},
      {"in a nested message",
       "message M { message N { int32 a = 1; } }",
       "message M { message N {} }",
       {"FIELD_NO_DELETE"}},
  };
  for (const Case& c : kCases) EXPECT_THAT(BrokenBy(c), UnorderedElementsAreArray(c.want)) << c.name;
}

TEST(Breaking, MessagesEnumsAndReservations) {
  const Case kCases[] = {
      {"message", "message M {} message N {}", "message N {}", {"MESSAGE_NO_DELETE"}},
      {"nested message", "message M { message N {} }", "message M {}", {"MESSAGE_NO_DELETE"}},
      {"enum", "enum E { A = 0; }", "", {"ENUM_NO_DELETE"}},
      {"value added", "enum E { A = 0; }", "enum E { A = 0; B = 1; }", {}},
      {"value", "enum E { A = 0; B = 1; }", "enum E { A = 0; }", {"ENUM_VALUE_NO_DELETE"}},
      {"value's name", "enum E { A = 0; B = 1; }", "enum E { A = 0; C = 1; }", {"ENUM_VALUE_SAME_NAME"}},
      {"value's number", "enum E { A = 0; B = 1; }", "enum E { A = 0; B = 2; }", {"ENUM_VALUE_NO_DELETE"}},
      {"reserved range split", "message M { reserved 2 to 4; }", "message M { reserved 2, 3 to 9; }", {}},
      {"reserved number", "message M { reserved 2 to 3; }", "message M { reserved 2; }", {"RESERVED_NO_DELETE"}},
      {"reserved number used", "message M { reserved 2; }", "message M { int32 b = 2; }", {"RESERVED_NO_DELETE"}},
      {"reserved name", "message M { reserved \"b\"; }", "message M {}", {"RESERVED_NO_DELETE"}},
      {"reserved value", "enum E { A = 0; reserved 2 to 3; }", "enum E { A = 0; reserved 2; }", {"RESERVED_NO_DELETE"}},
  };
  for (const Case& c : kCases) EXPECT_THAT(BrokenBy(c), UnorderedElementsAreArray(c.want)) << c.name;
}

TEST(Breaking, ServicesAndFiles) {
  const std::string messages = "message A {} message B {} ";
  const std::string before = messages + "service S { rpc R(A) returns (B); }";
  const Case kCases[] = {
      {"rpc added", before, messages + "service S { rpc R(A) returns (B); rpc T(A) returns (B); }", {}},
      {"service", before, messages, {"SERVICE_NO_DELETE"}},
      {"rpc", before, messages + "service S {}", {"RPC_NO_DELETE"}},
      {"request", before, messages + "service S { rpc R(B) returns (B); }", {"RPC_SAME_REQUEST_TYPE"}},
      {"response", before, messages + "service S { rpc R(A) returns (A); }", {"RPC_SAME_RESPONSE_TYPE"}},
      {"client streams",
       before,
       messages + "service S { rpc R(stream A) returns (B); }",
       {"RPC_SAME_CLIENT_STREAMING"}},
      {"server streams",
       before,
       messages + "service S { rpc R(A) returns (stream B); }",
       {"RPC_SAME_SERVER_STREAMING"}},
      {"Go package", "option go_package = \"a\";", "option go_package = \"b\";", {"FILE_SAME_GO_PACKAGE"}},
      {"Java package", "", "option java_package = \"b\";", {"FILE_SAME_JAVA_PACKAGE"}},
      {"Java files", "", "option java_multiple_files = true;", {"FILE_SAME_JAVA_MULTIPLE_FILES"}},
      {"Java class", "", "option java_outer_classname = \"B\";", {"FILE_SAME_JAVA_OUTER_CLASSNAME"}},
      {"Objective-C", "", "option objc_class_prefix = \"B\";", {"FILE_SAME_OBJC_CLASS_PREFIX"}},
  };
  for (const Case& c : kCases) EXPECT_THAT(BrokenBy(c), UnorderedElementsAreArray(c.want)) << c.name;

  const std::string text = "syntax = \"proto3\"; package a.v1;";
  const Faults faults = CheckBreaking(ParseApi({{"a/v1/a.proto", text}}), ParseApi({{"a/v1/b.proto", text}}));
  ASSERT_EQ(faults.size(), 1);
  EXPECT_EQ(faults[0].rule, "FILE_NO_DELETE");
}

}  // namespace
}  // namespace foretoken::api
