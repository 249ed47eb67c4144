// Results of InferenceX (InferenceMAX): one object a run, or an array of them, with times in seconds. Its lengths are
// those of the longest request. Neither the shortest nor the number of requests is told.
#include "client/cli/import/formats.h"
#include "client/cli/import/served_fields.h"

namespace foretoken::cli {
namespace {

constexpr char kTwoPools[] = "a row is of one deployment";

void ReadOneDeployment(FieldReader& fields, ImportedRun& run) {
  v1::Deployment& deployment = *run.sample.mutable_deployment();
  if (const auto tp = fields.Count("tp", 1)) deployment.set_tensor_parallel(*tp);
  if (const auto ep = fields.Count("ep", 1)) deployment.set_expert_parallel(*ep);
  if (const auto tokens = fields.Count("max_num_batched_tokens", 1)) deployment.set_prefill_chunk_tokens(*tokens);
  // fp8 and fp4 have scales of blocks or not, which the file does not say.
  run.weights = fields.Text("precision");
  if (run.weights == "bf16") deployment.set_weight_dtype(v1::DTYPE_BF16);
  if (run.weights == "fp16") deployment.set_weight_dtype(v1::DTYPE_FP16);
}

}  // namespace

void ReadInferencex(FieldReader& fields, ImportedRun& run) {
  run.hardware = fields.Text("hw");
  run.model = fields.Text("model");
  run.framework = fields.Text("framework");
  ReadOneDeployment(fields, run);
  run.sample.set_batching_policy(v1::BATCHING_POLICY_CONTINUOUS);
  if (const auto concurrency = fields.Count("conc", 1)) run.sample.set_batch_size(*concurrency);
  if (const auto prompt = fields.Count("isl", 1)) run.sample.set_prompt_tokens(*prompt);
  if (const auto output = fields.Count("osl", 1)) run.sample.set_output_tokens(*output);
  run.lengths_are_longest = fields.Has("isl") && fields.Has("osl");
  ReadNamedTimes("e2el", "", 1, fields, run);
  fields.MustBeOff("disagg", kTwoPools);
  fields.MustBeOff("is_multinode", kTwoPools);
  fields.MustBeOff("spec_decoding", "a row has no column for speculative decoding");
  fields.MustBeOff("dp_attention", "--dp states the replicas of the attention");
}

}  // namespace foretoken::cli
