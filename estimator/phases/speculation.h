// Speculative decoding: a draft model proposes g tokens one by one, and one step of the scenario's model verifies them
// all, so that a round of g cheap steps and one dear one gives several tokens.
//
//   accepted = (1 - x^(g+1)) / (1 - x)        tokens of a round, its own next one included; g + 1 for x = 1
//   TPOT     = (verify(g + 1 tokens) + g draft steps) / accepted
//
// Under continuous batching the engine's steps are rounds, and a prompt is mixed into a verification and a draft step.
//
// x is the chance that a drafted token is accepted if those before it were. Leaves out: the tokens of a last round past
// the wanted length, rounds of a batch that differ (each sequence advances by the mean), tree drafts.
// Source: Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding", equation 1.
#ifndef FORETOKEN_ESTIMATOR_PHASES_SPECULATION_H_
#define FORETOKEN_ESTIMATOR_PHASES_SPECULATION_H_

#include <variant>

#include "absl/status/statusor.h"
#include "estimator/phases/decode.h"
#include "estimator/scenario/efficiencies.h"
#include "estimator/scenario/scenario.h"
#include "estimator/step/step.h"
#include "estimator/step/step_model.h"

namespace foretoken {

// Mean tokens that a round of `draft_tokens` yields. 0.8 and 4: 3.3616. REQUIRES: acceptance from 0 to 1.
double AcceptedTokens(double acceptance, double draft_tokens);

// How the draft is placed. REQUIRES: scenario.speculation.
Deployment DraftDeployment(const Scenario& scenario);

// The draft, ready to be stepped.
struct Speculator {
  StepModel draft;
  double draft_tokens = 0;
  double accepted = 1;  // tokens of a round
};

// REQUIRES: scenario.speculation. Errors: kUnsupportedModel; those of MakeStepModel.
absl::StatusOr<Speculator> MakeSpeculator(const Scenario& scenario, const Efficiencies& efficiencies);

// The decode of `sequences` on one replica in rounds, per output token: every round's time is spread over the tokens
// that it yields. As cheap as a DecodeCurve, whatever the length.
class SpeculativeCurve {
 public:
  SpeculativeCurve(const StepModel& model, const Speculator& speculator, double sequences);

  // Output tokens whose plain decode steps would see first, first + 1, ..., last tokens. REQUIRES: whole numbers.
  TimeParts Sum(double first, double last) const;

  // The two parts of that sum.
  TimeParts Verify(double first, double last) const;
  TimeParts Draft(double first, double last) const;

 private:
  double draft_tokens_;
  double accepted_;
  DecodeCurve verify_;
  DecodeCurve draft_;
};

// The decode of `sequences` on one replica per output token: in rounds with a speculator, else step by step.
class TokenCurve {
 public:
  TokenCurve(const StepModel& model, const Speculator* speculator, double sequences);

  // The output token whose plain decode step would see `context` tokens.
  TimeParts Step(double context) const { return Sum(context, context); }
  TimeParts Sum(double first, double last) const;

  // REQUIRES: no speculator.
  const DecodeCurve& plain() const { return *std::get_if<DecodeCurve>(&curve_); }

 private:
  std::variant<DecodeCurve, SpeculativeCurve> curve_;
};

// Rounds that give `tokens`; one each without a speculator.
double Rounds(const Speculator* speculator, double tokens);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_SPECULATION_H_
