// What a layer of a mixed model is, for the slow oracle.
#ifndef FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_MIXED_H_
#define FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_MIXED_H_

#include "tests/estimator/slow_oracle.h"

namespace foretoken {

// Which kinds the layers are of is all that counts: the first ones have attention, the last ones recurrence, and the
// first ones an MLP.
struct SlowOracle::Mixer {
  bool attention = false, recurrence = false, windowed = false, shares_keys = false, indexed = false;
  bool sparse_entries = false, heavy_entries = false;
  bool dense = false, wide = false, experts = false;

  auto operator<=>(const Mixer&) const = default;
};

// What a token sees and at what price.
struct SlowOracle::Sight {
  double window = 0;       // positions; 0: all
  bool chooses = false;    // anywhere in the context
  double compression = 1;  // tokens of a position
  double prefill_dims = 0, decode_dims = 0;
  double elements = 0;  // of a position
  bool matrix_units = false;
};

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_ESTIMATOR_SLOW_ORACLE_MIXED_H_
