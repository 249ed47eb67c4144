#include <cstdlib>
#include <iostream>

#include "client/cli/app.h"

int main(int argc, char** argv) {
  return foretoken::cli::RunForetoken({argv + 1, argv + argc}, std::cin, std::cout, std::cerr, std::getenv);
}
