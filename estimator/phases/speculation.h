// Speculative decoding: a draft model proposes g tokens one by one, and one step of the scenario's model verifies them
// all. Such a speculative step, g cheap steps and one expensive step, gives several tokens.
//
//   accepted = (1 - x^(g+1)) / (1 - x)        tokens of a speculative step, with the model's own next; g + 1 for x = 1
//   TPOT     = (verify(g + 1 tokens) + g draft steps) / accepted
//
// x is the chance that a proposed token is accepted if all before it were. Under continuous batching the engine runs
// speculative steps (called rounds in the code), and prefills a prompt in a verification and a draft step.
//
// Leaves out: tokens of the last speculative step past the requested length, sequences of a batch that advance by
// different numbers of tokens (all advance by the mean), tree drafts.
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

// Mean tokens of a speculative step with `draft_tokens` proposed. 0.8 and 4: 3.3616. REQUIRES: acceptance from 0 to 1.
double AcceptedTokens(double acceptance, double draft_tokens);

// The deployment of the draft model. REQUIRES: scenario.speculation.
Deployment DraftDeployment(const Scenario& scenario);

// The draft model, and what a speculative step makes of it.
struct Speculator {
  StepModel draft;
  double draft_tokens = 0;
  double accepted = 1;  // tokens of a speculative step
};

// REQUIRES: scenario.speculation. Errors: kUnsupportedModel; those of MakeStepModel.
absl::StatusOr<Speculator> MakeSpeculator(const Scenario& scenario, const Efficiencies& efficiencies);

// The decode of `sequences` on one replica in speculative steps, per output token: the time of a speculative step is
// spread over the tokens that it gives. As cheap as a DecodeCurve, whatever the length.
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

// The decode of `sequences` on one replica per output token: in speculative steps with a draft model, else plain.
class TokenCurve {
 public:
  TokenCurve(const StepModel& model, const Speculator* speculator, double sequences);

  // The output token whose plain decode step would see `context` tokens.
  TimeParts Step(double context) const { return Sum(context, context); }
  TimeParts Sum(double first, double last) const;

  // REQUIRES: no draft model.
  const DecodeCurve& plain() const { return *std::get_if<DecodeCurve>(&curve_); }

 private:
  std::variant<DecodeCurve, SpeculativeCurve> curve_;
};

// Steps of the engine that give `tokens`: speculative steps, or one step a token without a draft model.
double Rounds(const Speculator* speculator, double tokens);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_SPECULATION_H_
