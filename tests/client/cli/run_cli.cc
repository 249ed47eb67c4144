#include "tests/client/cli/run_cli.h"

#include <stdlib.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "client/cli/app.h"

namespace foretoken::cli {

namespace {

// Takes nothing, as a full disk.
class FullBuffer : public std::streambuf {};

int Run(const client::FakeServer& server, const std::vector<std::string>& arguments, const std::string& input,
        std::ostream& out, std::ostream& err) {
  std::istringstream in(input);
  const std::string address = server.address();
  const auto getenv = [&address](const char* name) -> const char* {
    if (std::strcmp(name, "FORETOKEN_AUTHOR") == 0) return "tester";
    return std::strcmp(name, "FORETOKEN_SERVER") == 0 ? address.c_str() : nullptr;
  };
  return RunForetoken(arguments, in, out, err, getenv);
}

}  // namespace

CliResult RunCli(const client::FakeServer& server, const std::vector<std::string>& arguments,
                 const std::string& input) {
  std::ostringstream out, err;
  const int code = Run(server, arguments, input, out, err);
  return {code, out.str(), err.str()};
}

CliResult RunCliOnFullDisk(const client::FakeServer& server, const std::vector<std::string>& arguments) {
  FullBuffer full;
  std::ostream out(&full);
  std::ostringstream err;
  const int code = Run(server, arguments, "", out, err);
  return {code, "", err.str()};
}

TemporaryFile::TemporaryFile(const std::string& name, const std::string& text) {
  std::string pattern = (std::filesystem::temp_directory_path() / "foretoken-XXXXXX").string();
  folder_ = mkdtemp(pattern.data());
  path_ = folder_ + "/" + name;
  std::ofstream(path_) << text;
}

TemporaryFile::~TemporaryFile() { std::filesystem::remove_all(folder_); }

}  // namespace foretoken::cli
