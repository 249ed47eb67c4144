// Which fault of tests/mutation/faults.txt a process of the faulty copy of this tree has: FORETOKEN_FAULT, its number.
// tests/mutation/mutate.py includes this header in the files that it changes; nothing else does.
#ifndef FORETOKEN_TESTS_MUTATION_FAULT_H_
#define FORETOKEN_TESTS_MUTATION_FAULT_H_

#include <cstdlib>

namespace foretoken::mutation {

inline bool Has(int fault) {
  static const int chosen = [] {
    const char* number = std::getenv("FORETOKEN_FAULT");
    return number == nullptr ? 0 : std::atoi(number);
  }();
  return chosen == fault;
}

}  // namespace foretoken::mutation

#endif  // FORETOKEN_TESTS_MUTATION_FAULT_H_
