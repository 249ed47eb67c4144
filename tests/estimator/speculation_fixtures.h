// A draft model, and scenarios that use one.
#ifndef FORETOKEN_TESTS_ESTIMATOR_SPECULATION_FIXTURES_H_
#define FORETOKEN_TESTS_ESTIMATOR_SPECULATION_FIXTURES_H_

#include "tests/estimator/fixtures.h"

namespace foretoken {

// A tenth of Llama-2-7B.
inline Model TinyDraft() {
  return {.id = "draft",
          .num_hidden_layers = 12,
          .hidden_size = 1024,
          .num_attention_heads = 16,
          .num_key_value_heads = 4,
          .head_dim = 64,
          .intermediate_size = 4096,
          .vocab_size = 32000};
}

inline Scenario Speculative(const Model& model, const Model& draft, const Hardware& hardware, int tokens,
                            double acceptance) {
  Scenario scenario = MakeScenario(model, hardware, 4, 100, 2);
  scenario.speculation = Speculation{.draft = &draft, .draft_tokens = tokens, .acceptance = acceptance};
  ResolveDtypes(draft, scenario.speculation->deployment);
  return scenario;
}

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_SPECULATION_FIXTURES_H_
