// What the fuzzers of this folder have in common. Each NAME_fuzz.cc defines One. With clang and FORETOKEN_FUZZ it is a
// libFuzzer; in every other build a program that runs the files of corpus/NAME through it, as a test.
#ifndef FORETOKEN_TESTS_FUZZ_FUZZ_H_
#define FORETOKEN_TESTS_FUZZ_FUZZ_H_

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "absl/time/time.h"

namespace foretoken::fuzz {

inline const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

// Takes one input. What must not happen ends the process.
void One(std::string_view input);

inline void Require(bool holds, const char* otherwise) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", otherwise);
  std::abort();
}

}  // namespace foretoken::fuzz

#endif  // FORETOKEN_TESTS_FUZZ_FUZZ_H_
