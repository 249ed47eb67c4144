#include "client/cli/commands/connection.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/cli/scenario/field_path.h"

namespace foretoken::cli {
namespace {

constexpr char kDefaultServer[] = "127.0.0.1:50051";

// Empty if it is not set.
std::string Variable(const GetEnv& getenv, const char* name) {
  const char* value = getenv(name);
  return value != nullptr ? value : "";
}

// The author of writes: from the environment, else USER@HOST.
std::string AuthorOf(const GetEnv& getenv) {
  const std::string author = Variable(getenv, "FORETOKEN_AUTHOR");
  if (!author.empty()) return author;
  const char* user = getenv("USER");
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return absl::StrCat(user != nullptr ? user : "unknown", "@", host);
}

// Whether the server is on this machine. REQUIRES: no proxy in between.
bool IsLocal(const std::string& server) {
  const std::string host = absl::AsciiStrToLower(server.substr(0, server.rfind(':')));
  in_addr address;
  const bool loopback = inet_pton(AF_INET, host.c_str(), &address) == 1 && ntohl(address.s_addr) >> 24 == 127;
  return loopback || host == "localhost" || host == "[::1]" || absl::StartsWith(server, "unix:");
}

constexpr size_t kLongestToken = 512;

absl::StatusOr<std::string> ReadToken(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read"));
  absl::StripAsciiWhitespace(&line);
  const bool printable = std::all_of(line.begin(), line.end(), absl::ascii_isgraph);
  if (printable && !line.empty() && line.size() <= kLongestToken) return line;
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": allowed in its first line: a token of up to ", kLongestToken, " printable characters"));
}

}  // namespace

void Connection::AddTo(CLI::App& app) {
  app.add_option("--server", server, absl::StrCat("Address of foretokend; default: ", kDefaultServer))
      ->type_name("HOST:PORT");
  app.add_option("--timeout", timeout, "Time limit of a call; default: 10s, none for a sweep")->type_name("TIME");
  app.add_option("--ca-file", tls.ca, "Use TLS: PEM file of the authorities that sign the server's certificate")
      ->type_name("FILE");
  app.add_option("--cert-file", tls.certificate, "PEM certificate of this client, with --key-file")->type_name("FILE");
  app.add_option("--key-file", tls.key, "PEM key of --cert-file")->type_name("FILE");
  app.add_option("--token-file", token_file, "File whose first line is the token that the server asks for")
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
  token_from_environment = token_file.empty();
  complete(token_file, "FORETOKEN_TOKEN_FILE");
  if (server.empty()) server = kDefaultServer;
}

std::string Connection::Describe() const {
  return absl::StrCat(server, tls.ca.empty() ? ", in plain text" : ", over TLS");
}

absl::StatusOr<std::shared_ptr<grpc::ChannelInterface>> Connection::Dial() const { return client::Dial(server, tls); }

absl::StatusOr<std::string> Connection::Token() const {
  if (token_file.empty()) return std::string();
  if (!tls.ca.empty() || IsLocal(server)) return ReadToken(token_file);
  return absl::InvalidArgumentError(
      absl::StrCat(token_file, ": ", server,
                   " is another machine, and the token would be sent in plain text; allowed with --ca-file"));
}

std::string Connection::TokenAdvice() const {
  if (token_file.empty()) return "--token-file names the file of a token";
  const absl::StatusOr<std::string> token = Token();
  return token.ok() ? absl::StrCat("the token came from ", token_file) : std::string(token.status().message());
}

absl::StatusOr<client::ClientOptions> Connection::Options(const GetEnv& getenv) const {
  client::ClientOptions options;
  options.author = AuthorOf(getenv);
  // The environment names its file for every command: an error in it is reported only if a write is denied.
  if (absl::StatusOr<std::string> token = Token(); token.ok()) {
    options.write_token = *std::move(token);
  } else if (!token_from_environment) {
    return token.status();
  }
  if (timeout.empty()) return options;
  const absl::StatusOr<double> seconds = ParseSeconds(timeout);
  if (!seconds.ok()) return absl::InvalidArgumentError(absl::StrCat("--timeout: ", seconds.status().message()));
  if (!(*seconds > 0)) return absl::InvalidArgumentError("--timeout: allowed above 0");
  options.timeout = options.sweep_timeout = absl::Seconds(*seconds);
  return options;
}

}  // namespace foretoken::cli
