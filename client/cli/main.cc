#include <cstdlib>
#include <iostream>

#include "client/cli/app.h"

int main(int argc, char** argv) {
  // A text goes out in one write, so that a reader which stops early (`| head`) has got all of it already.
  std::ios::sync_with_stdio(false);
  return foretoken::cli::RunForetoken({argv + 1, argv + argc}, std::cin, std::cout, std::cerr, std::getenv);
}
