// Whatever a server or a user writes, the terminal shows letters: no text moves the cursor, changes colours or reorders
// what is read.
#include <gmock/gmock.h>
#include <google/protobuf/message.h>
#include <gtest/gtest.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/terminal/exit_code.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using testing::HasSubstr;
using testing::Not;

constexpr char kHostile[] = "a\033[31m\r\u009b2J\u202eb";

// Fills every text below the message with kHostile.
void FillTexts(Message& message, int depth = 0) {
  const auto& reflection = *message.GetReflection();
  for (int i = 0; i < message.GetDescriptor()->field_count(); ++i) {
    const FieldDescriptor& field = *message.GetDescriptor()->field(i);
    const bool ours = field.message_type() != nullptr && !field.is_map() && depth < 6 &&
                      field.message_type()->full_name().starts_with("foretoken.");
    if (field.cpp_type() == FieldDescriptor::CPPTYPE_STRING) {
      field.is_repeated() ? reflection.AddString(&message, &field, kHostile)
                          : reflection.SetString(&message, &field, kHostile);
    } else if (ours) {
      FillTexts(
          field.is_repeated() ? *reflection.AddMessage(&message, &field) : *reflection.MutableMessage(&message, &field),
          depth + 1);
    }
  }
}

class HostileTextTest : public testing::Test {
 protected:
  void ExpectClean(const std::vector<std::string>& arguments) {
    const CliResult result = RunCli(server_, arguments);
    const std::string command = testing::PrintToString(arguments);
    for (const std::string& text : {result.out, result.err}) {
      for (const char* raw : {"\033", "\r", "\u009b", "\u202e"}) EXPECT_THAT(text, Not(HasSubstr(raw))) << command;
    }
    seen_ += result.out + result.err;
  }

  client::FakeServer server_;
  std::string seen_;
};

TEST_F(HostileTextTest, OfAServersReplies) {
  FillTexts(*server_.catalog.hardware.mutable_spec());
  FillTexts(*server_.catalog.model.mutable_spec());
  FillTexts(*server_.catalog.calibration.mutable_spec());
  FillTexts(server_.catalog.report);
  FillTexts(server_.estimator.reply.emplace());
  const std::vector<std::string> scenario = {"small", "gpu-a", "--prompt", "10", "--output-tokens", "11"};
  for (const char* command : {"estimate", "explain"}) {
    for (const char* form : {"text", "csv"}) {
      std::vector<std::string> arguments = {command, "--output", form};
      arguments.insert(arguments.end(), scenario.begin(), scenario.end());
      ExpectClean(arguments);
    }
  }
  for (const char* form : {"text", "csv"}) {
    ExpectClean({"list", "hardware", "--output", form});
    ExpectClean({"list", "models", "--output", form});
    ExpectClean({"list", "calibrations", "--output", form});
    ExpectClean({"revisions", "hardware", "gpu-a", "--output", form});
  }
  ExpectClean({"get", "hardware", "gpu-a"});
  ExpectClean({"get", "model", "small"});
  ExpectClean({"compare", "--model", "small", "--hardware", "gpu-a,gpu-b", "--prompt", "10", "--output-tokens", "11"});
  EXPECT_THAT(seen_, HasSubstr("a\\x1b[31m\\x0d\\u009b2J\\u202eb"));  // it was there
}

TEST_F(HostileTextTest, OfAServersRefusals) {
  server_.estimator.refusal = client::Refuse(grpc::StatusCode::NOT_FOUND, "UNKNOWN_ID", kHostile, kHostile);
  ExpectClean({"estimate", "small", "gpu-a", "--prompt", "10", "--output-tokens", "11"});
  EXPECT_THAT(seen_, HasSubstr("\\x1b[31m"));
}

TEST_F(HostileTextTest, OfArguments) {
  const std::string hostile = kHostile;
  ExpectClean({"--server", hostile + ":1", "--timeout", "1s", "health"});
  ExpectClean({"--ca-file", hostile, "health"});
  ExpectClean({"--token-file", hostile, "health"});
  ExpectClean({"--timeout", hostile, "health"});
  ExpectClean({hostile});
  ExpectClean({"--" + hostile, "health"});
  ExpectClean({"estimate", hostile, hostile, "--engine", hostile, "--prompt", "10", "--output-tokens", "11"});
  ExpectClean({"estimate", "small", "gpu-a", "--engine", hostile, "--prompt", "10", "--output-tokens", "11"});
  ExpectClean({"register-hardware", hostile});
  ExpectClean({"validate", hostile});
  ExpectClean({"get", "hardware", hostile});
  ExpectClean({"delete", "hardware", hostile});
  ExpectClean({"rollback", "hardware", hostile, "--revision", "5"});
  ExpectClean({"sweep", "small", "gpu-a", "--prompt", "10", "--output-tokens", "11", "--axis", hostile + "=1,2"});
  EXPECT_THAT(seen_, HasSubstr("\\x1b[31m"));
}

TEST_F(HostileTextTest, OfBenchmarkFiles) {
  const std::string hostile = "a\\u001b[31m\\r\\u009b2J\\u202eb";  // as JSON writes kHostile
  const std::string run = R"({"completed": 2, "max_concurrency": 1, "total_input_tokens": 4, "total_output_tokens": 4,
                              "mean_ttft_ms": 5, "model_id": "$", "$": 7})";
  const TemporaryFile good("good.json", absl::StrReplaceAll(run, {{"$", hostile}}));
  const TemporaryFile bad("bad.json", absl::StrReplaceAll(R"({"request_rate": "$"})", {{"$", hostile}}));
  const TemporaryFile cut("cut.json", absl::StrReplaceAll(R"({"$)", {{"$", kHostile}}));
  const TemporaryFile table("table.md", absl::StrCat("| model | test | t/s |\n| m | ", kHostile, " | 3 |\n"));
  ExpectClean({"import", "vllm-bench-serve", good.path()});
  ExpectClean({"import", "vllm-bench-serve", good.path(), "--hardware", "gpu-a", "--model", "small", "--engine",
               "vllm@1", "--tp", "1", "--weight-dtype", "bf16"});
  ExpectClean({"import", "vllm-bench-serve", bad.path()});
  ExpectClean({"import", "vllm-bench-serve", cut.path()});
  ExpectClean({"import", "llama-bench", table.path()});
  EXPECT_THAT(seen_, HasSubstr("note: unknown fields: a\\x1b[31m"));
}

}  // namespace
}  // namespace foretoken::cli
