// The command line, run in this process against a fake server.
#ifndef FORETOKEN_TESTS_CLIENT_CLI_RUN_CLI_H_
#define FORETOKEN_TESTS_CLIENT_CLI_RUN_CLI_H_

#include <string>
#include <vector>

#include "tests/client/fake_server.h"

namespace foretoken::cli {

struct CliResult {
  int code = 0;
  std::string out;
  std::string err;
};

// Runs `arguments` with FORETOKEN_SERVER naming the fake server and `in` as standard input; no locale, so plain ASCII.
CliResult RunCli(const client::FakeServer& server, const std::vector<std::string>& arguments,
                 const std::string& in = "");

// The same where standard output takes nothing.
CliResult RunCliOnFullDisk(const client::FakeServer& server, const std::vector<std::string>& arguments);

// A file in a folder of its own, gone with the object.
class TemporaryFile {
 public:
  TemporaryFile(const std::string& name, const std::string& text);
  ~TemporaryFile();
  const std::string& path() const { return path_; }

 private:
  std::string folder_;
  std::string path_;
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_TESTS_CLIENT_CLI_RUN_CLI_H_
