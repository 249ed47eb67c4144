// Turns v1.Scenario into the core model's Scenario, part by part, so that callers that vary one part (a batch's
// candidates, a sweep's axes) read the others once.
//
//   ScenarioReader reader(*snapshot, now);
//   reader.ReadAll(request.scenario(), "scenario.");
//   absl::StatusOr<const Scenario*> scenario = reader.scenario();
//   ...
//   reader.ReadWorkload(candidate.workload(), "candidates[3].");  // the next scenario differs in this only
//
// Each part remembers the prefix of its paths, so errors point into the request that it came from: a prefix stays valid
// and as it is until the part is read again.
#ifndef FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_READER_H_
#define FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_READER_H_

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "estimator/base/errors.h"
#include "estimator/methods/estimator.h"
#include "estimator/methods/output_row.h"
#include "estimator/methods/step_model_cache.h"
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

// Not thread-safe; one per call. The snapshot outlives it.
class ScenarioReader {
 public:
  ScenarioReader(const catalog::Snapshot& snapshot, absl::Time now) : snapshot_(snapshot), now_(now) {}
  ScenarioReader(const ScenarioReader&) = delete;  // scenario() points into the reader
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

  // What was read; valid until the next Read. Everything in it is valid and resolved.
  //
  // Errors: kInvalidField with every violation; kUnknownId naming the closest ids.
  absl::StatusOr<const Scenario*> scenario();

  // The estimate of what was read, into `estimate`, whatever it held. What consecutive scenarios share is derived once.
  //
  // Errors: those of scenario(); those of ComputeEstimate, with full paths.
  absl::Status Estimate(const Detail& detail, foretoken::Estimate& estimate);

  // Makes `row` what was read as a row of output lengths; nothing where it cannot be one. Valid until the next Read.
  void MakeRow(std::optional<OutputRow>& row);

  // What Estimate or scenario() last succeeded with.
  const Scenario& resolved() const { return scenario_; }

  // What was read of the SLO, whatever is wrong elsewhere.
  const std::optional<Slo>& slo() const { return scenario_.slo; }

  // Puts the prefix of the part that each path belongs to before it, for a refusal of ComputeEstimate.
  absl::Status WithPrefix(const absl::Status& refusal) const;

  // What is wrong with one part by itself.
  const std::vector<FieldViolation>& violations(Part part) const { return State(part).violations; }
  // OK, or that the id of the model or hardware is unknown.
  const absl::Status& id_error(Part part) const { return State(part).id_error; }

  // Age of the live load; absent: no load, or it does not tell when it was observed.
  std::optional<absl::Duration> live_load_age() const { return live_load_age_; }
  // A warning about a live load that is older than 10 s.
  std::optional<Warning> StaleLoadWarning() const;

 private:
  // What was given by its spec instead of an id.
  struct Inline {
    Model model;
    Hardware hardware;
    Model draft;
    Hardware prefill_hardware;
  };
  struct PartState {
    std::string_view prefix;
    std::vector<FieldViolation> violations;
    absl::Status id_error;
  };

  PartState& Start(Part part, std::string_view prefix);
  Inline& Specs();
  const PartState& State(Part part) const { return parts_[static_cast<size_t>(part)]; }
  // A model or hardware by its id or its spec, at `field`; what is wrong with it is noted in `state`. Null: unknown.
  const Model* FindModel(const std::string& id, std::string_view field, PartState& state) const;
  const Hardware* FindHardware(const std::string& id, std::string_view field, PartState& state) const;
  static void ParseModel(const v1::ModelSpec& spec, std::string_view field, PartState& state, Model& model);
  static void ParseHardware(const v1::HardwareSpec& spec, std::string_view field, PartState& state, Hardware& hardware);
  void ReadSpeculation(const v1::Scenario& message, std::string_view prefix);
  void ReadDisaggregation(const v1::Scenario& message, std::string_view prefix);
  // Fills in what the parts take from each other.
  void Resolve();
  void ResolveMachine();
  // What is wrong with parts only together.
  std::vector<FieldViolation> Contradictions() const;
  void AddDraftContradictions(std::vector<FieldViolation>& violations) const;
  void ReadModel(const v1::Scenario& message, std::string_view prefix);
  void ReadHardware(const v1::Scenario& message, std::string_view prefix);
  void ReadMethod(v1::Method method, std::string_view prefix);
  void ClearLiveLoad(std::string_view prefix);
  void ClearSlo(std::string_view prefix);
  absl::Status Errors() const;

  const catalog::Snapshot& snapshot_;
  absl::Time now_;
  std::array<PartState, kNumParts> parts_;
  std::unique_ptr<Inline> inline_;  // null: none so far
  Deployment deployment_;           // as given; scenario_ has it with its dtypes resolved
  Deployment draft_deployment_;
  std::optional<Deployment> prefill_deployment_;  // absent: deployment_
  bool prefill_shares_hardware_ = false;
  bool resolved_ = false;
  bool machine_changed_ = true;       // model, hardware or deployment, since the last Resolve
  bool calibrated_for_load_ = false;  // what scenario_'s calibration was looked up for
  std::optional<absl::Duration> live_load_age_;
  Scenario scenario_;
  StepModelMemo derived_;
};

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_ESTIMATE_SCENARIO_READER_H_
