// foretoken_fake_endpoint: runs a FakeEndpoint until it gets SIGINT or SIGTERM, and prints its address.
//
//   foretoken_fake_endpoint --hardware=nvidia-h100-sxm-80gb --model=llama-3.1-8b
//       --efficiencies=weight_read_efficiency=0.6,layer_gap_seconds=4e-6 --faults=http_429=0.1,hold_back_seconds=0.2
#include <signal.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "estimator/scenario/parameters.h"
#include "tests/profile/fake_endpoint.h"

ABSL_FLAG(int, port, 0, "on 127.0.0.1; 0: a free one");
ABSL_FLAG(std::string, hardware, "nvidia-h100-sxm-80gb", "id of the catalog");
ABSL_FLAG(std::string, model, "llama-3.1-8b", "id of the catalog");
ABSL_FLAG(std::vector<std::string>, efficiencies, {},
          "NAME=VALUE,... instead of the generic prior's; names as in docs/model/fit.md");
ABSL_FLAG(std::string, faults, "", "NAME=VALUE,... of tests/profile/fake_faults.h");
ABSL_FLAG(std::string, served_model, "", "name on the wire; empty: --model");
ABSL_FLAG(std::string, version, "0.11.0", "of the engine, on the wire");
ABSL_FLAG(double, time_scale, 1, "2: all steps take twice as long");
ABSL_FLAG(int64_t, max_model_len, 32768, "tokens");
ABSL_FLAG(int64_t, eos_tokens, 64, "outputs end after so many, unless ignore_eos");
ABSL_FLAG(int64_t, max_num_batched_tokens, 8192, "tokens of a step");
ABSL_FLAG(int64_t, max_num_seqs, 256, "sequences at once");
ABSL_FLAG(int64_t, num_gpu_blocks, 65536, "of the KV cache");
ABSL_FLAG(int64_t, block_size, 16, "tokens of a block");

namespace foretoken::fake {
namespace {

absl::StatusOr<Efficiencies> StatedEfficiencies() {
  Efficiencies efficiencies = GenericServedPrior();
  for (const std::string& entry : absl::GetFlag(FLAGS_efficiencies)) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(entry, absl::MaxSplits('=', 1));
    const size_t index = FindParameter(parts.first);
    double value = 0;
    if (index == Parameters().size() || !absl::SimpleAtod(parts.second, &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--efficiencies: \"", entry, "\"; allowed: NAME=NUMBER of a parameter of the step model"));
    }
    Set(Parameters()[index], value, efficiencies);
  }
  return efficiencies;
}

FakeEndpointOptions StatedOptions() {
  const std::string name = absl::GetFlag(FLAGS_served_model);
  return {.port = absl::GetFlag(FLAGS_port),
          .served_model = name.empty() ? absl::GetFlag(FLAGS_model) : name,
          .version = absl::GetFlag(FLAGS_version),
          .max_model_len = absl::GetFlag(FLAGS_max_model_len),
          .eos_tokens = absl::GetFlag(FLAGS_eos_tokens),
          .time_scale = absl::GetFlag(FLAGS_time_scale),
          .scheduler = {.max_num_batched_tokens = absl::GetFlag(FLAGS_max_num_batched_tokens),
                        .max_num_seqs = absl::GetFlag(FLAGS_max_num_seqs),
                        .block_tokens = absl::GetFlag(FLAGS_block_size),
                        .num_gpu_blocks = absl::GetFlag(FLAGS_num_gpu_blocks)}};
}

absl::StatusOr<std::unique_ptr<FakeEndpoint>> StartStated() {
  const absl::StatusOr<Efficiencies> efficiencies = StatedEfficiencies();
  if (!efficiencies.ok()) return efficiencies.status();
  absl::StatusOr<StepModel> model =
      MakeFakeStepModel(absl::GetFlag(FLAGS_model), absl::GetFlag(FLAGS_hardware), *efficiencies);
  if (!model.ok()) return model.status();
  FakeEndpointOptions options = StatedOptions();
  if (absl::Status set = SetFaults(absl::GetFlag(FLAGS_faults), options.faults); !set.ok()) return set;
  return FakeEndpoint::Start(*std::move(model), std::move(options));
}

int Main() {
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);  // before any thread begins
  const absl::StatusOr<std::unique_ptr<FakeEndpoint>> endpoint = StartStated();
  if (!endpoint.ok()) {
    std::fprintf(stderr, "%s\n", std::string(endpoint.status().message()).c_str());
    return 2;
  }
  std::printf("%s\n", (*endpoint)->url().c_str());
  std::fflush(stdout);
  int signal = 0;
  sigwait(&stop, &signal);
  return 0;
}

}  // namespace
}  // namespace foretoken::fake

int main(int argc, char** argv) {
  absl::ParseCommandLine(argc, argv);
  return foretoken::fake::Main();
}
