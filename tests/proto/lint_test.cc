#include "tests/proto/lint.h"

#include <gmock/gmock.h>
#include <google/protobuf/descriptor.pb.h>
#include <gtest/gtest.h>

#include "tests/paths.h"

namespace foretoken::api {
namespace {

using testing::EndsWith;
using testing::IsEmpty;
using testing::SizeIs;
using testing::UnorderedElementsAreArray;

std::vector<std::string> RulesOf(const Faults& faults) {
  std::vector<std::string> rules;
  for (const Fault& fault : faults) rules.push_back(fault.rule);
  return rules;
}

// ---- The API itself

TEST(Lint, TheApiKeepsBufsStandardRules) { EXPECT_THAT(CheckLint(ReadApi(DescriptorSetPath())), IsEmpty()); }

TEST(Lint, TheApiKeepsTheHouseRules) { EXPECT_THAT(CheckHouse(ReadApi(DescriptorSetPath())), IsEmpty()); }

TEST(Lint, EveryFileOfTheApiIsInTheDescriptorSet) {
  EXPECT_THAT(ReadApi(DescriptorSetPath()).files, SizeIs(FORETOKEN_PROTO_FILES));
}

// Without these each user has to state them, file by file, and two who do so differently cannot link their stubs.
TEST(Lint, EveryFileNamesItsStubsInOtherLanguages) {
  for (const google::protobuf::FileDescriptor* file : ReadApi(DescriptorSetPath()).files) {
    const google::protobuf::FileOptions& options = file->options();
    EXPECT_EQ(options.go_package(), "github.com/foretoken/foretoken/client/go/foretoken/v1;foretokenv1")
        << file->name();
    EXPECT_EQ(options.java_package(), "com.foretoken.v1") << file->name();
    EXPECT_TRUE(options.java_multiple_files()) << file->name();
    EXPECT_THAT(options.java_outer_classname(), EndsWith("Proto")) << file->name();
    EXPECT_EQ(options.objc_class_prefix(), "FTK") << file->name();
  }
}

// A stub of google.rpc under another name than everybody's is "registered twice" beside gRPC's own.
TEST(Lint, GoogleRpcKeepsItsOwnNames) {
  const Api api = ReadApi(DescriptorSetPath());
  const auto go_package = [&api](const std::string& name) {
    return api.pool->FindFileByName(name)->options().go_package();
  };
  EXPECT_EQ(go_package("google/rpc/status.proto"), "google.golang.org/genproto/googleapis/rpc/status;status");
  EXPECT_EQ(go_package("google/rpc/error_details.proto"),
            "google.golang.org/genproto/googleapis/rpc/errdetails;errdetails");
}

// ---- Each rule can fail: a snippet that breaks exactly it

struct Case {
  std::string name;
  std::vector<SourceFile> input;
  std::vector<std::string> want;
};

const std::string kProto3 = "syntax = \"proto3\"; ";

// One file of package a.v1 at its right place.
std::vector<SourceFile> File(const std::string& body) { return {{"a/v1/a.proto", kProto3 + "package a.v1;\n" + body}}; }

// Two files of package a.v1, the second with an option of its own.
std::vector<SourceFile> FilesWithOption(const std::string& option) {
  return {{"a/v1/a.proto", kProto3 + "package a.v1;"},
          {"a/v1/b.proto", kProto3 + "package a.v1; option " + option + ";"}};
}

// A service of one RPC.
std::vector<SourceFile> Service(const std::string& service, const std::string& rpc, const std::string& request,
                                const std::string& response) {
  return File("message " + request + " {} message " + response + " {} service " + service + " { rpc " + rpc + "(" +
              request + ") returns (" + response + "); }");
}

TEST(Lint, FilesAndPackages) {
  const Case kCases[] = {
      {"good", File("message M {}"), {}},
      {"beta version", {{"a/v1beta2/a.proto", kProto3 + "package a.v1beta2;"}}, {}},
      {"proto2", {{"a/v1/a.proto", "syntax = \"proto2\"; package a.v1;"}}, {"SYNTAX_SPECIFIED"}},
      {"file name", {{"a/v1/BigFile.proto", kProto3 + "package a.v1;"}}, {"FILE_LOWER_SNAKE_CASE"}},
      {"no package", {{"a.proto", kProto3}}, {"PACKAGE_DEFINED"}},
      {"package name", {{"A/v1/a.proto", kProto3 + "package A.v1;"}}, {"PACKAGE_LOWER_SNAKE_CASE"}},
      {"no version", {{"a/a.proto", kProto3 + "package a;"}}, {"PACKAGE_VERSION_SUFFIX"}},
      {"version zero", {{"a/v0/a.proto", kProto3 + "package a.v0;"}}, {"PACKAGE_VERSION_SUFFIX"}},
      {"elsewhere", {{"b/v1/a.proto", kProto3 + "package a.v1;"}}, {"PACKAGE_DIRECTORY_MATCH"}},
      {"two packages in a directory",
       {{"a/v1/a.proto", kProto3 + "package a.v1;"}, {"a/v1/b.proto", kProto3 + "package b.v1;"}},
       {"DIRECTORY_SAME_PACKAGE", "PACKAGE_DIRECTORY_MATCH"}},
      {"two directories of a package",
       {{"a/v1/a.proto", kProto3 + "package a.v1;"}, {"b/v1/a.proto", kProto3 + "package a.v1;"}},
       {"PACKAGE_SAME_DIRECTORY", "PACKAGE_DIRECTORY_MATCH"}},
      {"C#", FilesWithOption("csharp_namespace = \"A\""), {"PACKAGE_SAME_CSHARP_NAMESPACE"}},
      {"Go", FilesWithOption("go_package = \"a\""), {"PACKAGE_SAME_GO_PACKAGE"}},
      {"Java", FilesWithOption("java_package = \"a\""), {"PACKAGE_SAME_JAVA_PACKAGE"}},
      {"Java files", FilesWithOption("java_multiple_files = true"), {"PACKAGE_SAME_JAVA_MULTIPLE_FILES"}},
      {"PHP", FilesWithOption("php_namespace = \"A\""), {"PACKAGE_SAME_PHP_NAMESPACE"}},
      {"Ruby", FilesWithOption("ruby_package = \"A\""), {"PACKAGE_SAME_RUBY_PACKAGE"}},
      {"Swift", FilesWithOption("swift_prefix = \"A\""), {"PACKAGE_SAME_SWIFT_PREFIX"}},
  };
  for (const Case& c : kCases) {
    EXPECT_THAT(RulesOf(CheckLint(ParseApi(c.input))), UnorderedElementsAreArray(c.want)) << c.name;
  }
}

TEST(Lint, Imports) {
  const SourceFile b = {"a/v1/b.proto", kProto3 + "package a.v1; message B {}"};
  const auto importing = [](const std::string& body) {
    return SourceFile{"a/v1/c.proto", kProto3 + "package a.v1; " + body};
  };
  const Case kCases[] = {
      {"used by a field", {b, importing("import \"a/v1/b.proto\"; message C { B b = 1; }")}, {}},
      {"used by a map", {b, importing("import \"a/v1/b.proto\"; message C { map<string, B> b = 1; }")}, {}},
      {"public", {b, importing("import public \"a/v1/b.proto\"; message C { B b = 1; }")}, {"IMPORT_NO_PUBLIC"}},
      {"weak", {b, importing("import weak \"a/v1/b.proto\"; message C { B b = 1; }")}, {"IMPORT_NO_WEAK"}},
      {"unused", {b, importing("import \"a/v1/b.proto\"; message C {}")}, {"IMPORT_USED"}},
      {"unused well-known type", File("import \"google/protobuf/timestamp.proto\";"), {"IMPORT_USED"}},
      {"cycle of packages",
       {{"b/v1/end.proto", kProto3 + "package b.v1; message End {}"},
        {"a/v1/a.proto", kProto3 + "package a.v1; import \"b/v1/end.proto\"; message A { b.v1.End e = 1; }"},
        {"b/v1/top.proto", kProto3 + "package b.v1; import \"a/v1/a.proto\"; message Top { a.v1.A a = 1; }"}},
       {"PACKAGE_NO_IMPORT_CYCLE", "PACKAGE_NO_IMPORT_CYCLE"}},
  };
  for (const Case& c : kCases) {
    EXPECT_THAT(RulesOf(CheckLint(ParseApi(c.input))), UnorderedElementsAreArray(c.want)) << c.name;
  }
}

TEST(Lint, EnumsAndMessages) {
  const std::string proto2 = "syntax = \"proto2\"; package a.v1; ";
  const Case kCases[] = {
      {"good enum", File("enum KvCacheMode { KV_CACHE_MODE_UNSPECIFIED = 0; KV_CACHE_MODE_A1 = 1; }"), {}},
      {"enum name", File("enum Bad_Enum { BAD_ENUM_UNSPECIFIED = 0; }"), {"ENUM_PASCAL_CASE"}},
      {"alias",
       File("enum E { option allow_alias = true; E_UNSPECIFIED = 0; E_A = 1; E_B = 1; }"),
       {"ENUM_NO_ALLOW_ALIAS"}},
      {"first value",
       {{"a/v1/a.proto", proto2 + "enum E { E_A = 1; }"}},
       {"SYNTAX_SPECIFIED", "ENUM_FIRST_VALUE_ZERO"}},
      {"value name", File("enum E { E_UNSPECIFIED = 0; E_a = 1; }"), {"ENUM_VALUE_UPPER_SNAKE_CASE"}},
      {"value prefix", File("enum BigEnum { BIG_ENUM_UNSPECIFIED = 0; BIG_A = 1; }"), {"ENUM_VALUE_PREFIX"}},
      {"zero value", File("enum E { E_NONE = 0; }"), {"ENUM_ZERO_VALUE_SUFFIX"}},
      {"nested zero value", File("message M { message N { enum E { E_NO = 0; } } }"), {"ENUM_ZERO_VALUE_SUFFIX"}},
      {"message name", File("message Bad_name {}"), {"MESSAGE_PASCAL_CASE"}},
      {"field name", File("message M { int32 badName = 1; }"), {"FIELD_LOWER_SNAKE_CASE"}},
      {"oneof name", File("message M { oneof Bad { int32 a = 1; } }"), {"ONEOF_LOWER_SNAKE_CASE"}},
      {"proto3 optional makes no oneof", File("message M { optional int32 a = 1; }"), {}},
      {"required",
       {{"a/v1/a.proto", proto2 + "message M { required int32 a = 1; }"}},
       {"SYNTAX_SPECIFIED", "FIELD_NOT_REQUIRED"}},
  };
  for (const Case& c : kCases) {
    EXPECT_THAT(RulesOf(CheckLint(ParseApi(c.input))), UnorderedElementsAreArray(c.want)) << c.name;
  }
}

TEST(Lint, Services) {
  const Case kCases[] = {
      {"good", Service("AService", "Do", "DoRequest", "DoResponse"), {}},
      {"names with the service", Service("AService", "Do", "AServiceDoRequest", "AServiceDoResponse"), {}},
      {"service name", Service("Bad_Service", "Do", "DoRequest", "DoResponse"), {"SERVICE_PASCAL_CASE"}},
      {"service suffix", Service("Doer", "Do", "DoRequest", "DoResponse"), {"SERVICE_SUFFIX"}},
      {"rpc name",
       Service("AService", "Do_it", "AServiceDo_itRequest", "AServiceDo_itResponse"),
       {"RPC_PASCAL_CASE", "MESSAGE_PASCAL_CASE", "MESSAGE_PASCAL_CASE"}},
      {"request name", Service("AService", "Do", "Ask", "DoResponse"), {"RPC_REQUEST_STANDARD_NAME"}},
      {"response name", Service("AService", "Do", "DoRequest", "Entry"), {"RPC_RESPONSE_STANDARD_NAME"}},
      {"shared messages",
       File("message DoRequest {} message DoResponse {} service AService { rpc Do(DoRequest) returns (DoResponse); }"
            "service BService { rpc Do(DoRequest) returns (DoResponse); }"),
       {"RPC_REQUEST_RESPONSE_UNIQUE", "RPC_REQUEST_RESPONSE_UNIQUE"}},
  };
  for (const Case& c : kCases) {
    EXPECT_THAT(RulesOf(CheckLint(ParseApi(c.input))), UnorderedElementsAreArray(c.want)) << c.name;
  }
}

TEST(Lint, HouseRules) {
  const std::string messages = "// Q.\nmessage DoRequest {}\n// A.\nmessage DoResponse {}\n";
  const Case kCases[] = {
      {"good", File("// M.\nmessage M {\n// Seconds.\ndouble ttft_seconds = 1;\n// Count.\nint32 waves = 2;\n}"), {}},
      {"message", File("message M {}"), {"COMMENT"}},
      {"nested message", File("// M.\nmessage M { message N {} }"), {"COMMENT"}},
      {"field", File("// M.\nmessage M { string a = 1; }"), {"COMMENT"}},
      {"oneof", File("// M.\nmessage M { oneof o {\n// A.\nstring a = 1;\n} }"), {"COMMENT"}},
      {"enum", File("enum E {\n// None.\nE_UNSPECIFIED = 0;\n}"), {"COMMENT"}},
      {"enum value", File("// E.\nenum E { E_UNSPECIFIED = 0; }"), {"COMMENT"}},
      {"good rpc",
       File(messages + "// S.\nservice AService {\n// Does.\n//\n// Errors: none,\n// ever.\n"
                       "rpc Do(DoRequest) returns (DoResponse);\n}"),
       {}},
      {"service",
       File(messages + "service AService {\n// Errors: none.\nrpc Do(DoRequest) returns (DoResponse);\n}"),
       {"COMMENT"}},
      {"rpc",
       File(messages + "// S.\nservice AService { rpc Do(DoRequest) returns (DoResponse); }"),
       {"COMMENT", "ERRORS"}},
      {"rpc tells no errors",
       File(messages + "// S.\nservice AService {\n// Does.\nrpc Do(DoRequest) returns (DoResponse);\n}"),
       {"ERRORS"}},
      {"errors are not the end",
       File(messages + "// S.\nservice AService {\n// Errors: none.\n//\n// Does.\n"
                       "rpc Do(DoRequest) returns (DoResponse);\n}"),
       {"ERRORS"}},
      {"no unit", File("// M.\nmessage M {\n// Time.\ndouble ttft = 1;\n}"), {"UNIT"}},
      {"a unit of another trade", File("// M.\nmessage M {\n// Time.\nint64 ttft_millis = 1;\n}"), {"UNIT"}},
      {"absent reads as zero",
       File("// W.\nmessage Workload {\n// Tokens.\nint32 prompt_tokens = 1;\n}"),
       {"PRESENCE"}},
      {"absent differs from zero",
       File("// W.\nmessage Workload {\n// Tokens.\noptional int32 prompt_tokens = 1;\n}"),
       {}},
  };
  for (const Case& c : kCases) {
    EXPECT_THAT(RulesOf(CheckHouse(ParseApi(c.input))), UnorderedElementsAreArray(c.want)) << c.name;
  }
}

}  // namespace
}  // namespace foretoken::api
