#include "client/cli/profile/setup.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace foretoken::cli {
namespace {

// A limit of the deployment that the endpoint may tell, and the flag that gives it.
struct Limit {
  Fact fact;
  const char* flag;
  bool (v1::Deployment::*has)() const;
  void (v1::Deployment::*set)(int32_t);
};

constexpr Limit kLimits[] = {
    {Fact::kTensorParallel, "--tp", &v1::Deployment::has_tensor_parallel, &v1::Deployment::set_tensor_parallel},
    {Fact::kMaxNumSeqs, "--max-running", &v1::Deployment::has_max_num_seqs, &v1::Deployment::set_max_num_seqs},
    {Fact::kBatchedTokens, "--chunk", &v1::Deployment::has_prefill_chunk_tokens,
     &v1::Deployment::set_prefill_chunk_tokens},
};

absl::Status SetEngine(const ServerFacts& facts, v1::Deployment& deployment) {
  if (!deployment.engine().empty()) return absl::OkStatus();
  const std::string engine = facts.Text(Fact::kEngine);
  if (engine.empty()) {
    return absl::InvalidArgumentError(
        "--engine is missing: the endpoint does not tell which engine it is; for "
        "example vllm@0.12.0");
  }
  const std::string version = facts.Text(Fact::kVersion);
  deployment.set_engine(version.empty() ? engine : absl::StrCat(engine, "@", version));
  return absl::OkStatus();
}

void SetLimits(const ServerFacts& facts, Setup& setup) {
  v1::Deployment& deployment = *setup.base.mutable_deployment();
  for (const Limit& limit : kLimits) {
    if ((deployment.*limit.has)()) continue;
    if (const int value = facts.Number(limit.fact); value > 0) {
      (deployment.*limit.set)(value);
    } else {
      setup.absent.push_back(absl::StrCat(NameOf(limit.fact), " (", limit.flag, ")"));
    }
  }
}

absl::StatusOr<std::string> ServedModel(const std::string& asked, const ServerFacts& facts) {
  if (asked.empty() && facts.models.size() == 1) return facts.models.front();
  const bool known = std::find(facts.models.begin(), facts.models.end(), asked) != facts.models.end();
  if (known) return asked;
  return absl::InvalidArgumentError(absl::StrCat(
      "--served-model: \"", asked, "\"; allowed, as the endpoint serves them: ", absl::StrJoin(facts.models, ", ")));
}

absl::Status CheckQuestion(const v1::Scenario& base) {
  std::vector<std::string> missing;
  if (base.model_case() == v1::Scenario::MODEL_NOT_SET) missing.push_back("MODEL");
  if (base.hardware_case() == v1::Scenario::HARDWARE_NOT_SET) missing.push_back("HARDWARE, or --spec");
  if (missing.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("missing: ", absl::StrJoin(missing, " and ")));
}

}  // namespace

absl::StatusOr<Setup> Complete(v1::Scenario base, const std::string& served_model, const ServerFacts& facts) {
  Setup setup{.base = std::move(base)};
  if (absl::Status status = CheckQuestion(setup.base); !status.ok()) return status;
  absl::StatusOr<std::string> served = ServedModel(served_model, facts);
  if (!served.ok()) return served.status();
  setup.served_model = *std::move(served);
  if (absl::Status status = SetEngine(facts, *setup.base.mutable_deployment()); !status.ok()) return status;
  SetLimits(facts, setup);
  setup.longest_sequence = facts.Number(Fact::kMaxModelLen);
  for (const auto& [fact, known] : facts.facts) {
    setup.told.push_back(absl::StrCat(NameOf(fact), " ", known.value, " (", known.source, ")"));
  }
  const v1::Scenario& done = setup.base;
  setup.system = {.hardware_id = done.has_hardware_spec() ? done.hardware_spec().id() : done.hardware_id(),
                  .model_id = done.model_id(),
                  .deployment = done.deployment()};
  return setup;
}

}  // namespace foretoken::cli
