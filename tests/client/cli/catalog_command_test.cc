// list, get, delete and the registrations.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/cli/terminal/exit_code.h"
#include "tests/client/cli/run_cli.h"

namespace foretoken::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CatalogCommandTest : public testing::Test {
 protected:
  CliResult Run(const std::vector<std::string>& arguments, const std::string& in = "") {
    return RunCli(server_, arguments, in);
  }
  client::FakeServer server_;
};

TEST_F(CatalogCommandTest, ListTurnsThePages) {
  EXPECT_EQ(Run({"list", "models", "--ids"}).out, "large\nsmall\n");
  EXPECT_EQ(Run({"list", "hardware", "b", "--ids"}).out, "gpu-b\n");
}

TEST_F(CatalogCommandTest, ListNamesEachIdWithItsAliases) {
  server_.catalog.model.mutable_spec()->add_aliases("acme/A Model");
  server_.catalog.model.mutable_spec()->add_aliases("acme/B");
  EXPECT_EQ(Run({"list", "models", "--names"}).out, "large\nacme/A Model\nacme/B\nsmall\nacme/A Model\nacme/B\n");
  EXPECT_EQ(Run({"list", "calibrations", "--names"}).out, "gpu-a.vllm\n");
}

TEST_F(CatalogCommandTest, WhatIsNotKnownIsADash) {
  EXPECT_EQ(Run({"list", "hardware"}).out,
            "id     memory  bandwidth  16-bit peak  link  profiles  origin\n"
            "gpu-a       -          -            -     -         0  bundled\n"
            "gpu-b       -          -            -     -         0  bundled\n");
  EXPECT_THAT(Run({"list", "hardware", "--output", "csv"}).out,
              AllOf(HasSubstr(",peak_16bit_flops_per_second,"), HasSubstr("\ngpu-a,,,,,0,bundled\n")));
}

TEST_F(CatalogCommandTest, EveryColumnOfHardware) {
  v1::HardwareSpec& spec = *server_.catalog.hardware.mutable_spec();
  spec.set_memory_capacity_bytes(80'000'000'000);
  spec.set_memory_bandwidth_bytes_per_second(3.35e12);
  spec.mutable_peak()->set_fp16_flops_per_second(495e12);
  spec.set_interconnect_bytes_per_second(450e9);
  spec.add_linear_profiles();
  spec.add_linear_profiles();
  const std::vector<std::string> list = {"list", "hardware", "b"};
  EXPECT_EQ(Run(list).out,
            "id      memory  bandwidth  16-bit peak      link  profiles  origin\n"
            "gpu-b  80.0 GB  3.35 TB/s  495 TFLOP/s  450 GB/s         2  bundled\n");
  spec.mutable_peak()->set_bf16_flops_per_second(989e12);  // goes before fp16
  EXPECT_EQ(Run({"list", "hardware", "b", "--output", "csv"}).out,
            "id,memory_capacity_bytes,memory_bandwidth_bytes_per_second,peak_16bit_flops_per_second,"
            "interconnect_bytes_per_second,linear_profiles,origin\n"
            "gpu-b,8e+10,3.35e+12,9.89e+14,4.5e+11,2,bundled\n");
}

TEST_F(CatalogCommandTest, EveryColumnOfAModel) {
  v1::ModelSpec& spec = *server_.catalog.model.mutable_spec();
  spec.set_num_hidden_layers(80);
  spec.set_hidden_size(8192);
  spec.set_attention_type(v1::ATTENTION_TYPE_GQA);
  EXPECT_EQ(Run({"list", "models", "small"}).out,
            "id     parameters  layers  hidden  attention  experts  context  supported  origin\n"
            "small           -      80    8192  gqa          dense        -  yes        bundled\n");
  spec.set_parameter_count(70'600'000'000);
  spec.mutable_mixture_of_experts()->set_num_experts(16);
  spec.set_max_position_embeddings(131072);
  spec.set_unsupported_reason("state space layers");
  EXPECT_EQ(Run({"list", "models", "small"}).out,
            "id     parameters  layers  hidden  attention  experts  context  supported  origin\n"
            "small      70.6 B      80    8192  gqa             16  131,072  no         bundled\n");
  EXPECT_EQ(Run({"list", "models", "small", "--output", "csv"}).out,
            "id,parameter_count,num_hidden_layers,hidden_size,attention_type,num_experts,max_position_embeddings,"
            "supported,origin\n"
            "small,7.06e+10,80,8192,gqa,16,131072,no,bundled\n");
}

TEST_F(CatalogCommandTest, EveryColumnOfACalibration) {
  v1::CalibrationSpec& spec = *server_.catalog.calibration.mutable_spec();
  spec.set_engine("vllm-0.7.3");
  spec.set_samples_used(12);
  for (const auto& [metric, ape] :
       {std::pair{v1::LATENCY_METRIC_E2E, 0.4}, {v1::LATENCY_METRIC_TTFT, 0.1}, {v1::LATENCY_METRIC_TPOT, 0.3}}) {
    v1::CalibrationError& error = *spec.add_errors();
    error.set_metric(metric);
    error.set_in_sample_median_ape(ape);
  }
  spec.mutable_errors(1)->set_cross_validated_median_ape(0.2);  // goes before the error in sample
  EXPECT_EQ(
      Run({"list", "calibrations"}).out,
      "id          hardware  engine      model  batching  measurements  kernels  TTFT error  TPOT error  E2E error  "
      "origin\n"
      "gpu-a.vllm  any       vllm-0.7.3  any    static              12        0       20.0%       30.0%      40.0%  "
      "bundled\n");
  spec.set_hardware_id("gpu-a");
  spec.set_model_id("small");
  spec.set_continuous(true);
  EXPECT_EQ(Run({"list", "calibrations", "--output", "csv"}).out,
            "id,hardware_id,engine,model_id,batching,samples_used,kernels_used,ttft_median_ape,tpot_median_ape,e2e_"
            "median_ape,"
            "origin\n"
            "gpu-a.vllm,gpu-a,vllm-0.7.3,small,continuous,12,0,0.2,0.3,0.4,bundled\n");
}

TEST_F(CatalogCommandTest, EachKindIsAskedForByItsName) {
  EXPECT_EQ(Run({"get", "model", "small", "--revision", "6"}).out,
            "# unspecified, etag \n# catalog 0123456789ab revision 7\nid: \"small\"\n");
  EXPECT_EQ(server_.catalog.last_get_model.ShortDebugString(), "model_id: \"small\" store_revision: 6");
  EXPECT_EQ(Run({"get", "calibration", "gpu-a.vllm"}).out,
            "# unspecified\n# catalog 0123456789ab revision 7\nid: \"gpu-a.vllm\"\n");
  const CliResult refused = Run({"get", "calibration", "gpu-a.vllm", "--revision", "6"});
  EXPECT_EQ(refused.code, kUsage);
  EXPECT_THAT(refused.err, HasSubstr("--revision 6 of a calibration; allowed with hardware and model"));
  EXPECT_THAT(Run({"revisions", "model", "small"}).out, HasSubstr("2023-11-14T22:14:20Z  delete"));
  EXPECT_EQ(Run({"revisions", "hardware", "small"}).code, kNotFound);
  EXPECT_EQ(Run({"rollback", "model", "small", "5", "--etag", "e", "--request-id", "r"}).out,
            "model small is as at revision 5, etag m8-1, catalog 0123456789ab revision 7\n");
  EXPECT_EQ(server_.catalog.last_rollback_model.ShortDebugString(),
            "model_id: \"small\" store_revision: 5 etag: \"e\" request_id: \"r\"");
  EXPECT_EQ(Run({"delete", "model", "small", "--etag", "e", "--request-id", "r"}).code, kOk);
  EXPECT_EQ(server_.catalog.last_delete_model.ShortDebugString(), "model_id: \"small\" etag: \"e\" request_id: \"r\"");
  EXPECT_EQ(Run({"delete", "hardware", "gpu-a", "--etag", "e1", "--request-id", "r"}).code, kOk);
  EXPECT_EQ(server_.catalog.last_delete.ShortDebugString(), "hardware_id: \"gpu-a\" etag: \"e1\" request_id: \"r\"");
}

TEST_F(CatalogCommandTest, RegistrationsForPrograms) {
  EXPECT_EQ(Run({"register-hardware", "-", "--output", "csv"}, "id: 'h1'").out, "id,etag\nh1,new\n");
  EXPECT_EQ(Run({"register-model", "-", "--output", "csv", "--validate-only"}, "id: 'x1'").out, "id,etag\nx1,m1\n");
  EXPECT_TRUE(server_.catalog.last_model.validate_only());
  EXPECT_EQ(Run({"register-model", "-"}, "id: 'x1'").out,
            "registered model x1, etag m1, catalog 0123456789ab revision 7\n");
  EXPECT_FALSE(server_.catalog.last_model.validate_only());
  EXPECT_THAT(Run({"register-model", "-", "--output", "json"}, "id: 'x1'").out, HasSubstr("\"etag\": \"m1\""));
}

TEST_F(CatalogCommandTest, GetCanBeRegisteredAgain) {
  const CliResult got = Run({"get", "hardware", "gpu-a"});
  EXPECT_EQ(
      got.out,
      "# bundled, etag e1\n# catalog 0123456789ab revision 7\nid: \"gpu-a\"\nmemory_capacity_bytes: 80000000000\n");
  EXPECT_EQ(Run({"register-hardware", "-"}, got.out).code, kOk);
  EXPECT_EQ(server_.catalog.last_hardware.spec().id(), "gpu-a");
  EXPECT_EQ(Run({"get", "hardware", "gpu-x"}).code, kNotFound);
}

TEST_F(CatalogCommandTest, RegisterSendsItsFlags) {
  const CliResult result =
      Run({"register-hardware", "-", "--etag", "*", "--request-id", "r1", "--validate-only"}, "id: 'new'");
  EXPECT_EQ(result.out, "valid, nothing stored: hardware new, etag new, catalog 0123456789ab revision 7\n");
  EXPECT_EQ(server_.catalog.last_hardware.etag(), "*");
  EXPECT_EQ(server_.catalog.last_hardware.request_id(), "r1");
  EXPECT_TRUE(server_.catalog.last_hardware.validate_only());
}

TEST_F(CatalogCommandTest, AWriteMakesItselfRepeatable) {
  server_.catalog.failures = 1;
  EXPECT_EQ(Run({"register-hardware", "-"}, "id: 'new'").code, kOk);
  EXPECT_EQ(server_.catalog.calls, 2);
  EXPECT_EQ(server_.catalog.last_hardware.request_id().size(), 32u);
  EXPECT_FALSE(server_.catalog.last_hardware.has_etag());
}

constexpr char kSamples[] =
    "hardware,model,engine,tensor_parallel,batch_size,prompt_tokens,output_tokens,ttft_s\n"
    "new,small,vllm,2,1,512,1,0.1\n";

TEST_F(CatalogCommandTest, SamplesGiveAReport) {
  const TemporaryFile samples("samples.csv", kSamples);
  const CliResult result = Run({"register-hardware", "-", "--samples", samples.path()}, "id: 'new'");
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_EQ(server_.catalog.last_hardware.samples_size(), 1);
  EXPECT_EQ(server_.catalog.last_hardware.samples(0).deployment().tensor_parallel(), 2);
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("Prefill  slope 12,345 tok/s, intercept -20 tokens, R2 0.9987, 1 measurements"),
                    HasSubstr("          0           3 tokens")));
}

TEST_F(CatalogCommandTest, SamplesOfOtherHardwareAreRefusedByLine) {
  const TemporaryFile samples("samples.csv", kSamples);
  const CliResult result = Run({"register-hardware", "-", "--samples", samples.path()}, "id: 'other'");
  EXPECT_EQ(result.code, kUsage);
  EXPECT_THAT(result.err, HasSubstr("samples.csv:2: hardware \"new\"; allowed: \"other\""));
}

TEST_F(CatalogCommandTest, RegisterModelFromAConfig) {
  const std::string config =
      R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4,
          "num_hidden_layers": 2, "vocab_size": 100, "torch_dtype": "float16"})";
  const CliResult result = Run({"register-model", "-", "--id", "my-model"}, config);
  EXPECT_EQ(result.code, kOk) << result.err;
  EXPECT_EQ(server_.catalog.last_model.spec().id(), "my-model");
  EXPECT_EQ(server_.catalog.last_model.spec().native_dtype(), v1::DTYPE_FP16);
  EXPECT_EQ(server_.catalog.last_model.spec().sources_size(), 1);
  EXPECT_EQ(Run({"register-model", "-"}, "{\"model_type\": \"mamba\"}").code, kUsage);
}

TEST_F(CatalogCommandTest, Delete) {
  EXPECT_EQ(Run({"delete", "hardware", "gpu-a"}).out, "deleted hardware gpu-a, catalog 0123456789ab revision 7\n");
  EXPECT_EQ(Run({"delete", "hardware", "gpu-a", "--etag", "x"}).code, kConflict);
  EXPECT_EQ(Run({"delete", "model", "small"}).out, "deleted model small, catalog 0123456789ab revision 7\n");
  EXPECT_EQ(server_.catalog.last_delete_model.model_id(), "small");
}

TEST_F(CatalogCommandTest, AnEmptyEtagWritesNothing) {
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"delete", "hardware", "gpu-a", "--etag", ""},
        {"delete", "hardware", "gpu-a", "--etag="},
        {"rollback", "hardware", "gpu-a", "5", "--etag", ""},
        {"get", "hardware", "gpu-a", "--revision", ""},
        {"register-hardware", "-", "--request-id", ""}}) {
    const CliResult result = Run(arguments, "id: 'new'");
    EXPECT_EQ(result.code, kUsage) << result.out;
    EXPECT_THAT(result.err, HasSubstr("\"\""));
  }
  EXPECT_EQ(server_.catalog.calls, 0);
}

TEST_F(CatalogCommandTest, WhatIsNoTableIsRefusedAsCsvBeforeTheCall) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"delete", "hardware", "gpu-a"},
                                                    {"rollback", "hardware", "gpu-a", "5"},
                                                    {"get", "hardware", "gpu-a"},
                                                    {"catalog-status"}}) {
    std::vector<std::string> with_csv = arguments;
    with_csv.insert(with_csv.end(), {"--output", "csv"});
    const CliResult result = Run(with_csv);
    EXPECT_EQ(result.code, kUsage) << arguments[0];
    EXPECT_THAT(result.err, HasSubstr("is not a table; allowed: text, json"));
  }
  EXPECT_EQ(server_.catalog.calls, 0);
  EXPECT_EQ(Run({"get", "models", "small"}).code, kUsage);
}

TEST_F(CatalogCommandTest, RevisionsTellWhoWhenAndWhat) {
  EXPECT_EQ(Run({"revisions", "hardware", "gpu-a"}).out,
            "revision  time                  action    author  peer             etag  changed\n"
            "       7  2023-11-14T22:14:20Z  delete    ann@ci  ipv4:10.0.0.7:1        id\n"
            "       5  2023-11-14T22:13:20Z  register                           r5-1  id vendor\n");
  EXPECT_EQ(Run({"revisions", "hardware", "gpu-a", "--output", "csv"}).out,
            "revision,time,action,author,peer,etag,changed\n"
            "7,2023-11-14T22:14:20Z,delete,ann@ci,ipv4:10.0.0.7:1,,id\n"
            "5,2023-11-14T22:13:20Z,register,,,r5-1,id vendor\n");
  EXPECT_EQ(Run({"revisions", "hardware", "gpu-x"}).code, kNotFound);
}

TEST_F(CatalogCommandTest, GetAsksForARevision) {
  EXPECT_EQ(Run({"get", "hardware", "gpu-a", "--revision", "5"}).code, kOk);
  EXPECT_EQ(server_.catalog.last_get.store_revision(), 5);
  EXPECT_EQ(Run({"get", "hardware", "gpu-a"}).code, kOk);
  EXPECT_FALSE(server_.catalog.last_get.has_store_revision());
}

TEST_F(CatalogCommandTest, RollbackSaysWhatIsThereNow) {
  EXPECT_EQ(Run({"rollback", "hardware", "gpu-a", "5", "--etag", "r7-1"}).out,
            "hardware gpu-a is as at revision 5, etag r8-1, catalog 0123456789ab revision 7\n");
  EXPECT_EQ(server_.catalog.last_rollback.store_revision(), 5);
  EXPECT_EQ(server_.catalog.last_rollback.etag(), "r7-1");
  EXPECT_EQ(server_.catalog.last_rollback.request_id().size(), 32u);
  EXPECT_EQ(server_.catalog.last_author, "tester");
  EXPECT_EQ(Run({"rollback", "hardware", "gpu-a", "0"}).out,
            "hardware gpu-a is as at revision 0: not registered, catalog 0123456789ab revision 7\n");
}

TEST_F(CatalogCommandTest, CatalogStatusTellsOfAStaleStore) {
  EXPECT_EQ(Run({"catalog-status"}).out, "catalog 0123456789ab revision 7\netcd store, agreed with 500 ms ago\n");
  server_.catalog.stale = true;
  const CliResult stale = Run({"catalog-status"});
  EXPECT_EQ(stale.code, kNo);
  EXPECT_EQ(stale.out,
            "catalog 0123456789ab revision 7, STALE: the store has not answered since 2023-11-14T22:13:20Z\n"
            "etcd store, agreed with 500 ms ago\n"
            "last error at 2023-11-14T22:13:24Z: no answer in time\n"
            "skipped hardware/x of revision 3: garbage\n");
}

}  // namespace
}  // namespace foretoken::cli
