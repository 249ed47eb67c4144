// foretokend: tells how long LLM requests will take. See --help.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "absl/flags/flag.h"
#include "absl/flags/parse.h"
#include "absl/flags/usage.h"
#include "absl/flags/usage_config.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/catalog/bundle.h"
#include "server/catalog/catalog.h"
#include "server/catalog/embedded.h"
#include "server/catalog/store_factory.h"
#include "server/ops/catalog_metrics.h"
#include "server/ops/grpc_server.h"
#include "server/ops/log.h"
#include "server/ops/metrics.h"
#include "server/ops/metrics_server.h"
#include "server/ops/signals.h"
#include "server/rpc/catalog_service.h"
#include "server/rpc/estimator_service.h"

ABSL_FLAG(std::string, listen, "127.0.0.1:50051", "address of the gRPC services; port 0 picks a free one");
ABSL_FLAG(std::string, metrics_listen, "127.0.0.1:9464", "address of /metrics over plain HTTP; empty: none");
ABSL_FLAG(std::string, catalog_dir, "", "folder of the bundled catalog; empty: the one that is compiled in");
ABSL_FLAG(std::string, catalog_store, "",
          "where registered entries live: sqlite:PATH or memory:; empty: a SQLite file under the user's state "
          "directory ($XDG_STATE_HOME or ~/.local/state)");
ABSL_FLAG(std::string, check_catalog, "", "validate the catalog in this folder, print every fault, and exit");
ABSL_FLAG(int64_t, max_sweep_points, 10'000'000, "most points of one sweep");
ABSL_FLAG(int, sweep_threads, 2, "threads that compute sweeps");
ABSL_FLAG(absl::Duration, drain_timeout, absl::Seconds(30), "how long running calls may take after SIGTERM");
ABSL_FLAG(absl::Duration, refresh_interval, absl::Seconds(1), "how often the store is asked for others' writes");

namespace foretoken {
namespace {

using ops::Log;
using ops::LogLevel;

int CheckCatalog(const std::string& dir) {
  const std::vector<std::string> faults = catalog::CheckBundle(dir);
  for (const std::string& fault : faults) std::printf("%s\n", fault.c_str());
  if (faults.empty()) std::printf("%s: no faults\n", dir.c_str());
  return faults.empty() ? 0 : 1;
}

int Fail(std::string_view event, const absl::Status& status) {
  Log(LogLevel::kError, event, {{"error", std::string(status.message())}});
  return 1;
}

absl::StatusOr<std::unique_ptr<catalog::Catalog>> OpenCatalog() {
  const std::string dir = absl::GetFlag(FLAGS_catalog_dir);
  absl::StatusOr<catalog::Bundle> bundle = dir.empty() ? catalog::LoadEmbeddedBundle() : catalog::LoadBundle(dir);
  if (!bundle.ok()) return bundle.status();
  const std::string name = absl::GetFlag(FLAGS_catalog_store);
  auto store = catalog::OpenStore(name.empty() ? catalog::DefaultStore() : name);
  if (!store.ok()) return store.status();
  return catalog::Catalog::Open(*std::move(bundle), *std::move(store), absl::Now);
}

// Asks the store for others' writes until told to stop; a store that stops answering is told once.
void KeepFresh(catalog::Catalog& catalog, absl::Notification& stop) {
  bool failed = false;
  while (!stop.WaitForNotificationWithTimeout(absl::GetFlag(FLAGS_refresh_interval))) {
    const absl::Status status = catalog.Refresh();
    if (!status.ok() && !failed) Log(LogLevel::kWarning, "catalog_stale", {{"error", std::string(status.message())}});
    if (status.ok() && failed) Log(LogLevel::kInfo, "catalog_fresh");
    failed = !status.ok();
  }
}

void LogServing(const ops::GrpcServer& server, const ops::MetricsServer* metrics, const catalog::Catalog& catalog) {
  const auto snapshot = catalog.snapshot();
  Log(LogLevel::kInfo, "serving",
      {{"address", server.address()},
       {"metrics", metrics != nullptr ? metrics->address() : "off"},
       {"hardware", absl::StrCat(snapshot->hardware().size())},
       {"models", absl::StrCat(snapshot->models().size())},
       {"bundle", snapshot->revision().bundle_digest().substr(0, 12)},
       {"store_revision", absl::StrCat(snapshot->revision().store_revision())},
       {"skipped_entries", absl::StrCat(catalog.skipped_entries())}});
}

int Serve() {
  absl::StatusOr<std::unique_ptr<catalog::Catalog>> catalog = OpenCatalog();
  if (!catalog.ok()) return Fail("catalog_unavailable", catalog.status());
  const auto metrics = std::make_shared<ops::Metrics>(FORETOKEN_VERSION);
  ops::WorkerPool large_calls(1);
  ops::WorkerPool sweeps(absl::GetFlag(FLAGS_sweep_threads), /*niceness=*/5);
  ops::WorkerPool writes(1);
  const rpc::ServiceDeps deps{.catalog = catalog->get(),
                              .clock = absl::Now,
                              .metrics = metrics.get(),
                              .large_calls = &large_calls,
                              .sweeps = &sweeps,
                              .writes = &writes,
                              .max_sweep_points = absl::GetFlag(FLAGS_max_sweep_points)};
  rpc::EstimatorService estimator(deps);
  rpc::CatalogService catalog_service(deps);

  std::unique_ptr<ops::MetricsServer> metrics_server;
  if (const std::string address = absl::GetFlag(FLAGS_metrics_listen); !address.empty()) {
    auto state = std::make_shared<ops::CatalogMetrics>(catalog->get(), absl::Now);
    auto started = ops::MetricsServer::Start(address, {metrics, state});
    if (!started.ok()) return Fail("metrics_unavailable", started.status());
    metrics_server = *std::move(started);
  }
  auto server = ops::GrpcServer::Start({.listen = absl::GetFlag(FLAGS_listen)}, {&estimator, &catalog_service});
  if (!server.ok()) return Fail("listen_failed", server.status());
  absl::Notification stop;
  std::thread refresher([&] { KeepFresh(**catalog, stop); });
  (*server)->SetServing(true);
  LogServing(**server, metrics_server.get(), **catalog);

  const std::string_view signal = ops::WaitForTerminationSignal();
  Log(LogLevel::kInfo, "draining", {{"signal", std::string(signal)}});
  (*server)->Drain(absl::GetFlag(FLAGS_drain_timeout));
  stop.Notify();
  refresher.join();
  Log(LogLevel::kInfo, "stopped");
  // Nothing is left to save, and the threads of gRPC and of the metrics library take seconds to unwind.
  std::_Exit(0);
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // 2 to 9% of a call
  absl::SetProgramUsageMessage(
      "tells how long LLM requests will take on given hardware, over gRPC.\n\nFlags may also stand in a file, one a "
      "line: --flagfile=PATH.");
  absl::FlagsUsageConfig config;
  config.version_string = [] { return std::string("foretokend " FORETOKEN_VERSION "\n"); };
  config.contains_help_flags = [](absl::string_view file) { return absl::EndsWith(file, "server/main.cc"); };
  absl::SetFlagsUsageConfig(config);
  const std::vector<char*> rest = absl::ParseCommandLine(argc, argv);
  if (rest.size() > 1) {
    std::fprintf(stderr, "foretokend: unexpected argument \"%s\"; see --help\n", rest[1]);
    return 2;
  }
  if (const std::string dir = absl::GetFlag(FLAGS_check_catalog); !dir.empty()) return foretoken::CheckCatalog(dir);
  foretoken::ops::BlockTerminationSignals();
  return foretoken::Serve();
}
