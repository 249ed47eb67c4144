// Number formats: how many bytes an element takes, and which peak rate computes with it.
#ifndef FORETOKEN_ESTIMATOR_BASE_DTYPE_H_
#define FORETOKEN_ESTIMATOR_BASE_DTYPE_H_

#include <optional>
#include <string_view>

#include "estimator/base/units.h"

namespace foretoken {

// Same order and numbers as foretoken.v1.Dtype; kUnspecified asks for the documented default.
enum class Dtype {
  kUnspecified,
  kFp32,
  kBf16,
  kFp16,
  kFp8,
  kFp8Block,
  kInt8,
  kInt4,
  kNvfp4,
  kMxfp4,
  kQ8_0,
  kQ4_0,
  kQ4_K_M,
};

// Bytes of one element, its share of block scales included: 4.5/8 for nvfp4. REQUIRES: not kUnspecified.
Bytes BytesPerElement(Dtype dtype);

// "bf16", "fp8_block", "q4_k_m", ...; "unspecified".
std::string_view DtypeName(Dtype dtype);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_BASE_DTYPE_H_
