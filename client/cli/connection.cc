#include "client/cli/connection.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/field_path.h"

namespace foretoken::cli {
namespace {

constexpr char kDefaultServer[] = "127.0.0.1:50051";

// Empty where it is not set.
std::string Variable(const GetEnv& getenv, const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

// Who writes: the environment, else the user at this host.
std::string AuthorOf(const GetEnv& getenv) {
  const std::string author = Variable(getenv, "FORETOKEN_AUTHOR");
  if (!author.empty()) return author;
  const char* user = getenv("USER");
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(user != nullptr ? user : "unknown", "@", host);
}

// Whether what is sent there stays on this machine.
bool IsLocal(absl::string_view server) {
  for (const char* local : {"127.", "localhost:", "[::1]:", "unix:"}) {
    if (absl::StartsWith(server, local)) return true;
  }
  return false;
}

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  absl::StripAsciiWhitespace(&line);
  if (!line.empty()) return line;
  return absl::InvalidArgumentError(absl::StrCat("--token-file ", path, ": no token in its first line"));
}

}  // namespace

void Connection::AddTo(CLI::App& app) {
  app.add_option("--server", server, absl::StrCat("Address of foretokend; default: ", kDefaultServer))
      ->type_name("HOST:PORT");
  app.add_option("--timeout", timeout, "Longest time of a call; default: 10s, of a sweep none")->type_name("TIME");
  app.add_option("--ca-file", tls.ca, "Calls over TLS: PEM authorities of the server's certificate")->type_name("FILE");
  app.add_option("--cert-file", tls.certificate, "PEM certificate to show, with --key-file")->type_name("FILE");
  app.add_option("--key-file", tls.key, "PEM key of --cert-file")->type_name("FILE");
  app.add_option("--token-file", token_file, "File whose first line is the token that opens the catalog to writes")
      ->type_name("FILE");
}

void Connection::Complete(const GetEnv& getenv) {
  const auto complete = [&](std::string& value, const char* name) {
    if (value.empty()) value = Variable(getenv, name);
  };
  complete(server, "FORETOKEN_SERVER");
  complete(tls.ca, "FORETOKEN_CA_FILE");
  complete(tls.certificate, "FORETOKEN_CERT_FILE");
  complete(tls.key, "FORETOKEN_KEY_FILE");
  complete(token_file, "FORETOKEN_TOKEN_FILE");
  if (server.empty()) server = kDefaultServer;
}

std::string Connection::Describe() const {
  return absl::StrCat(server, tls.ca.empty() ? ", in plain text" : ", over TLS");
}

absl::StatusOr<std::shared_ptr<grpc::ChannelInterface>> Connection::Dial() const { return client::Dial(server, tls); }

absl::StatusOr<client::ClientOptions> Connection::Options(const GetEnv& getenv) const {
  client::ClientOptions options;
  options.author = AuthorOf(getenv);
  if (!token_file.empty()) {
    const absl::StatusOr<std::string> token = ReadToken(token_file);
    if (!token.ok()) return token.status();
    if (tls.ca.empty() && !IsLocal(server)) {
      return absl::InvalidArgumentError(
          absl::StrCat("--token-file: ", server,
                       " is another machine, and the token would travel in plain text; allowed "
                       "with --ca-file"));
    }
    options.write_token = *token;
  }
  if (timeout.empty()) return options;
  const absl::StatusOr<double> seconds = ParseSeconds(timeout);
  if (!seconds.ok()) return absl::InvalidArgumentError(absl::StrCat("--timeout: ", seconds.status().message()));
  if (!(*seconds > 0)) return absl::InvalidArgumentError("--timeout: allowed above 0");
  options.timeout = options.sweep_timeout = absl::Seconds(*seconds);
  return options;
}

}  // namespace foretoken::cli
