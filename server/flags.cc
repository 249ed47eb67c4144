#include "server/flags.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "absl/flags/flag.h"
#include "absl/flags/marshalling.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "server/guard/memory_limit.h"
#include "server/rpc/wire/caller_names.h"

ABSL_FLAG(
    std::string, listen, "127.0.0.1:50051",
    "addresses of the gRPC services, separated by commas: HOST:PORT, where port 0 picks a free one, and unix:PATH");
ABSL_FLAG(bool, insecure, false,
          "listen on addresses that other machines reach without TLS, or without --write_tokens_file");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9464", "address of /metrics over plain HTTP; empty: none");
ABSL_FLAG(std::string, tls_cert_file, "", "PEM certificate of the gRPC services, with its chain; empty: plain text");
ABSL_FLAG(std::string, tls_key_file, "", "PEM key of --tls_cert_file");
ABSL_FLAG(std::string, tls_client_ca_file, "",
          "PEM authorities; every caller must show a certificate of one of them; empty: callers show none");
ABSL_FLAG(std::string, write_tokens_file, "",
          "who may call, a name, a token and a role (read, write, admin) a line; empty: anyone may do everything");
ABSL_FLAG(bool, require_token_to_read, false, "answer those alone who send a token of --write_tokens_file");
ABSL_FLAG(bool, reflection, true, "tell any caller what services and messages there are (gRPC server reflection)");
ABSL_FLAG(std::string, catalog_dir, "", "folder of the bundled catalog; empty: the one that is compiled in");
ABSL_FLAG(std::string, catalog_store, "",
          "where registered entries live: sqlite:PATH, etcd:HOST:PORT[,HOST:PORT...][/PREFIX] or memory:; empty: a "
          "SQLite file under the user's state directory ($XDG_STATE_HOME or ~/.local/state)");
ABSL_FLAG(std::string, etcd_ca_file, "", "PEM certificates that etcd's are checked against; empty: no TLS");
ABSL_FLAG(std::string, etcd_cert_file, "", "PEM certificate that etcd is shown; empty: none");
ABSL_FLAG(std::string, etcd_key_file, "", "PEM key of --etcd_cert_file");
ABSL_FLAG(std::string, etcd_user, "", "user of etcd; empty: none");
ABSL_FLAG(std::string, etcd_password_file, "", "file with the password of --etcd_user in its first line");
ABSL_FLAG(int64_t, max_store_entries, foretoken::catalog::StoreLimits{}.max_entries, "most registered entries");
ABSL_FLAG(int64_t, max_store_bytes, foretoken::catalog::StoreLimits{}.max_bytes,
          "most bytes of registered entries, with their kept revisions");
ABSL_FLAG(std::string, check_catalog, "", "validate the catalog in this folder, print every fault, and exit");
ABSL_FLAG(int64_t, max_sweep_points, 10'000'000, "most points of one sweep");
ABSL_FLAG(absl::Duration, max_cpu_per_call, absl::Seconds(200), "most CPU time of one sweep, batch or search");
ABSL_FLAG(int, max_message_bytes, 4 << 20, "largest request, bytes");
ABSL_FLAG(int, max_concurrent_streams, 100, "most calls at once on one connection");
ABSL_FLAG(int, work_threads, 0, "large calls that compute at once; 0: as many as there are cores, at least 2");
ABSL_RETIRED_FLAG(int, sweep_threads, 2, "see --work_threads");
ABSL_FLAG(absl::Duration, max_queue_wait, absl::Seconds(10), "a large call that would wait longer is refused at once");
ABSL_FLAG(int, max_large_calls, 4000, "most large calls at once");
ABSL_FLAG(int, max_large_calls_per_caller, 1000, "most large calls of one caller at once");
ABSL_FLAG(int64_t, max_large_call_bytes, 512 << 20, "most bytes of memory of their requests");
ABSL_FLAG(int64_t, max_large_call_bytes_per_caller, 128 << 20, "most bytes of memory of the requests of one caller");
ABSL_FLAG(std::string, trusted_proxies, "",
          "addresses of proxies, comma-separated, whose x-forwarded-for names the caller; unix: who calls by a socket");
ABSL_FLAG(absl::Duration, keepalive_time, absl::Seconds(60), "an idle connection is pinged this often");
ABSL_FLAG(absl::Duration, keepalive_timeout, absl::Seconds(20), "how long the answer to such a ping may take");
ABSL_FLAG(absl::Duration, min_ping_interval, absl::Seconds(10), "a client that pings more often is cut off");
ABSL_FLAG(absl::Duration, max_connection_age, absl::ZeroDuration(),
          "a client is told to connect anew after this time, give or take a tenth; 0: never");
ABSL_FLAG(absl::Duration, max_connection_age_grace, absl::Hours(1), "how long its open calls may take from then on");
ABSL_FLAG(int, max_connections, 4096, "most connections at once; fewer where the process has fewer file descriptors");
ABSL_FLAG(int, max_connections_per_address, 1024, "most connections at once from one address");
ABSL_FLAG(int64_t, memory_limit, 0,
          "bytes of memory that the process stays below; 0: 1 GiB, or three quarters of the container's or machine's "
          "memory where that is less");
ABSL_FLAG(bool, serve_baseline, false, "also serve the empty calls that tests/bench compares with");
ABSL_FLAG(absl::Duration, drain_grace, absl::ZeroDuration(),
          "how long calls are taken on after SIGTERM, while health says NOT_SERVING; 5s behind a load balancer");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(30), "how long running calls may take after that");
ABSL_FLAG(absl::Duration, refresh_interval, absl::Milliseconds(250), "how often the store is asked for others' writes");

ABSL_FLAG(std::string, log_format, "text", "of the log on stderr: text (key=value) or json");
ABSL_FLAG(double, log_calls, 0,
          "share of the calls that is logged, 0 to 1; writes and faults of the server always are");

namespace foretoken {
namespace {

constexpr int kBadFlags = 2;

bool parsing = false;
bool help_asked = false;

// The flag library ends the process with 1 both for a bad flag and for --help. Shells expect 2 and 0, so its exit is
// caught here while parsing lasts.
void CorrectExitCode(int code, void*) {
  if (!parsing || code != 1) return;
  std::fflush(nullptr);
  std::_Exit(help_asked ? 0 : kBadFlags);
}

void Describe() {
  absl::SetProgramUsageMessage(
      "tells how long LLM requests will take on given hardware, over gRPC.\n\nFlags may also stand in a file, one a "
      "line: --flagfile=PATH.");
  absl::FlagsUsageConfig config;
  config.version_string = [] { return std::string("foretokend " FORETOKEN_VERSION "\n"); };
  config.contains_help_flags = [](absl::string_view file) { return absl::EndsWith(file, "server/flags.cc"); };
  absl::SetFlagsUsageConfig(config);
}

[[noreturn]] void Refuse(const std::string& message) {
  std::fprintf(stderr, "foretokend: %s\n", message.c_str());
  std::exit(kBadFlags);
}

template <typename T>
T InRange(const absl::Flag<T>& flag, T low, T high) {
  const T value = absl::GetFlag(flag);
  if (value >= low && value <= high) return value;
  Refuse(absl::StrCat("--", absl::GetFlagReflectionHandle(flag).Name(), "=", absl::UnparseFlag<T>(value), "; allowed ",
                      absl::UnparseFlag<T>(low), " to ", absl::UnparseFlag<T>(high)));
}

int64_t MemoryLimit() {
  constexpr int64_t kLeast = int64_t{128} << 20;  // five times what an idle server takes
  const int64_t asked = InRange<int64_t>(FLAGS_memory_limit, 0, int64_t{1} << 50);
  if (asked == 0) return std::max(kLeast, guard::DefaultMemoryLimit());
  return InRange<int64_t>(FLAGS_memory_limit, kLeast, int64_t{1} << 50);
}

// HOST:PORT, or where `sockets` a path behind "unix:". What the libraries make of anything else is not what was meant:
// a port is taken modulo 65,536, a lone number is a port on every interface, an address without one is on port 443.
bool IsAddress(absl::string_view text, bool sockets) {
  if (sockets && absl::StartsWith(text, "unix:")) return text.size() > 5;
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return false;
  const absl::string_view host = text.substr(0, colon);
  const absl::string_view port = text.substr(colon + 1);
  const bool bracketed = absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (host.find(':') != absl::string_view::npos && !bracketed) return false;
  int number = 0;
  const bool digits = port.find_first_not_of("0123456789") == absl::string_view::npos;
  return digits && absl::SimpleAtoi(port, &number) && number <= 65'535;
}

[[noreturn]] void RefuseAddress(absl::string_view flag, absl::string_view value, bool sockets) {
  Refuse(absl::StrCat("--", flag, "=", value,
                      "; allowed HOST:PORT with a port of 0 to 65535, an IPv6 address in brackets",
                      sockets ? ", or unix:PATH; several are separated by commas" : "; empty: none"));
}

std::string MetricsAddress() {
  std::string value = absl::GetFlag(FLAGS_metrics_listen);
  if (!value.empty() && !IsAddress(value, /*sockets=*/false)) RefuseAddress("metrics_listen", value, /*sockets=*/false);
  return value;
}

// Every address of --listen.
std::string Addresses() {
  const std::string value = absl::GetFlag(FLAGS_listen);
  for (const absl::string_view address : absl::StrSplit(value, ',')) {
    if (!IsAddress(address, /*sockets=*/true)) RefuseAddress("listen", value, /*sockets=*/true);
  }
  return value;
}

// Whether this machine alone can connect to the address.
bool IsLocal(absl::string_view address) {
  if (absl::StartsWith(address, "unix:")) return true;
  const std::string host = absl::AsciiStrToLower(address.substr(0, address.rfind(':')));
  in_addr number;
  const bool loopback = inet_pton(AF_INET, host.c_str(), &number) == 1 && ntohl(number.s_addr) >> 24 == 127;
  return loopback || host == "localhost" || host == "[::1]";
}

// Whoever reaches an address of other machines could read along and write, unless TLS and tokens stand in between.
void CheckExposed(const ServerFlags& flags) {
  if (flags.insecure) return;
  const bool encrypted = !flags.tls.certificate.empty();
  const bool guarded = !flags.write_tokens_file.empty();
  for (const absl::string_view address : absl::StrSplit(flags.listen, ',')) {
    if (IsLocal(address) || (encrypted && guarded)) continue;
    Refuse(absl::StrCat("--listen=", address, " is open to other machines; allowed with ",
                        encrypted ? "" : "--tls_cert_file and --tls_key_file",
                        encrypted || guarded ? "" : ", and with ", guarded ? "" : "--write_tokens_file",
                        "; or with --insecure, where anyone who reaches it may do everything. Without these flags an "
                        "address of 127.0.0.1, [::1], localhost or unix:PATH is allowed"));
  }
}

ops::LogFormat ReadLogFormat() {
  const std::string format = absl::GetFlag(FLAGS_log_format);
  if (format == "text") return ops::LogFormat::kText;
  if (format == "json") return ops::LogFormat::kJson;
  Refuse(absl::StrCat("--log_format=", format, "; allowed text, json"));
}

// As many as there are cores, so that idle ones help; two, so that a fit leaves one to others.
int WorkThreads() {
  const int asked = InRange(FLAGS_work_threads, 0, 1024);
  return asked > 0 ? asked : std::max(2, static_cast<int>(std::thread::hardware_concurrency()));
}

work::Limits LimitsOfWork() {
  constexpr int64_t kMostBytes = int64_t{1} << 40;
  return {.max_wait = InRange(FLAGS_max_queue_wait, absl::Milliseconds(10), absl::Hours(1)),
          .max_jobs = InRange(FLAGS_max_large_calls, 1, 1'000'000),
          .max_jobs_of_caller = InRange(FLAGS_max_large_calls_per_caller, 1, 1'000'000),
          .max_bytes = InRange<int64_t>(FLAGS_max_large_call_bytes, 1 << 20, kMostBytes),
          .max_bytes_of_caller = InRange<int64_t>(FLAGS_max_large_call_bytes_per_caller, 1 << 20, kMostBytes)};
}

std::vector<std::string> TrustedProxies() {
  std::vector<std::string> proxies;
  for (const absl::string_view text : absl::StrSplit(absl::GetFlag(FLAGS_trusted_proxies), ',', absl::SkipEmpty())) {
    const std::string name = rpc::NameOfAddress(std::string(text));
    if (name.empty()) Refuse(absl::StrCat("--trusted_proxies: ", text, "; allowed IPv4 and IPv6 addresses, and unix"));
    proxies.push_back(name);
  }
  return proxies;
}

void Parse(int argc, char** argv) {
  Describe();
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    help_asked = help_asked || argument.starts_with("--help") || argument.starts_with("-help");
  }
  parsing = true;
  on_exit(CorrectExitCode, nullptr);
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  parsing = false;
  if (rest.size() > 1) Refuse(absl::StrCat("unexpected argument \"", rest[1], "\"; see --help"));
}

ServerFlags ReadFlags() {
  return {
      .listen = Addresses(),
      .metrics_listen = MetricsAddress(),
      .insecure = absl::GetFlag(FLAGS_insecure),
      .tls = {.certificate = absl::GetFlag(FLAGS_tls_cert_file),
              .key = absl::GetFlag(FLAGS_tls_key_file),
              .client_ca = absl::GetFlag(FLAGS_tls_client_ca_file)},
      .write_tokens_file = absl::GetFlag(FLAGS_write_tokens_file),
      .require_token_to_read = absl::GetFlag(FLAGS_require_token_to_read),
      .reflection = absl::GetFlag(FLAGS_reflection),
      .catalog_dir = absl::GetFlag(FLAGS_catalog_dir),
      .catalog_store = absl::GetFlag(FLAGS_catalog_store),
      .etcd = {.endpoints = {},
               .ca_file = absl::GetFlag(FLAGS_etcd_ca_file),
               .cert_file = absl::GetFlag(FLAGS_etcd_cert_file),
               .key_file = absl::GetFlag(FLAGS_etcd_key_file),
               .user = absl::GetFlag(FLAGS_etcd_user),
               .password_file = absl::GetFlag(FLAGS_etcd_password_file)},
      .store_limits = {.max_entries = InRange<int64_t>(FLAGS_max_store_entries, 1, 10'000'000),
                       .max_bytes = InRange<int64_t>(FLAGS_max_store_bytes, 1 << 20, int64_t{1} << 40)},
      .check_catalog = absl::GetFlag(FLAGS_check_catalog),
      .max_sweep_points = InRange<int64_t>(FLAGS_max_sweep_points, 1, 1'000'000'000'000),
      .max_cpu_per_call = InRange(FLAGS_max_cpu_per_call, absl::Milliseconds(1), absl::Hours(24)),
      .max_message_bytes = InRange(FLAGS_max_message_bytes, 1 << 16, 1 << 30),
      .max_concurrent_streams = InRange(FLAGS_max_concurrent_streams, 1, 1 << 20),
      .work_threads = WorkThreads(),
      .limits = LimitsOfWork(),
      .trusted_proxies = TrustedProxies(),
      .keepalive_time = InRange(FLAGS_keepalive_time, absl::Seconds(1), absl::Hours(24)),
      .keepalive_timeout = InRange(FLAGS_keepalive_timeout, absl::Seconds(1), absl::Hours(1)),
      .min_ping_interval = InRange(FLAGS_min_ping_interval, absl::ZeroDuration(), absl::Hours(1)),
      .max_connection_age = InRange(FLAGS_max_connection_age, absl::ZeroDuration(), absl::Hours(24 * 7)),
      .max_connection_age_grace = InRange(FLAGS_max_connection_age_grace, absl::Seconds(1), absl::Hours(24 * 7)),
      .max_connections = InRange(FLAGS_max_connections, 1, 1 << 20),
      .max_connections_per_address = InRange(FLAGS_max_connections_per_address, 1, 1 << 20),
      .memory_limit = MemoryLimit(),
      .serve_baseline = absl::GetFlag(FLAGS_serve_baseline),
      .drain_grace = InRange(FLAGS_drain_grace, absl::ZeroDuration(), absl::Hours(1)),
      .drain_timeout = InRange(FLAGS_drain_timeout, absl::ZeroDuration(), absl::Hours(1)),
      .refresh_interval = InRange(FLAGS_refresh_interval, absl::Milliseconds(10), absl::Hours(1)),
      .log_format = ReadLogFormat(),
      .log_calls = InRange(FLAGS_log_calls, 0.0, 1.0),
  };
}

}  // namespace

ServerFlags ParseFlags(int argc, char** argv) {
  Parse(argc, argv);
  ServerFlags flags = ReadFlags();
  if (flags.require_token_to_read && flags.write_tokens_file.empty()) {
    Refuse("--require_token_to_read goes with --write_tokens_file, which is absent");
  }
  CheckExposed(flags);
  return flags;
}

}  // namespace foretoken
