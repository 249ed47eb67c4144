// Parses v1.Scenario part by part, so that callers that vary one part (a batch's candidates, a sweep's axes) read the
// others once. Reading checks each part by itself; scenario_resolver.h joins the parts.
//
//   ScenarioReader reader(*snapshot, now);
//   reader.ReadAll(request.scenario(), "scenario.");
//   reader.ReadWorkload(candidate.workload(), "candidates[3].");  // the next scenario differs in this only
//
// Each part remembers the prefix of its paths, so that errors point into the request that the part came from. A prefix
// outlives the last use of the part that was read with it.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_READER_H_
#define FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_READER_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "estimator/base/errors.h"
#include "estimator/scenario/estimate.h"
#include "estimator/scenario/scenario.h"
#include "foretoken/v1/scenario.pb.h"
#include "server/catalog/entries/snapshot.h"

namespace foretoken::rpc {

// The parts of a scenario, in the order of its fields.
enum class Part { kModel, kHardware, kDeployment, kWorkload, kLiveLoad, kSlo, kMethod, kSpeculation, kDisaggregation };
inline constexpr int kNumParts = 9;

// The part that a path inside a scenario belongs to: "deployment.tensor_parallel" to the deployment.
Part PartOf(std::string_view path);

// What a request says, as valid values of the core model where it is valid.
struct ScenarioParts {
  // Models and hardware that a request spells out instead of naming an id.
  struct InlineSpecs {
    Model model;
    Hardware hardware;
    std::string hardware_vendor;
    Model draft;
    Hardware prefill_hardware;
  };

  bool IsInline(const Model* model) const { return specs != nullptr && model == &specs->model; }
  bool IsInline(const Hardware* hardware) const { return specs != nullptr && hardware == &specs->hardware; }

  std::unique_ptr<InlineSpecs> specs;            // null: none so far
  Deployment deployment;                         // as given, dtypes open
  Deployment draft_deployment;                   // likewise
  std::optional<Deployment> prefill_deployment;  // likewise; absent: the scenario's
  bool prefill_shares_hardware = false;
  std::optional<absl::Duration> live_load_age;  // absent: no load, or one that does not say when it was observed; below
                                                // zero: clocks differ
  Scenario scenario;  // what needs no other part is right once it is read; ScenarioResolver fills in the rest
};

// Not thread-safe; one per call. The snapshot outlives it.
class ScenarioReader {
 public:
  ScenarioReader(const catalog::Snapshot& snapshot, absl::Time now) : snapshot_(snapshot), now_(now) {}
  ScenarioReader(const ScenarioReader&) = delete;  // parts() points into itself
  ScenarioReader& operator=(const ScenarioReader&) = delete;

  // Reads every part. `prefix` is put before all field paths ("scenario.").
  void ReadAll(const v1::Scenario& message, std::string_view prefix);
  // Reads one part again.
  void ReadPart(Part part, const v1::Scenario& message, std::string_view prefix);

  // The parts that a batch's candidate may replace. A hardware is given by an id or by a spec.
  void ReadHardwareId(const std::string& id, std::string_view prefix);
  void ReadHardwareSpec(const v1::HardwareSpec& spec, std::string_view prefix);
  void ReadDeployment(const v1::Deployment& message, std::string_view prefix);
  void ReadWorkload(const v1::Workload& message, std::string_view prefix);
  void ReadLiveLoad(const v1::LiveLoad& message, std::string_view prefix);
  void ReadSlo(const v1::Slo& message, std::string_view prefix);

  // What was read. REQUIRES, for what a part at fault holds: Errors() is OK.
  const ScenarioParts& parts() const { return parts_; }
  // For ScenarioResolver, which completes the scenario.
  ScenarioParts& parts() { return parts_; }

  // What is wrong with one part by itself.
  const std::vector<FieldViolation>& violations(Part part) const { return State(part).violations; }
  // OK, or that the id of the model or hardware is unknown.
  const absl::Status& id_error(Part part) const { return State(part).id_error; }
  // What is wrong with any part by itself, with full paths. kInvalidField with every violation; where there is none,
  // kUnknownId naming the closest ids.
  absl::Status Errors() const;

  // The prefix that a part was read with.
  std::string_view prefix(Part part) const { return State(part).prefix; }
  // Puts the prefix of the part that each path belongs to before it, for a refusal of ComputeEstimate.
  absl::Status WithPrefix(const absl::Status& refusal) const;

  // How often any part was read, and how often the model, the hardware or the deployment was: what was derived from
  // them is good until the number changes.
  int64_t reads() const { return reads_; }
  int64_t machine_reads() const { return machine_reads_; }

  // A warning about a live load that is older than 10 s, or of a time to come.
  std::optional<Warning> StaleLoadWarning() const;

 private:
  struct PartState {
    std::string_view prefix;
    std::vector<FieldViolation> violations;
    absl::Status id_error;
  };

  PartState& Start(Part part, std::string_view prefix);
  const PartState& State(Part part) const { return states_[static_cast<size_t>(part)]; }
  ScenarioParts::InlineSpecs& Specs();
  // A model or hardware by its id, at `field`; what is wrong with the id is noted in `state`. Null: unknown.
  const Model* FindModel(const std::string& id, std::string_view field, PartState& state) const;
  const Hardware* FindHardware(const std::string& id, std::string_view field, PartState& state) const;
  void ReadModel(const v1::Scenario& message, std::string_view prefix);
  void ReadHardware(const v1::Scenario& message, std::string_view prefix);
  void ReadMethod(v1::Method method, std::string_view prefix);
  void ReadSpeculation(const v1::Scenario& message, std::string_view prefix);
  void ReadDisaggregation(const v1::Scenario& message, std::string_view prefix);
  const Model* ReadDraft(const v1::SpeculativeDecoding& message, PartState& state);
  const Hardware* ReadPrefillHardware(const v1::DisaggregatedPrefill& message, PartState& state);
  void ClearLiveLoad(std::string_view prefix);
  void ClearSlo(std::string_view prefix);

  const catalog::Snapshot& snapshot_;
  const absl::Time now_;
  std::array<PartState, kNumParts> states_;
  ScenarioParts parts_;
  int64_t reads_ = 0;
  int64_t machine_reads_ = 0;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_READER_H_
