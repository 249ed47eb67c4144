// The command line of foretokend. Every flag may also stand in a file: --flagfile=PATH, one flag a line.
#ifndef FORETOKEN_SERVER_FLAGS_H_
#define FORETOKEN_SERVER_FLAGS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "server/catalog/store/etcd/etcd_options.h"
#include "server/catalog/store/store.h"
#include "server/ops/log.h"
#include "server/ops/tls.h"
#include "server/work/admission.h"

namespace foretoken {

// Parsed and in range. The flags' own texts (--help) say what each means.
struct ServerFlags {
  std::string listen;  // separated by commas
  std::string metrics_listen;
  bool insecure = false;
  ops::TlsFiles tls;
  std::string write_tokens_file;
  bool require_token_to_read = false;
  bool reflection = true;
  std::string catalog_dir;
  std::string catalog_store;
  catalog::EtcdOptions etcd;  // credentials alone
  catalog::StoreLimits store_limits;
  std::string check_catalog;
  int64_t max_sweep_points = 0;
  absl::Duration max_cpu_per_call;
  int max_message_bytes = 0;
  int max_concurrent_streams = 0;
  int work_threads = 0;
  work::Limits limits;  // of large calls
  std::vector<std::string> trusted_proxies;
  absl::Duration keepalive_time;
  absl::Duration keepalive_timeout;
  absl::Duration min_ping_interval;
  absl::Duration max_connection_age;
  absl::Duration max_connection_age_grace;
  int max_connections = 0;
  int max_connections_per_address = 0;
  int64_t memory_limit = 0;  // bytes
  bool serve_baseline = false;
  absl::Duration drain_grace;
  absl::Duration drain_timeout;
  absl::Duration refresh_interval;
  ops::LogFormat log_format = ops::LogFormat::kText;
  double log_calls = 0;
};

// The flags of the command line. Ends the process with 0 after --help and --version. Ends it with 2 and a message on
// stderr where a flag is unknown, malformed or out of range, where an argument is no flag, or where an address that
// other machines reach stands open.
// REQUIRES: called once, before other threads start.
ServerFlags ParseFlags(int argc, char** argv);

}  // namespace foretoken

#endif  // FORETOKEN_SERVER_FLAGS_H_
