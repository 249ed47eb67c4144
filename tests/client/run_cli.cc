#include "tests/client/run_cli.h"

#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/cli/app.h"

namespace foretoken::cli {

CliResult RunCli(const client::FakeServer& server, const std::vector<std::string>& arguments,
                 const std::string& input) {
  std::istringstream in(input);
  std::ostringstream out, err;
  const std::string address = server.address();
  const auto getenv = [&address](const char* name) -> const char* {
    if (std::strcmp(name, "FORETOKEN_AUTHOR") == 0) return "tester";
    return std::strcmp(name, "FORETOKEN_SERVER") == 0 ? address.c_str() : nullptr;
  };
  const int code = RunForetoken(arguments, in, out, err, getenv);
  return {code, out.str(), err.str()};
}

TemporaryFile::TemporaryFile(const std::string& name, const std::string& text) {
  std::string pattern = (std::filesystem::temp_directory_path() / "foretoken-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  path_ = folder_ + "/" + name;
  std::ofstream(path_) << text;
}

TemporaryFile::~TemporaryFile() { std::filesystem::remove_all(folder_); }

}  // namespace foretoken::cli
