#include "tests/sanitizers/own_function.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

#include "absl/base/config.h"

#define FORETOKEN_TEXT_OF(name) #name
#define FORETOKEN_TEXT(name) FORETOKEN_TEXT_OF(name)

namespace foretoken {

void* OwnSymbol(std::string symbol) {
  const std::string version = FORETOKEN_TEXT(ABSL_OPTION_INLINE_NAMESPACE_NAME);
  if (const size_t at = symbol.find('@'); at != std::string::npos) {
    symbol.replace(at, 1, std::to_string(version.size()) + version);
  }
  void* const found = dlsym(RTLD_NEXT, symbol.c_str());
  if (found != nullptr) return found;
  std::fprintf(stderr, "no library has %s\n", symbol.c_str());
  std::abort();
}

}  // namespace foretoken
