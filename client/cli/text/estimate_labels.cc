// The short lines around an estimate: title, provenance, footer.
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "client/cli/text/enum_text.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

void AddDegree(std::vector<std::string>& parts, const char* name, bool present, int degree) {
  if (present) parts.push_back(absl::StrCat(name, " ", degree));
}

std::string DeploymentText(const v1::Deployment& deployment) {
  std::vector<std::string> parts;
  AddDegree(parts, "tp", deployment.has_tensor_parallel(), deployment.tensor_parallel());
  AddDegree(parts, "pp", deployment.has_pipeline_parallel(), deployment.pipeline_parallel());
  AddDegree(parts, "ep", deployment.has_expert_parallel(), deployment.expert_parallel());
  AddDegree(parts, "dp", deployment.has_data_parallel(), deployment.data_parallel());
  if (deployment.weight_dtype() != v1::DTYPE_UNSPECIFIED) {
    parts.push_back(absl::StrCat(EnumText(deployment.weight_dtype()), " weights"));
  }
  if (deployment.kv_cache_dtype() != v1::DTYPE_UNSPECIFIED) {
    parts.push_back(absl::StrCat(EnumText(deployment.kv_cache_dtype()), " KV cache"));
  }
  if (!deployment.engine().empty()) parts.push_back(deployment.engine());
  return parts.empty() ? "" : absl::StrCat(", ", absl::StrJoin(parts, ", "));
}

// The draft model and the prefill pool.
std::string SecondaryTitle(const v1::Scenario& scenario) {
  std::string text;
  if (scenario.has_speculative_decoding()) {
    const v1::SpeculativeDecoding& s = scenario.speculative_decoding();
    absl::StrAppend(&text, ", ", s.draft_tokens(), " tokens drafted by ",
                    s.has_draft_model_id() ? s.draft_model_id() : "an inline model");
  }
  if (scenario.has_disaggregated_prefill()) {
    const v1::DisaggregatedPrefill& d = scenario.disaggregated_prefill();
    absl::StrAppend(&text, ", prefilled on ", d.has_prefill_replicas() ? d.prefill_replicas() : 1, " x ",
                    d.has_hardware_id()     ? d.hardware_id()
                    : d.has_hardware_spec() ? "inline hardware"
                                            : "the same");
  }
  return text;
}

std::string OutputText(const v1::Workload& workload) {
  if (!workload.has_output_length_distribution()) {
    return absl::StrCat(FormatCount(workload.output_tokens()), " output tokens");
  }
  return absl::StrCat(FormatCount(workload.output_length_distribution().mean_tokens()), " output tokens on average");
}

std::string WorkloadText(const v1::Workload& workload) {
  std::vector<std::string> parts;
  const bool open = workload.has_request_rate_per_second();
  if (workload.has_batch_size() || !open) {
    parts.push_back(absl::StrCat("batch ", FormatCount(workload.has_batch_size() ? workload.batch_size() : 1)));
  }
  parts.push_back(absl::StrCat(FormatCount(workload.prompt_tokens()), " prompt tokens"));
  parts.push_back(OutputText(workload));
  if (workload.has_cached_prefix_tokens()) {
    parts.push_back(absl::StrCat(FormatCount(workload.cached_prefix_tokens()), " cached"));
  }
  if (workload.batching_policy() != v1::BATCHING_POLICY_UNSPECIFIED) {
    parts.push_back(absl::StrCat(EnumText(workload.batching_policy()), " batching"));
  }
  if (open) parts.push_back(absl::StrCat(FormatCount(workload.request_rate_per_second()), " requests/s"));
  return absl::StrJoin(parts, ", ");
}

std::string AgeText(const google::protobuf::Duration& age) {
  const double seconds = static_cast<double>(age.seconds());
  return seconds >= 86400 ? absl::StrCat(FormatCount(seconds / 86400), " days") : FormatSeconds(seconds);
}

}  // namespace

std::string ModelName(const v1::Scenario& scenario) {
  if (!scenario.has_model_spec()) return scenario.model_id();
  return scenario.model_spec().id().empty() ? "inline model" : scenario.model_spec().id();
}

std::string HardwareName(const v1::Scenario& scenario) {
  if (!scenario.has_hardware_spec()) return scenario.hardware_id();
  return scenario.hardware_spec().id().empty() ? "inline hardware" : scenario.hardware_spec().id();
}

std::string ScenarioTitle(const v1::Scenario& scenario, const Terminal& terminal) {
  const std::string hardware = HardwareName(scenario);
  return absl::StrCat(terminal.Paint(ModelName(scenario), Look::kBold), hardware.empty() ? "" : " on ",
                      terminal.Paint(hardware, Look::kBold), client::Printable(DeploymentText(scenario.deployment())),
                      client::Printable(SecondaryTitle(scenario)), "\n", WorkloadText(scenario.workload()),
                      scenario.has_live_load() ? ", under live load\n" : "\n");
}

std::string ProvenanceText(const v1::Estimate& estimate) {
  std::vector<std::string> texts;
  for (const v1::Phase& phase : {estimate.prefill(), estimate.decode()}) {
    const std::string text = absl::AsciiStrToUpper(EnumText(phase.provenance()));
    const bool skip = phase.provenance() == v1::PROVENANCE_UNSPECIFIED || (!texts.empty() && texts[0] == text);
    if (!skip) texts.push_back(text);
  }
  return absl::StrJoin(texts, "/");
}

std::string TimeText(const google::protobuf::Timestamp& time) {
  return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixSeconds(time.seconds()), absl::UTCTimeZone());
}

std::string RevisionText(const v1::CatalogRevision& revision) {
  const std::string digest = client::Printable(revision.bundle_digest().substr(0, 12));
  const std::string stale = revision.has_stale_since() ? absl::StrCat(", STALE: the store has not answered since ",
                                                                      TimeText(revision.stale_since()))
                                                       : "";
  return absl::StrCat("catalog ", digest.empty() ? "unknown" : digest, " revision ", revision.store_revision(), stale);
}

std::string Footer(const v1::Estimate& estimate, const v1::CatalogRevision& revision, const Terminal& terminal) {
  std::vector<std::string> parts = {EnumText(estimate.method())};
  const std::string provenance = ProvenanceText(estimate);
  parts.push_back(provenance.empty() ? "provenance unknown" : provenance);
  if (!estimate.calibration_id().empty()) parts.push_back(absl::StrCat("calibration ", estimate.calibration_id()));
  if (estimate.has_calibration_age()) parts.push_back(absl::StrCat("age ", AgeText(estimate.calibration_age())));
  if (estimate.has_live_load_age())
    parts.push_back(absl::StrCat("load observed ", AgeText(estimate.live_load_age()), " ago"));
  parts.push_back(RevisionText(revision));
  return absl::StrCat("\n", terminal.Paint(absl::StrJoin(parts, ", "), Look::kDim), "\n");
}

}  // namespace foretoken::cli
