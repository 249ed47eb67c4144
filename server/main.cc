// foretokend: the server that predicts how long LLM requests take. See --help.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/bundle.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/store_factory.h"
#include "server/catalog/store/store_fault.h"
#include "server/flags.h"
#include "server/ops/catalog_metrics.h"
#include "server/ops/descriptors.h"
#include "server/ops/grpc_server.h"
#include "server/ops/guard_metrics.h"
#include "server/ops/log.h"
#include "server/ops/metrics.h"
#include "server/ops/metrics_server.h"
#include "server/ops/process/certificate_metrics.h"
#include "server/ops/process/library_log.h"
#include "server/ops/process/process_metrics.h"
#include "server/ops/signals.h"
#include "server/ops/write_tokens.h"
#include "server/rpc/baseline_service.h"
#include "server/rpc/catalog_service.h"
#include "server/rpc/estimator_service.h"
#include "server/rpc/wire/call_log.h"
#include "server/work/fair_scheduler.h"
#include "server/work/work_metrics.h"

namespace foretoken {
namespace {

using ops::Log;
using ops::LogLevel;

// The name under which the health service reports the store. The server serves without a store.
constexpr char kStoreHealth[] = "foretoken.catalog.store";

// Calls that wait for the store at once.
constexpr int kStoreThreads = 8;

int CheckCatalog(const std::string& dir) {
  const std::vector<std::string> faults = catalog::CheckBundle(dir);
  for (const std::string& fault : faults) std::printf("%s\n", fault.c_str());
  if (faults.empty()) std::printf("%s: no faults\n", dir.c_str());
  return faults.empty() ? 0 : 1;
}

int Fail(std::string_view event, const absl::Status& status) {
  Log(LogLevel::kError, event, {{"error", catalog::TextInside(status)}});
  return 1;
}

std::string StoreOf(const ServerFlags& flags) {
  return flags.catalog_store.empty() ? catalog::DefaultStore() : flags.catalog_store;
}

absl::StatusOr<std::unique_ptr<catalog::Catalog>> OpenCatalog(const ServerFlags& flags) {
  absl::StatusOr<catalog::Bundle> bundle =
      flags.catalog_dir.empty() ? catalog::LoadEmbeddedBundle() : catalog::LoadBundle(flags.catalog_dir);
  if (!bundle.ok()) return bundle.status();
  auto store = catalog::OpenStore(StoreOf(flags), flags.etcd, flags.store_limits);
  if (!store.ok()) return store.status();
  return catalog::Catalog::Open(*std::move(bundle), *std::move(store), absl::Now);
}

// None where no file is named: anyone may write.
absl::StatusOr<std::unique_ptr<ops::WriteTokens>> OpenWriteTokens(const std::string& file) {
  if (file.empty()) return nullptr;
  auto tokens = std::make_unique<ops::WriteTokens>(file);
  if (absl::Status status = tokens->Check(); !status.ok()) return status;
  return tokens;
}

// What was said of the catalog already, so that each thing is said once.
class CatalogLog {
 public:
  void Tell(const absl::Status& status, const catalog::Catalog& catalog) {
    if (!status.ok() && !failed_) {
      Log(LogLevel::kWarning, "store_unreachable", {{"error", catalog::TextInside(status)}});
    }
    if (status.ok() && failed_) Log(LogLevel::kInfo, "store_reached");
    failed_ = !status.ok();
    const catalog::CatalogStatus now = catalog.status();
    if (now.stale && !stale_) Log(LogLevel::kWarning, "catalog_stale", {{"error", now.last_error}});
    if (!now.stale && stale_) Log(LogLevel::kInfo, "catalog_fresh");
    stale_ = now.stale;
    TellSkipped(now);
  }

 private:
  void TellSkipped(const catalog::CatalogStatus& now) {
    std::set<std::pair<std::string, int64_t>> skipped;
    for (const v1::SkippedEntry& entry : now.skipped) {
      const std::pair key(entry.name(), entry.store_revision());
      skipped.insert(key);
      if (skipped_.contains(key)) continue;
      Log(LogLevel::kWarning, "entry_skipped",
          {{"entry", entry.name()},
           {"store_revision", absl::StrCat(entry.store_revision())},
           {"reason", entry.reason()}});
    }
    skipped_ = std::move(skipped);
  }

  bool failed_ = false;
  bool stale_ = false;
  std::set<std::pair<std::string, int64_t>> skipped_;
};

// Follows the store, when it reports changes or after `interval`, until `stop`.
void KeepFresh(catalog::Catalog& catalog, absl::Duration interval, ops::GrpcServer& server, absl::Notification& stop) {
  CatalogLog log;
  while (!stop.HasBeenNotified()) {
    log.Tell(catalog.Refresh(), catalog);
    server.SetServing(kStoreHealth, !catalog.status().stale);
    catalog.WaitForChange(interval);
  }
}

// What --insecure leaves open, so that nobody finds it out later.
void WarnOfOpenDoors(const ServerFlags& flags) {
  if (!flags.insecure) return;
  Log(LogLevel::kWarning, "insecure",
      {{"traffic", flags.tls.certificate.empty() ? "in plain text" : "over TLS"},
       {"writes", flags.write_tokens_file.empty() ? "by anyone" : "with a token"}});
}

void LogServing(const ops::GrpcServer& server, const ops::MetricsServer* metrics, const std::string& store,
                const catalog::Catalog& catalog) {
  const auto snapshot = catalog.snapshot();
  Log(LogLevel::kInfo, "serving",
      {{"address", server.address()},
       {"metrics", metrics != nullptr ? metrics->address() : "off"},
       {"hardware", absl::StrCat(snapshot->hardware().size())},
       {"models", absl::StrCat(snapshot->models().size())},
       {"bundle", snapshot->revision().bundle_digest().substr(0, 12)},
       {"store", store},
       {"store_revision", absl::StrCat(snapshot->revision().store_revision())},
       {"skipped_entries", absl::StrCat(catalog.status().skipped.size())}});
}

// No metrics where no address is asked for.
absl::StatusOr<std::unique_ptr<ops::MetricsServer>> ServeMetrics(const ServerFlags& flags,
                                                                 std::shared_ptr<ops::Metrics> metrics,
                                                                 const catalog::Catalog& catalog,
                                                                 std::vector<const work::FairScheduler*> schedulers) {
  if (flags.metrics_listen.empty()) return nullptr;
  auto certificates = std::make_shared<ops::CertificateMetrics>(
      std::vector<ops::CertificateFile>{{.use = "server", .path = flags.tls.certificate},
                                        {.use = "client_ca", .path = flags.tls.client_ca},
                                        {.use = "etcd_client", .path = flags.etcd.cert_file},
                                        {.use = "etcd_ca", .path = flags.etcd.ca_file}});
  return ops::MetricsServer::Start(flags.metrics_listen,
                                   {std::move(metrics), std::make_shared<ops::CatalogMetrics>(&catalog, absl::Now),
                                    std::make_shared<ops::ProcessMetrics>(), std::move(certificates),
                                    std::make_shared<work::WorkMetrics>(std::move(schedulers))});
}

// Serves until a signal comes, then lets running calls end.
void ServeUntilSignal(const ServerFlags& flags, ops::GrpcServer& server, const ops::MetricsServer* metrics,
                      catalog::Catalog& catalog) {
  absl::Notification stop;
  std::thread refresher([&] { KeepFresh(catalog, flags.refresh_interval, server, stop); });
  server.SetServing(true);
  WarnOfOpenDoors(flags);
  LogServing(server, metrics, StoreOf(flags), catalog);
  const std::string_view signal = ops::WaitForTerminationSignal();
  Log(LogLevel::kInfo, "draining",
      {{"signal", std::string(signal)}, {"grace", absl::FormatDuration(flags.drain_grace)}});
  server.Drain(flags.drain_timeout, flags.drain_grace);
  stop.Notify();
  catalog.Wake();
  refresher.join();
  Log(LogLevel::kInfo, "stopped");
}

ops::GrpcServerOptions OptionsOf(const ServerFlags& flags,
                                 const std::shared_ptr<grpc::ServerCredentials>& credentials) {
  return {.listen = flags.listen,
          .credentials = flags.tls.certificate.empty() ? nullptr : credentials,
          .max_message_bytes = flags.max_message_bytes,
          .max_concurrent_streams = flags.max_concurrent_streams,
          .memory_limit = flags.memory_limit,
          .max_connections = flags.max_connections,
          .max_connections_per_address = flags.max_connections_per_address,
          .keepalive_time = flags.keepalive_time,
          .keepalive_timeout = flags.keepalive_timeout,
          .min_ping_interval = flags.min_ping_interval,
          .max_connection_age = flags.max_connection_age,
          .max_connection_age_grace = flags.max_connection_age_grace,
          .reflection = flags.reflection};
}

int Serve(const ServerFlags& flags) {
  const auto credentials = ops::ServerCredentialsOf(flags.tls);
  if (!credentials.ok()) return Fail("tls_unavailable", credentials.status());
  const auto write_tokens = OpenWriteTokens(flags.write_tokens_file);
  if (!write_tokens.ok()) return Fail("write_tokens_unavailable", write_tokens.status());
  absl::StatusOr<std::unique_ptr<catalog::Catalog>> catalog = OpenCatalog(flags);
  if (!catalog.ok()) return Fail("catalog_unavailable", catalog.status());
  const auto metrics = std::make_shared<ops::Metrics>(FORETOKEN_VERSION);
  work::FairScheduler work({.name = "compute", .slots = flags.work_threads, .niceness = 5, .limits = flags.limits});
  work::FairScheduler writes({.name = "store", .slots = kStoreThreads, .limits = flags.limits});
  const rpc::CallerNames caller_names(write_tokens->get(), flags.trusted_proxies);
  const rpc::ServiceDeps deps{.catalog = catalog->get(),
                              .clock = absl::Now,
                              .metrics = metrics.get(),
                              .work = &work,
                              .writes = &writes,
                              .caller_names = &caller_names,
                              .write_tokens = write_tokens->get(),
                              .require_token_to_read = flags.require_token_to_read,
                              .max_sweep_points = flags.max_sweep_points,
                              .max_cpu_per_call = flags.max_cpu_per_call};
  rpc::EstimatorService estimator_service(deps);
  rpc::CatalogService catalog_service(deps);
  rpc::BaselineService baseline_service;
  std::vector<grpc::Service*> services = {&estimator_service, &catalog_service};
  if (flags.serve_baseline) services.push_back(&baseline_service);
  const auto metrics_server = ServeMetrics(flags, metrics, **catalog, {&work, &writes});
  if (!metrics_server.ok()) return Fail("metrics_unavailable", metrics_server.status());
  const auto server = ops::GrpcServer::Start(OptionsOf(flags, *credentials), services);
  if (!server.ok()) return Fail("listen_failed", server.status());
  if (*metrics_server != nullptr) (*metrics_server)->Add(std::make_shared<ops::GuardMetrics>(server->get()));
  ServeUntilSignal(flags, **server, metrics_server->get(), **catalog);
  // Nothing is left to save, and the threads of gRPC and of the metrics library take seconds to unwind.
  std::_Exit(0);
}

}  // namespace
}  // namespace foretoken

int main(int argc, char** argv) {
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);  // 2 to 9% of a call
  const foretoken::ServerFlags flags = foretoken::ParseFlags(argc, argv);
  foretoken::ops::SetLogFormat(flags.log_format);
  foretoken::ops::LogOfLibraries();
  foretoken::rpc::SetLoggedShare(flags.log_calls);
  if (!flags.check_catalog.empty()) return foretoken::CheckCatalog(flags.check_catalog);
  foretoken::ops::BlockTerminationSignals();
  foretoken::ops::RaiseDescriptorLimit();
  return foretoken::Serve(flags);
}
