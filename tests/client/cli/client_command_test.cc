// estimate, explain, compare, health and the command line as such.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "client/cli/terminal/exit_code.h"
#include "client/cli/text/csv.h"
#include "client/cli/text/enum_text.h"
#include "tests/client/cli/distinct_estimate.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class CommandTest : public testing::Test {
 protected:
  CliResult Run(const std::vector<std::string>& arguments, const std::string& in = "") {
    return RunCli(server_, arguments, in);
  }
  client::FakeServer server_;
};

TEST_F(CommandTest, ExitCodes) {
  struct Case {
    const char* name;
    std::vector<std::string> arguments;
    int want;
  };
  const Case cases[] = {
      {"an answer", {"estimate", "small", "gpu-a", "--output-tokens", "11"}, kOk},
      {"help", {"--help"}, kOk},
      {"help of a command", {"estimate", "--help"}, kOk},
      {"SLO met", {"estimate", "small", "gpu-a", "--slo-ttft", "20ms"}, kOk},
      {"SLO missed", {"estimate", "small", "gpu-a", "--slo-ttft", "5ms"}, kNo},
      {"no command", {}, kUsage},
      {"unknown command", {"estimat"}, kUsage},
      {"unknown flag", {"estimate", "small", "gpu-a", "--no-such-flag"}, kUsage},
      {"flag without meaning", {"estimate", "small", "gpu-a", "--batch", "x"}, kUsage},
      {"refused by the server", {"estimate", "small", "gpu-a", "--batch", "-1"}, kUsage},
      {"wrong output", {"estimate", "small", "gpu-a", "--output", "xml"}, kUsage},
      {"wrong timeout", {"estimate", "small", "gpu-a", "--timeout", "soon"}, kUsage},
      {"unknown id", {"estimate", "small", "gpu-c"}, kNotFound},
      {"does not fit", {"estimate", "large", "gpu-a"}, kFailedPrecondition},
      {"one of two fits", {"compare", "small", "gpu-a", "gpu-c"}, kOk},
      {"none of two fits", {"compare", "large", "gpu-a", "gpu-b"}, kNo},
      {"one of two meets the SLO", {"compare", "small", "gpu-a", "gpu-b", "--slo-ttft", "15ms"}, kOk},
      {"none of two meets the SLO", {"compare", "small", "gpu-a", "gpu-b", "--slo-ttft", "5ms"}, kNo},
      {"nothing listed", {"list", "models", "no-such-text"}, kNo},
      {"no such shell", {"completion", "tcsh"}, kUsage},
  };
  for (const Case& c : cases) EXPECT_EQ(Run(c.arguments).code, c.want) << c.name << ": " << Run(c.arguments).err;
}

TEST_F(CommandTest, FilesOfTheConnection) {
  const TemporaryFile token("token", "0123456789abcdef\n"), empty("token", "\n");
  struct Case {
    const char* name;
    std::vector<std::string> flags;
    int code;
    const char* said;
  };
  const Case cases[] = {
      {"a token on this machine", {"--token-file", token.path()}, kOk, ""},
      {"no token", {"--token-file", empty.path()}, kUsage, "allowed in its first line: a token"},
      {"no such file", {"--token-file", "/nowhere"}, kUsage, "/nowhere: cannot be read"},
      {"a token to another machine",
       {"--token-file", token.path(), "--server", "192.0.2.1:50051"},
       kUsage,
       "192.0.2.1:50051 is another machine, and the token would be sent in plain text; allowed with --ca-file"},
      {"a name that begins as a loopback address",
       {"--token-file", token.path(), "--server", "127.example:50051"},
       kUsage,
       "127.example:50051 is another machine"},
      {"no authorities", {"--ca-file", "/nowhere"}, kUsage, "/nowhere: cannot be read"},
      {"a certificate without its key", {"--cert-file", token.path()}, kUsage, "goes with its key"},
      {"a pair without authorities",
       {"--cert-file", token.path(), "--key-file", token.path()},
       kUsage,
       "the server's authorities"},
  };
  for (const Case& c : cases) {
    std::vector<std::string> arguments = {"estimate", "small", "gpu-a"};
    arguments.insert(arguments.end(), c.flags.begin(), c.flags.end());
    const CliResult result = Run(arguments);
    EXPECT_EQ(result.code, c.code) << c.name << result.err;
    EXPECT_THAT(result.err, HasSubstr(c.said)) << c.name;
  }
}

TEST_F(CommandTest, EstimateForPeople) {
  const CliResult result = Run({"estimate", "small", "gpu-a", "-b", "2", "-p", "1024", "-o", "11", "--tp", "4"});
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(result.out,
            "small on gpu-a, tp 4\n"
            "batch 2, 1,024 prompt tokens, 11 output tokens\n"
            "\n"
            "  TTFT  20.0 ms  18.0 ms to 24.0 ms (80.0%)  time to first token\n"
            "  TPOT  2.00 ms  1.80 ms to 2.40 ms (80.0%)  time per output token\n"
            "  E2E   40.0 ms  36.0 ms to 48.0 ms (80.0%)  end to end\n"
            "\n"
            "Prefill  20.0 ms, bound by compute\n"
            "  compute  15.0 ms  75.0%  ##############################\n"
            "  memory   5.00 ms  25.0%                                ##########\n"
            "\n"
            "Decode, 10 steps  20.0 ms, bound by memory\n"
            "  memory  20.0 ms  100%  ########################################\n"
            "\n"
            "operator_model, DATASHEET, catalog 0123456789ab revision 7\n");
}

TEST_F(CommandTest, TheTitleTellsHowRequestsAreServed) {
  const std::string open = Run({"estimate", "small", "gpu-a", "-p", "100", "--batching", "continuous", "--request-rate",
                                "1.5", "--output-mean", "40"})
                               .out;
  EXPECT_THAT(open,
              HasSubstr("\n100 prompt tokens, 40 output tokens on average, continuous batching, 1.50 requests/s\n"));
  EXPECT_THAT(Run({"estimate", "small", "gpu-a", "-p", "100", "-o", "9", "--running", "3"}).out,
              HasSubstr("\nbatch 1, 100 prompt tokens, 9 output tokens, under live load\n"));
}

TEST_F(CommandTest, FlagsReachTheScenario) {
  ASSERT_EQ(Run({"estimate", "--model", "small", "--hardware", "gpu-a", "--weight-dtype", "fp8", "--engine",
                 "vllm@0.12.0", "--running", "3", "--unfused", "--method", "kpi", "--batch", "8", "--batch", "4"})
                .code,
            kOk);
  EXPECT_EQ(
      server_.estimator.last.scenario().ShortDebugString(),
      "model_id: \"small\" hardware_id: \"gpu-a\" deployment { weight_dtype: DTYPE_FP8 engine: \"vllm@0.12.0\" "
      "unfused_elementwise: true } workload { batch_size: 4 } live_load { running_sequences: 3 } method: METHOD_KPI");
}

TEST_F(CommandTest, AScenarioFromAFileAndFlagsThatWin) {
  ASSERT_EQ(Run({"estimate", "--scenario", "-", "--hardware", "gpu-a"},
                R"({"model_id": "small", "hardware_id": "gpu-b", "workload": {"batch_size": 3}})")
                .code,
            kOk);
  EXPECT_EQ(server_.estimator.last.scenario().ShortDebugString(),
            "model_id: \"small\" hardware_id: \"gpu-a\" workload { batch_size: 3 }");
}

TEST_F(CommandTest, APresetIsTwoTokenCounts) {
  ASSERT_EQ(Run({"estimate", "small", "gpu-a", "--preset", "voice"}).code, kOk);
  EXPECT_EQ(server_.estimator.last.scenario().workload().ShortDebugString(), "prompt_tokens: 1024 output_tokens: 10");
  ASSERT_EQ(Run({"estimate", "small", "gpu-a", "--preset", "text", "-o", "64"}).code, kOk);
  EXPECT_EQ(server_.estimator.last.scenario().workload().ShortDebugString(), "prompt_tokens: 512 output_tokens: 64");
  EXPECT_THAT(Run({"estimate", "small", "gpu-a", "--preset", "song"}).err, HasSubstr("allowed: voice, text"));
}

TEST_F(CommandTest, EstimateForPrograms) {
  EXPECT_THAT(Run({"estimate", "small", "gpu-a", "--output", "json"}).out,
              AllOf(HasSubstr("\"bundle_digest\": \"0123456789abcdef\""), HasSubstr("\"seconds\": 0.01")));
  const std::string csv = Run({"estimate", "small", "gpu-a", "-o", "2", "--output", "csv"}).out;
  EXPECT_THAT(csv, AllOf(HasSubstr("model,hardware,ttft_seconds,"), HasSubstr("small,gpu-a,0.01,")));
  // Memory and MBU are not told: empty, never 0.
  EXPECT_THAT(csv, HasSubstr(",,,,,,,,1,1,,,operator_model,DATASHEET,,,,,"));
}

TEST_F(CommandTest, AnErrorIsOneClearLineWithItsField) {
  EXPECT_EQ(Run({"estimate", "small", "gpu-c"}).err,
            "foretoken: hardware \"gpu-c\" is not in the catalog; closest: gpu-a, gpu-b (NOT_FOUND, UNKNOWN_ID)\n"
            "  field scenario.hardware_id\n");
  EXPECT_EQ(Run({"estimate", "small", "gpu-c"}).out, "");
  EXPECT_EQ(
      Run({"estimat"}).err,
      "foretoken: unknown command \"estimat\" (did you mean estimate?); foretoken --help lists what is allowed\n");
  EXPECT_EQ(Run({"nonsense"}).err, "foretoken: unknown command \"nonsense\"; foretoken --help lists what is allowed\n");
  EXPECT_EQ(Run({"estimate", "m", "h", "--tpp", "4"}).err,
            "foretoken: unknown flag --tpp (did you mean --tp?); foretoken estimate --help lists what is allowed\n");
  EXPECT_THAT(Run({"estimate", "m", "h", "--prompt-tokens=4"}).err, HasSubstr("(did you mean --prompt?)"));
  EXPECT_THAT(Run({"explain", "m", "h", "--tensor_parallel", "4"}).err, HasSubstr("(did you mean --tp?)"));
  EXPECT_THAT(Run({"list", "models", "--tensor-parallel", "4"}).err, Not(HasSubstr("did you mean")));
  EXPECT_EQ(
      Run({"estimate", "m", "h", "--output", "yaml"}).err,
      "foretoken: --output: \"yaml\"; allowed: text, json, csv; foretoken estimate --help lists what is allowed\n");
  EXPECT_EQ(
      Run({"solve", "bach", "m", "h"}).err,
      "foretoken: WHAT: \"bach\"; allowed: batch, rate, prompt, tp, hardware; foretoken solve --help lists what is "
      "allowed\n");
  EXPECT_EQ(Run({"--version"}).code, kOk);
}

TEST_F(CommandTest, AnEmptyValueIsNoAbsentFlag) {
  const std::vector<std::string> shape = {"estimate", "small", "gpu-a"};
  for (const char* flag : {"-b", "--slo-tpot", "--engine", "--weight-dtype", "--method", "--scenario", "--server",
                           "--timeout", "--output", "--load-time"}) {
    std::vector<std::string> arguments = shape;
    arguments.insert(arguments.end(), {flag, ""});
    const CliResult result = Run(arguments);
    EXPECT_EQ(result.code, kUsage) << flag;
    EXPECT_THAT(result.err, HasSubstr(std::string(flag) == "-b" ? "--batch: \"\"" : std::string(flag) + ": \"\""));
  }
  EXPECT_EQ(Run({"estimate", "small", "gpu-a", "--engine", ""}).err,
            "foretoken: --engine: \"\"; allowed: a value that is not empty; foretoken estimate --help lists what is "
            "allowed\n");
  // Not --timeout as the value of --engine.
  EXPECT_THAT(Run({"estimate", "small", "gpu-a", "--engine=", "--timeout", "1s"}).err, HasSubstr("--engine: \"\""));
  EXPECT_THAT(Run({"estimate", "", "gpu-a"}).err, HasSubstr("allowed: a value that is not empty"));
  EXPECT_EQ(server_.estimator.calls, 0);
}

TEST_F(CommandTest, APlaceAndAFlagThatDisagreeAreRefused) {
  const CliResult result = Run({"estimate", "small", "gpu-a", "--model", "large"});
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, AllOf(HasSubstr("--model: "), HasSubstr("\"small\""), HasSubstr("\"large\"")));
  EXPECT_EQ(Run({"estimate", "small", "gpu-a", "--model", "small"}).code, kOk);
}

TEST_F(CommandTest, ASwitchIsTrueOrFalse) {
  for (const char* argument : {"--unfused=1", "--unfused=yes", "--unfused=TRUE", "--layerwise-transfer=garbage"}) {
    const CliResult result = Run({"estimate", "small", "gpu-a", argument});
    EXPECT_EQ(result.code, kUsage) << argument;
    EXPECT_THAT(result.err, HasSubstr("allowed: true, false"));
  }
  EXPECT_EQ(Run({"estimate", "small", "gpu-a", "--unfused=false"}).code, kOk);
  EXPECT_FALSE(server_.estimator.last.scenario().deployment().unfused_elementwise());
}

TEST_F(CommandTest, AnAnswerThatCannotBeWrittenIsAFault) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--help"}, {"--version"}, {"health"}, {"completion", "bash"}}) {
    const CliResult result = RunCliOnFullDisk(server_, arguments);
    EXPECT_EQ(result.code, kNotWritten) << arguments[0];
    EXPECT_EQ(result.err, "foretoken: standard output cannot be written\n");
  }
  EXPECT_EQ(RunCliOnFullDisk(server_, {"estimate", "small", "gpu-c"}).code, kNotFound);  // there was nothing to write
}

TEST_F(CommandTest, ControlCharactersOfTheServerDoNotReachTheTerminal) {
  const CliResult result = Run({"estimate", "small", "gpu-\x1b]0;title\x07"});
  EXPECT_EQ(result.code, kNotFound);
  EXPECT_THAT(result.err, AllOf(HasSubstr("gpu-\\x1b]0;title\\x07"), Not(HasSubstr("\x1b"))));
}

TEST_F(CommandTest, ExplainShowsFormulaInputsAndSums) {
  const CliResult result = Run({"explain", "small", "gpu-a", "-o", "11"});
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("  sum                         9.00 ms  90.0%"),
                                HasSubstr("beside the operators        1.00 ms  10.0%"),
                                HasSubstr("qkv_proj: (W + M*(K + N)*a) / (BW*e_w) = 4.00 ms"),
                                HasSubstr("BW = 3.35e+12, M = 16"), HasSubstr("Mean decode step")));
}

TEST_F(CommandTest, CompareRanksAndTellsRefusals) {
  const CliResult result = Run({"compare", "small", "gpu-b", "gpu-c", "gpu-a", "-o", "11", "-b", "2"});
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_LT(result.out.find("1  gpu-a"), result.out.find("2  gpu-b"));
  EXPECT_THAT(result.out, HasSubstr("gpu-c: hardware \"gpu-c\" is not in the catalog"));
  EXPECT_THAT(result.out, Not(HasSubstr("note: ")));
  EXPECT_THAT(Run({"compare", "small", "gpu-b", "gpu-a", "--engine", "vllm"}).out,
              HasSubstr("DATASHEET\nnote: the rows rest on different evidence (provenance CALIBRATED, DATASHEET; "
                        "calibration none, vllm): their order is predicted, not measured\n"));
  EXPECT_THAT(Run({"compare", "small", "gpu-b", "gpu-a", "--output", "csv"}).out, HasSubstr("\n1,gpu-a,0.01,"));
}

TEST_F(CommandTest, EveryColumnOfAComparison) {
  server_.estimator.reply = DistinctEstimate();
  EXPECT_THAT(Run({"compare", "small", "gpu-b"}).out,
              HasSubstr("   hardware   TTFT   TPOT    E2E  tok/s/device      MBU  SLO       provenance\n"
                        "1  gpu-b     102 s  106 s  110 s           117  14,500%  MARGINAL  CALIBRATED/TRANSFERRED\n"));
}

TEST_F(CommandTest, EveryColumnOfAnExplanation) {
  v1::Estimate& reply = server_.estimator.reply.emplace();
  FillDistinct(*reply.add_prefill_operators());
  reply.mutable_prefill()->set_seconds(200);
  EXPECT_THAT(Run({"explain", "small", "gpu-a"}).out,
              HasSubstr("  operator              runs    time  share  bound              work  traffic   sent\n"
                        "  text-101               102   106 s  53.0%  communication  103 FLOP    104 B  105 B\n"));
}

TEST_F(CommandTest, ComparisonsForPrograms) {
  server_.estimator.reply = DistinctEstimate();
  std::istringstream compared(
      Run({"compare", "small", "gpu-c", "gpu-b", "--rank", "slo_headroom", "--output", "csv"}).out);
  std::istringstream estimated(Run({"estimate", "small", "gpu-b", "--output", "csv"}).out);
  EXPECT_EQ(server_.estimator.last_batch.rank_by(), v1::RANK_BY_SLO_HEADROOM);
  CsvReader compare(compared), estimate(estimated);
  for (const auto& [rank, hardware, status] :
       {std::tuple<const char*, const char*, const char*>{"rank", "hardware", "status"}, {"1", "gpu-b", "OK"}}) {
    std::vector<std::string> want = estimate.Next().value().cells;
    want.erase(want.begin());  // the model
    want.insert(want.begin(), rank);
    want[1] = hardware;
    want.push_back(status);
    EXPECT_EQ(compare.Next().value().cells, want);
  }
  const std::vector<std::string> refused = compare.Next().value().cells;
  EXPECT_EQ(refused[0] + "," + refused[1] + "," + refused[2], ",gpu-c,");
  EXPECT_THAT(refused.back(), HasSubstr("\"gpu-c\" is not in the catalog"));
}

TEST_F(CommandTest, OperatorsForPrograms) {
  server_.estimator.reply = DistinctEstimate();
  const v1::OperatorEstimate& prefill = server_.estimator.reply->prefill_operators(0);
  const v1::OperatorEstimate& decode = server_.estimator.reply->decode_operators(0);
  const auto line = [](const char* phase, const v1::OperatorEstimate& one) {
    return absl::StrCat(phase, ",", one.name(), ",", one.count(), ",", one.seconds(), ",", EnumText(one.bound()), ",",
                        one.flops(), ",", one.bytes(), ",", one.communication_bytes(), ",", one.formula(), "\n");
  };
  EXPECT_EQ(Run({"explain", "small", "gpu-a", "--output", "csv"}).out,
            "phase,operator,count,seconds,bound,flops,bytes,communication_bytes,formula\n" + line("prefill", prefill) +
                line("decode", decode));
}

TEST_F(CommandTest, HealthForPrograms) {
  EXPECT_EQ(Run({"health", "--output", "json"}).out, "{\"status\": \"SERVING\"}\n");
  EXPECT_EQ(Run({"health", "--output", "csv"}).out, "status\nSERVING\n");
}

TEST_F(CommandTest, Health) {
  EXPECT_EQ(Run({"health"}).out, "SERVING\n");
  server_.SetServing(false);
  const CliResult result = Run({"health"});
  EXPECT_EQ(result.out, "NOT_SERVING\n");
  EXPECT_EQ(result.code, kNo);
}

TEST_F(CommandTest, NoServerIsTold) {
  const CliResult result = Run({"--server", "unix:/nonexistent/foretoken.sock", "health"});
  EXPECT_EQ(result.code, kUnavailable);
  EXPECT_THAT(result.err, AllOf(HasSubstr("UNAVAILABLE"), HasSubstr("server unix:/nonexistent/foretoken.sock")));
}

TEST_F(CommandTest, Completion) {
  EXPECT_THAT(Run({"completion", "bash"}).out,
              AllOf(HasSubstr("estimate explain compare"), Not(HasSubstr("@COMMANDS@"))));
  EXPECT_THAT(Run({"completion", "zsh"}).out, HasSubstr("bashcompinit"));
  EXPECT_THAT(Run({"completion", "fish"}).out, HasSubstr("complete -c foretoken"));
}

}  // namespace
}  // namespace foretoken::cli
