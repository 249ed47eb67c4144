// What the sources here share: the function that a library has itself, behind the one that stands before it here, and
// how to tell ThreadSanitizer that one thing happened before another.
#ifndef FORETOKEN_TESTS_SANITIZERS_OWN_FUNCTION_H_
#define FORETOKEN_TESTS_SANITIZERS_OWN_FUNCTION_H_

#include <string>

// Of the sanitizer: what was released at the address, by any thread, happened before what this thread does next.
extern "C" void __tsan_acquire(void* address);
// What this thread did happened before what follows an acquire of the address.
extern "C" void __tsan_release(void* address);

namespace foretoken {

// The library's own function of this symbol, in which "@" stands for the namespace of Abseil's version. Ends the
// program where there is none.
void* OwnSymbol(std::string symbol);

template <typename Function>
Function* Own(const char* symbol) {
  return reinterpret_cast<Function*>(OwnSymbol(symbol));
}

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_SANITIZERS_OWN_FUNCTION_H_
