#include "estimator/base/dtype.h"

#include <array>
#include <cstddef>

namespace foretoken {
namespace {

struct Format {
  std::string_view name;
  double bytes = 0;
};

// Indexed by Dtype. The bytes of a block format contain an element's share of the block's scale.
constexpr std::array<Format, 13> kFormats = {{
    {"unspecified", 0},
    {"fp32", 4},
    {"bf16", 2},
    {"fp16", 2},
    {"fp8", 1},
    {"fp8_block", 1},  // one fp32 scale per 128 x 128 elements: 2.4e-4 of a byte each, left out
    {"int8", 1},
    {"int4", 0.5},
    {"nvfp4", 4.5 / 8},   // 16 elements of 4 bits share a scale of 8
    {"mxfp4", 4.25 / 8},  // 32 elements of 4 bits share a scale of 8
    {"q8_0", 8.5 / 8},    // 32 elements of 8 bits share a scale of 16
    {"q4_0", 4.5 / 8},    // 32 elements of 4 bits share a scale of 16
    {"q4_k_m", 4.85 / 8}  // a mixture; llama.cpp's own mean over Llama models
}};

const Format& FormatOf(Dtype dtype) { return kFormats[static_cast<size_t>(dtype)]; }

}  // namespace

Bytes BytesPerElement(Dtype dtype) { return Bytes(FormatOf(dtype).bytes); }

std::string_view DtypeName(Dtype dtype) { return FormatOf(dtype).name; }

}  // namespace foretoken
