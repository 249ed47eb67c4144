#include "tests/paths.h"

namespace foretoken {

std::string SourcePath(std::string_view relative) { return std::string(FORETOKEN_SOURCE_DIR "/").append(relative); }

std::string DescriptorSetPath() { return FORETOKEN_DESCRIPTOR_SET; }

}  // namespace foretoken
