#include <cstddef>
#include <cstdint>

#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  foretoken::fuzz::One({reinterpret_cast<const char*>(data), size});
  return 0;
}
