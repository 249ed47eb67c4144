#include "estimator/simulation/step_clock.h"

namespace foretoken {

void PromptWork::Add(double new_tokens, double cached, bool is_last) {
  chunks += 1;
  last += is_last ? 1 : 0;
  tokens += new_tokens;
  prior += cached;
  pairs += new_tokens * cached + new_tokens * (new_tokens + 1) / 2;
}

double StepClock::Decode(int64_t sequences, double context) {
  const auto index = static_cast<size_t>(sequences);
  if (index >= curves_.size()) curves_.resize(index + 1);
  if (curves_[index] == nullptr) {
    curves_[index] = std::make_unique<const DecodeCurve>(model_, static_cast<double>(sequences));
  }
  return curves_[index]->Step(context).Total().value();
}

// From m n = tokens, m p = prior and m (n p + n(n+1)/2) = pairs follows n = (2 pairs - tokens)/(2 prior + tokens).
double StepClock::Mixed(const PromptWork& prompts, int64_t sequences, double context) const {
  const double n = (2 * prompts.pairs - prompts.tokens) / (2 * prompts.prior + prompts.tokens);
  const double m = prompts.tokens / n;
  const auto decodes = static_cast<double>(sequences);
  return StepTime(model_, {.decode_sequences = decodes,
                           .decode_context = context,
                           .prefill_sequences = m,
                           .prefill_tokens = n,
                           .prefill_prior = prompts.prior / m,
                           .logits_rows = prompts.last + decodes})
      .Total()
      .value();
}

}  // namespace foretoken
