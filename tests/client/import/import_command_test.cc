#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "client/cli/import/import_format.h"
#include "client/cli/import/json_records.h"
#include "client/cli/import/trace_format.h"
#include "client/cli/terminal/exit_code.h"
#include "client/cli/validation/measurements.h"
#include "tests/client/cli/run_cli.h"
#include "tests/paths.h"

namespace foretoken::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string Sample(const std::string& name) { return SourcePath("tests/client/import/samples/" + name); }

const std::vector<std::string> kAll = {"--hardware",  "gpu-a", "--model", "small",          "--engine",
                                       "vllm@0.11.0", "--tp",  "1",       "--weight-dtype", "bf16"};

std::string FileText(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Runs `foretoken import FORMAT FILE FLAGS...`.
CliResult Import(const std::string& format, const std::string& file, const std::vector<std::string>& flags,
                 const std::string& in = "") {
  client::FakeServer server;
  std::vector<std::string> arguments = {"import", format, file};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  CliResult result = RunCli(server, arguments, in);
  result.out = absl::StrReplaceAll(result.out, {{SourcePath("tests/client/import/samples/"), ""}});
  result.err = absl::StrReplaceAll(result.err, {{SourcePath("tests/client/import/samples/"), ""}});
  return result;
}

std::vector<std::string> With(std::vector<std::string> flags, const std::vector<std::string>& more) {
  flags.insert(flags.end(), more.begin(), more.end());
  return flags;
}

// The rows stand in samples/rows. The times of the samples are such that milliseconds by hand are their seconds.
TEST(ImportCommandTest, EachSampleGivesItsRows) {
  struct Case {
    const char* format;
    const char* file;
    std::vector<std::string> flags;
  };
  const std::vector<std::string> gpu = {"--hardware", "gpu-a", "--model", "small"};
  const Case cases[] = {
      {"vllm-bench-serve", "vllm-bench-serve.json", kAll},
      // As the tool wrote it: "mean_ttft_ms": 24.30055868717318.
      {"vllm-bench-serve", "vllm-bench-serve-run.json", kAll},
      {"vllm-bench-latency", "vllm-bench-latency.json", With(kAll, {"-b", "8", "-p", "32", "-o", "128"})},
      // Uniform lengths of 512 to 1,024 and 128 to 256; means of 302.5 and 199.7 tokens.
      {"sglang-bench-serving", "sglang-bench-serving.jsonl", With(gpu, {"--weight-dtype", "bf16"})},
      {"trtllm-bench", "trtllm-bench.json", With(gpu, {"--batch", "32"})},
      {"genai-perf", "genai-perf.json", kAll},
      // As the tool's exporter wrote it: "stimulus": {"concurrency": 4}.
      {"genai-perf", "genai-perf-run.json", kAll},
      // Open traffic of the phase that was measured; the closed loop of 1 before it was the warm-up.
      {"aiperf", "aiperf.json", kAll},
      // As the tool wrote it: "time_to_first_token": {"avg": 28.5456031875, ...} milliseconds.
      {"aiperf", "aiperf-run.json", kAll},
      // 128 tokens in 1.076767744 s.
      {"llama-bench", "llama-bench.json", With(gpu, {"--tp", "1"})},
      // 512 / 7340.2; 1 / 128; (512 + 128) / 640.
      {"llama-bench", "llama-bench.md", With(gpu, {"--tp", "1"})},
      // The longest are 1,024: a spread of 102 makes the shortest 820.
      {"inferencex", "inferencex.json",
       With(gpu, {"--engine", "vllm@0.11.0", "--weight-dtype", "mxfp4", "--prompt-spread", "102", "--output-spread",
                  "102"})},
  };
  std::set<std::string> seen;
  for (const Case& c : cases) {
    const CliResult result = Import(c.format, Sample(c.file), c.flags);
    EXPECT_EQ(result.code, kOk) << c.file << result.err;
    EXPECT_EQ(result.out, FileText(Sample(absl::StrCat("rows/", c.file, ".csv")))) << c.file;
    EXPECT_THAT(result.err, Not(HasSubstr("unknown fields"))) << c.file;
    std::istringstream in(result.out);
    const auto read = ReadMeasurements("rows.csv", in);
    ASSERT_TRUE(read.ok()) << read.status();
    for (const Measurement& row : read->rows) EXPECT_TRUE(row.status.ok()) << c.file << row.status;
    seen.insert(c.format);
  }
  EXPECT_EQ(seen.size(), ImportFormats().size()) << "a format has no sample";
}

// The fake answers a TTFT of 10 ms a sequence: 160 ms for 16.
TEST(ImportCommandTest, ValidateTakesWhatImportGives) {
  client::FakeServer server;
  const TemporaryFile csv("rows.csv", "");
  const CliResult imported = RunCli(
      server, With(With({"import", "vllm-bench-serve", Sample("vllm-bench-serve.json")}, kAll), {"--out", csv.path()}));
  EXPECT_EQ(imported.code, kOk) << imported.err;
  EXPECT_THAT(imported.out, IsEmpty());
  const CliResult validated = RunCli(server, {"validate", csv.path()});
  EXPECT_EQ(validated.code, kOk) << validated.err;
  EXPECT_THAT(validated.out, HasSubstr("1 rows: 1 predicted, 0 refused, 0 unreadable"));
  EXPECT_THAT(validated.err, HasSubstr("no estimate uses ttft_p50_s, ttft_p90_s, ttft_p99_s, tpot_p50_s"));
}

TEST(ImportCommandTest, WhatIsLostIsNamedOnce) {
  const std::string run =
      R"({"completed": 2, "max_concurrency": 1, "total_input_tokens": 20, "total_output_tokens": 8, "mean_ttft_ms": 5,
          "std_ttft_ms": 1, "request_throughput": 3, "surprise": 7, "empty": [], "off": false, "nothing": null})";
  client::FakeServer server;
  const TemporaryFile one("a.json", run);
  const TemporaryFile other("b.json", run);
  const CliResult result = RunCli(server, With({"import", "vllm-bench-serve", one.path(), other.path()}, kAll));
  EXPECT_EQ(result.code, kOk);
  EXPECT_EQ(result.err,
            "note: no column for other statistics: std_ttft_ms\n"
            "note: no column for throughput: request_throughput\n"
            "note: unknown fields: surprise\n");
}

TEST(ImportCommandTest, ALeftOutRunSaysWhy) {
  const CliResult result =
      Import("llama-bench", Sample("llama-bench.md"), {"--hardware", "gpu-a", "--model", "small", "--tp", "1"});
  EXPECT_THAT(result.err, HasSubstr("note: left out llama-bench.md:6: a prompt of 512 after a context of 512 tokens"));
}

TEST(ImportCommandTest, AModelIsMappedOnlyWhereTheServerKnowsItsName) {
  const std::string run = R"({"model_id": "$", "completed": 2, "max_concurrency": 1, "total_input_tokens": 20,
                              "total_output_tokens": 8, "mean_ttft_ms": 5})";
  const std::vector<std::string> flags = {"--hardware", "gpu-a", "--engine",       "vllm@0.11.0",
                                          "--tp",       "1",     "--weight-dtype", "bf16"};
  const CliResult known = Import("vllm-bench-serve", "-", flags, absl::StrReplaceAll(run, {{"$", "org/small"}}));
  EXPECT_EQ(known.code, kOk);
  EXPECT_THAT(known.out, HasSubstr("gpu-a,small,vllm"));
  EXPECT_THAT(known.err, HasSubstr("note: the model \"org/small\" is small\n"));
  const CliResult unknown = Import("vllm-bench-serve", "-", flags, absl::StrReplaceAll(run, {{"$", "org/other"}}));
  EXPECT_EQ(unknown.code, kUsage);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("the file's model \"org/other\" is no id or alias of the catalog"),
                                 HasSubstr("--model ID names it")));
}

struct FaultCase {
  const char* name;
  std::string text;
  std::vector<std::string> flags;
  const char* want;
};

void ExpectFaults(const std::vector<FaultCase>& cases) {
  for (const FaultCase& c : cases) {
    const CliResult result = Import("vllm-bench-serve", "-", c.flags, c.text);
    EXPECT_EQ(result.code, kUsage) << c.name;
    EXPECT_THAT(result.err, HasSubstr(c.want)) << c.name;
    EXPECT_THAT(result.out, IsEmpty()) << c.name;
  }
}

const std::string kGood =
    R"("completed": 4, "max_concurrency": 2, "total_input_tokens": 40, "total_output_tokens": 8, "mean_ttft_ms": 5)";

TEST(ImportCommandTest, FaultsOfTheFileSayItsLine) {
  ExpectFaults({
      {"empty", " \n", kAll, "-: is empty"},
      {"no JSON", "{\"a\": 1", kAll, "-: is no JSON: "},
      {"a number", "7", kAll, "-:1: allowed: a JSON object, or an array of objects"},
      {"an array of numbers", "[7]", kAll, "-: [0] is no object"},
      {"an empty array", "[]", kAll, "-:1: is an empty array"},
      {"deep arrays", std::string(4000, '[') + std::string(4000, ']'), kAll, "nested 4000 deep; allowed: at most 30"},
      {"a huge number", R"({"completed": 1e400})", kAll, "-:1: is no JSON: Number exceeds the range of double"},
  });
}

TEST(ImportCommandTest, FaultsOfARunSayTheirField) {
  ExpectFaults({
      {"a count that is a text", "{\n\"completed\": \"x\"}", kAll, "-:2: completed \"x\"; allowed: a finite number"},
      {"a fraction of a request", "{\n\n\"completed\": 1.5}", kAll,
       "-:3: completed 1.5; allowed: a whole number of 1 to 2147483647"},
      {"too many", R"({"completed": 3e9})", kAll, "completed 3e+09; allowed: a whole number of 1"},
      {"NaN", R"({"mean_ttft_ms": NaN})", kAll, "-:1: mean_ttft_ms \"NaN\"; allowed: a finite number"},
      {"an infinite time", R"({"mean_ttft_ms": -Infinity})", kAll, "mean_ttft_ms \"-Infinity\"; allowed: a finite"},
      {"a negative time", R"({"mean_tpot_ms": -3})", kAll, "mean_tpot_ms -3; allowed: a finite time of at least 0"},
      {"an object for a time", R"({"mean_tpot_ms": {"a": 1}})", kAll, "mean_tpot_ms an object; allowed: a finite"},
      {"a number for a name", R"({"model_id": 5})", kAll, "-:1: model_id 5; allowed: a text"},
      {"a trace", R"({"request_rate": "trace"})", kAll, "request_rate \"trace\"; allowed: a finite number"},
      {"a rate and a limit", "{" + kGood + R"(, "request_rate": 2})", kAll,
       "request_rate 2 and max_concurrency 2; a row is of open traffic or of a closed loop"},
      {"the second line", "{" + kGood + "}\n{\"completed\": 0}\n", kAll,
       "-:2: completed 0; allowed: a whole number of 1 to 2147483647"},
      {"speculation", "{" + kGood + R"(, "spec_decode_acceptance_rate": 0.5})", kAll,
       "spec_decode_acceptance_rate 0.5; a row has no column for speculative decoding; --ignore-field "
       "spec_decode_acceptance_rate imports the run all the same"},
      {"no time", R"({"completed": 1, "max_concurrency": 1, "total_input_tokens": 4, "total_output_tokens": 4})", kAll,
       "-:1: no mean time to first token, time per output token or end-to-end time"},
  });
}

TEST(ImportCommandTest, FaultsOfFlagsSayTheFlag) {
  ExpectFaults({
      {"no flag",
       "{" + kGood + "}",
       {"--model", "small"},
       "-:1: the file does not say: engine and version (--engine NAME@VERSION), hardware (--hardware ID), tensor "
       "parallel degree (--tp N), dtype of the weights (--weight-dtype DTYPE)"},
      {"no version", "{" + kGood + "}",
       With({kAll.begin(), kAll.begin() + 4}, {"--engine", "vllm", "--tp", "1", "--weight-dtype", "bf16"}),
       "-:1: the file does not say: engine and version (--engine NAME@VERSION)"},
      {"no lengths", R"({"completed": 1, "max_concurrency": 1, "mean_ttft_ms": 4})", kAll,
       "prompt tokens (--prompt N), output tokens (--output-tokens N)"},
      {"another batch than the file's", "{" + kGood + "}", With(kAll, {"--batch", "3"}),
       "-:1: --batch 3; the file says otherwise: batch_size 2"},
      {"a flag out of range", "{" + kGood + "}", With(kAll, {"--memory-utilization", "7"}),
       "-:1: memory_utilization \"7\"; allowed: above 0 to 1"},
      {"a flag of another kind", "{" + kGood + "}", With(kAll, {"--chunk", "x"}), "-:1: --chunk: "},
      {"two models under one flag", "{" + kGood + ", \"model_id\": \"a\"}\n{" + kGood + ", \"model_id\": \"b\"}", kAll,
       "--model stands for one model, and the files have 2: a, b; import them apart"},
      {"an ignored field that is not there", "{" + kGood + "}", With(kAll, {"--ignore-field", "max_concurency"}),
       "--ignore-field max_concurency; no file has this field"},
      {"JSON", "{" + kGood + "}", With(kAll, {"--output", "json"}), "--output json; allowed: text or csv"},
      {"a folder that is not there", "{" + kGood + "}", With(kAll, {"--out", "/no/such/rows.csv"}),
       "--out: /no/such/rows.csv cannot be written"},
  });
}

TEST(ImportCommandTest, AFormatThatIsNotThereIsAnsweredWithThoseThatAre) {
  const CliResult result = Import("nope", "-", kAll, "{}");
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("FORMAT: \"nope\"; allowed: vllm-bench-serve, vllm-bench-latency, "));
}

TEST(ImportCommandTest, AnIgnoredFieldIsAbsent) {
  const std::string run = R"({"completed": 4, "max_concurrency": 2, "request_rate": 3, "total_input_tokens": 40,
                              "total_output_tokens": 8, "mean_ttft_ms": 5})";
  const CliResult open = Import("vllm-bench-serve", "-", With(kAll, {"--ignore-field", "max_concurrency"}), run);
  EXPECT_THAT(open.out, HasSubstr("batch_size,request_rate,prompt_tokens"));
  EXPECT_THAT(open.out, HasSubstr("continuous,1,3,10,2,0.005"));
  const CliResult closed = Import("vllm-bench-serve", "-", With(kAll, {"--ignore-field", "request_rate"}), run);
  EXPECT_THAT(closed.out, HasSubstr("continuous,2,4,10,2,0.005"));
}

// All at once is a closed loop of all requests; a loop has no more places than requests.
TEST(ImportCommandTest, RequestsAtOnce) {
  const std::string rest =
      R"("total_input_tokens": 40, "total_output_tokens": 8, "mean_ttft_ms": 5, "mean_tpot_ms": 0})";
  EXPECT_THAT(Import("vllm-bench-serve", "-", kAll, R"({"completed": 4, "request_rate": "inf", )" + rest).out,
              AllOf(HasSubstr("continuous,4,4,10,2,0.005"), Not(HasSubstr("tpot_s"))));
  EXPECT_THAT(Import("vllm-bench-serve", "-", kAll, R"({"completed": 4, "max_concurrency": 9, )" + rest).out,
              HasSubstr("continuous,4,4,10,2,0.005"));
}

// The report has the requests of the run, and not how many were there at once.
TEST(ImportCommandTest, FlagsSayHowRequestsCame) {
  const std::vector<std::string> flags = {"--hardware", "gpu-a", "--model", "small"};
  const std::string file = Sample("trtllm-bench.json");
  const CliResult open = Import("trtllm-bench", file, With(flags, {"--batch", "1", "--request-rate", "4"}));
  EXPECT_THAT(open.out,
              AllOf(HasSubstr("batch_size,request_rate,prompt_tokens"), HasSubstr("continuous,1,4,1024,128,")));
  const CliResult many = Import("trtllm-bench", file, With(flags, {"--batch", "321"}));
  EXPECT_EQ(many.code, kUsage);
  EXPECT_THAT(many.err, HasSubstr("trtllm-bench.json:1: 321 requests at once; the run has 320 in all"));
}

TEST(ImportCommandTest, EachFormatRefusesWhatARowCannotSay) {
  struct Case {
    const char* format;
    const char* text;
    const char* want;
  };
  const Case cases[] = {
      {"vllm-bench-serve", R"({"ramp_up_strategy": "linear"})", "ramp_up_strategy \"linear\"; a row has one rate"},
      {"sglang-bench-serving", R"({"accept_length": 2.5})", "accept_length 2.5; a row has no column for speculative"},
      {"sglang-bench-serving", R"({"server_info": {"dp_size": 8}})", "server_info.dp_size 8; the file does not say"},
      {"sglang-bench-serving", R"({"dataset_name": "random", "random_range_ratio": 2})",
       "random_range_ratio 2; allowed: 0 to 1"},
      {"sglang-bench-serving", R"({"total_input_vision_tokens": 9})", "a row has prompts of text alone"},
      {"trtllm-bench", R"({"decoding_stats": {"mode": "MTP"}})", "decoding_stats an object; a row has no column"},
      {"genai-perf", R"({"time_to_first_token": {"unit": "fortnights", "avg": 1}})",
       "time_to_first_token.unit \"fortnights\"; allowed: ms, s, sec, us, ns"},
      {"genai-perf", R"({"input_sequence_length": {"unit": "words", "avg": 1}})",
       "input_sequence_length.unit \"words\"; allowed: tokens"},
      {"aiperf", R"({"was_cancelled": true})", "was_cancelled true; the run did not end"},
      {"aiperf", R"({"is_complete": false})", "is_complete false; the run did not end"},
      {"llama-bench", R"([{}, {"n_gpu_layers": 10}])", "-:1: [1].n_gpu_layers 10; other layers stay on the host"},
      {"llama-bench", R"({"no_kv_offload": true})", "no_kv_offload true; a row has all of the model on devices"},
      {"llama-bench", R"({"type_k": "q8_0", "type_v": "f16"})", "type_k \"q8_0\", type_v \"f16\"; allowed: the same"},
      {"llama-bench", "| model | test | t/s |\n| llama | pp512 |\n", "-:2: 2 cells; allowed 3"},
      {"llama-bench", "| model | test | t/s |\n| llama | xy512 | 3 |\n",
       "-:2: test \"xy512\"; allowed, for example: pp512"},
      {"llama-bench", "| model | test | t/s |\n| llama | pp512 | fast |\n",
       "-:2: t/s \"fast\"; allowed, for example: 131"},
      {"llama-bench", "noise\n| llama | pp512 | 3 |\n", "-:2: a row before the header"},
      {"llama-bench", "| model | test | t/s |\n", "-: the table has no row"},
      {"inferencex", R"({"disagg": true})", "disagg true; a row is of one deployment"},
      {"inferencex", R"({"spec_decoding": "mtp"})", "spec_decoding \"mtp\"; a row has no column for speculative"},
      {"inferencex", R"({"dp_attention": "true"})", "dp_attention \"true\"; --dp states"},
  };
  for (const Case& c : cases) {
    const CliResult result = Import(c.format, "-", kAll, c.text);
    EXPECT_EQ(result.code, kUsage) << c.text;
    EXPECT_THAT(result.err, HasSubstr(c.want)) << c.text;
  }
}

TEST(ImportCommandTest, FilesAreBounded) {
  std::string many;
  for (size_t i = 0; i <= kMostRecords; ++i) many += "{}\n";
  EXPECT_THAT(Import("vllm-bench-serve", "-", kAll, many).err, HasSubstr("100001 records; allowed: at most 100000"));
  const std::string big = absl::StrCat("{\"a\": \"", std::string(kMostImportBytes, 'x'), "\"}");
  EXPECT_THAT(Import("vllm-bench-serve", "-", kAll, big).err, HasSubstr("bytes; allowed: at most 16777216"));
}

TEST(ImportCommandTest, CompletionKnowsTheFormats) {
  client::FakeServer server;
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const CliResult result = RunCli(server, {"completion", shell});
    for (const std::string& name : ImportNames()) EXPECT_THAT(result.out, HasSubstr(name)) << shell;
  }
}

}  // namespace
}  // namespace foretoken::cli
