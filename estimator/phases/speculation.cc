#include "estimator/phases/speculation.h"

#include <cmath>

#include "estimator/phases/quadrature.h"
#include "estimator/step/step_model.h"

namespace foretoken {

double AcceptedTokens(double acceptance, double draft_tokens) {
  if (acceptance >= 1) return draft_tokens + 1;
  return (1 - std::pow(acceptance, draft_tokens + 1)) / (1 - acceptance);
}

Deployment DraftDeployment(const Scenario& scenario) {
  Deployment deployment = scenario.speculation->deployment;
  if (!scenario.speculation->follows) return deployment;
  Parallelism& parallelism = deployment;
  parallelism = scenario.deployment;
  return deployment;
}

absl::StatusOr<Speculator> MakeSpeculator(const Scenario& scenario, const Efficiencies& efficiencies) {
  const Speculation& speculation = *scenario.speculation;
  absl::Status supported = CheckSupported(*speculation.draft, "speculative_decoding.draft_model_id");
  if (!supported.ok()) return supported;
  Scenario draft = scenario;
  draft.model = speculation.draft;
  draft.deployment = DraftDeployment(scenario);
  absl::StatusOr<StepModel> model = MakeStepModel(draft, efficiencies, nullptr);
  if (!model.ok()) return model.status();
  model->efficiencies.admission = model->efficiencies.admission_per_request =
      Seconds(0);  // spent once, by the model itself
  const double tokens = speculation.draft_tokens;
  return Speculator{
      .draft = *std::move(model), .draft_tokens = tokens, .accepted = AcceptedTokens(speculation.acceptance, tokens)};
}

SpeculativeCurve::SpeculativeCurve(const StepModel& model, const Speculator& speculator, double sequences)
    : draft_tokens_(speculator.draft_tokens),
      accepted_(speculator.accepted),
      verify_(model, sequences, speculator.draft_tokens + 1),
      draft_(speculator.draft, sequences) {}

TimeParts SpeculativeCurve::Verify(double first, double last) const {
  return verify_.Sum(first + draft_tokens_, last + draft_tokens_) * (1 / accepted_);
}

TimeParts SpeculativeCurve::Draft(double first, double last) const {
  constexpr Fineness kDrafts = {.slow = 8, .panels = 1};  // the sums differ in the context alone, by a token
  const auto draft = [&](double i) { return draft_.Sum(first + i, last + i); };
  return PanelSum(draft, 0, draft_tokens_ - 1, kDrafts) * (1 / accepted_);
}

TimeParts SpeculativeCurve::Sum(double first, double last) const { return Verify(first, last) + Draft(first, last); }

TokenCurve::TokenCurve(const StepModel& model, const Speculator* speculator, double sequences)
    : curve_(DecodeCurve(model, sequences)) {
  if (speculator != nullptr) curve_ = SpeculativeCurve(model, *speculator, sequences);
}

TimeParts TokenCurve::Sum(double first, double last) const {
  return std::visit([&](const auto& curve) { return curve.Sum(first, last); }, curve_);
}

double Rounds(const Speculator* speculator, double tokens) {
  return speculator != nullptr ? tokens / speculator->accepted : tokens;
}

}  // namespace foretoken
