// Where tests find files of the project, and what was built.
#ifndef FORETOKEN_TESTS_PATHS_H_
#define FORETOKEN_TESTS_PATHS_H_

#include <string>
#include <string_view>

namespace foretoken {

// The absolute path of a file or folder of the source tree. Example: SourcePath("tests/golden/llm_simulator.json")
std::string SourcePath(std::string_view relative);

// The descriptor set that ships.
std::string DescriptorSetPath();

}  // namespace foretoken

#endif  // FORETOKEN_TESTS_PATHS_H_
