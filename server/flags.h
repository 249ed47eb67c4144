// The command line of foretokend. Every flag may also stand in a file: --flagfile=PATH, one flag a line.
#ifndef FORETOKEN_SERVER_FLAGS_H_
#define FORETOKEN_SERVER_FLAGS_H_

#include <cstdint>
#include <string>

#include "absl/time/time.h"
#include "server/catalog/store/etcd/etcd_options.h"
#include "server/ops/tls.h"

namespace foretoken {

// Parsed and in range. The flags' own texts (--help) say what each means.
struct ServerFlags {
  std::string listen;
  std::string metrics_listen;
  ops::TlsFiles tls;
  std::string write_tokens_file;
  std::string catalog_dir;
  std::string catalog_store;
  catalog::EtcdOptions etcd;  // credentials alone
  std::string check_catalog;
  int64_t max_sweep_points = 0;
  int max_message_bytes = 0;
  int max_concurrent_streams = 0;
  int max_connections = 0;
  int max_connections_per_address = 0;
  int64_t memory_limit = 0;  // bytes
  int sweep_threads = 0;
  bool serve_baseline = false;
  absl::Duration drain_timeout;
  absl::Duration refresh_interval;
};

// Ends the process with 0 after --help and --version, and with 2 and a message on stderr where a flag is unknown,
// malformed or out of range, or an argument is no flag. REQUIRES: called once, before other threads start.
ServerFlags ParseFlags(int argc, char** argv);

}  // namespace foretoken

#endif  // FORETOKEN_SERVER_FLAGS_H_
