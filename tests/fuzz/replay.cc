// Runs every file of the folders that it is given through the fuzzer's function. It ends with 1 where there is none.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include "tests/fuzz/fuzz.h"

int main(int argc, char** argv) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  for (const std::filesystem::path& path : files) {
    std::printf("%s\n", path.filename().c_str());
    std::fflush(stdout);  // the last one named is the one that ended the process
    std::ostringstream contents;
    contents << std::ifstream(path, std::ios::binary).rdbuf();
    foretoken::fuzz::One(contents.str());
  }
  return files.empty() ? 1 : 0;
}
