#include "server/ops/catalog_metrics.h"

#include <algorithm>
#include <utility>

#include "text/printable.h"

namespace foretoken::ops {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

ClientMetric Gauge(double value, std::vector<ClientMetric::Label> labels = {}) {
  ClientMetric metric;
  metric.label = std::move(labels);
  metric.gauge.value = value;
  return metric;
}

template <typename Records>
void AddEntries(const char* kind, const Records& records, MetricFamily& family) {
  const auto registered = std::count_if(records.begin(), records.end(), [](const auto& record) {
    return record->entry.origin() == v1::ENTRY_ORIGIN_REGISTERED;
  });
  const auto bundled = static_cast<double>(records.size()) - static_cast<double>(registered);
  family.metric.push_back(Gauge(bundled, {{"kind", kind}, {"origin", "bundled"}}));
  family.metric.push_back(Gauge(static_cast<double>(registered), {{"kind", kind}, {"origin", "registered"}}));
}

MetricFamily One(const char* name, const char* help, MetricType type, double value) {
  ClientMetric metric;
  (type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  return {name, help, type, {std::move(metric)}};
}

MetricFamily Skipped(const catalog::CatalogStatus& status) {
  MetricFamily family{
      "foretoken_catalog_skipped_entry", "1 for each entry that could not be read.", MetricType::Gauge, {}};
  for (const v1::SkippedEntry& entry : status.skipped) {
    if (family.metric.size() < catalog::kMaxNamedEntries)
      family.metric.push_back(Gauge(1, {{"entry", Printable(entry.name(), Escape::kQuoted)}}));
  }
  return family;
}

}  // namespace

CatalogMetrics::CatalogMetrics(const catalog::Catalog* catalog, catalog::Catalog::Clock clock)
    : catalog_(catalog), clock_(std::move(clock)) {}

std::vector<MetricFamily> CatalogMetrics::Collect() const {
  const auto snapshot = catalog_->snapshot();
  MetricFamily entries{"foretoken_catalog_entries", "Catalog entries that calls see.", MetricType::Gauge, {}};
  AddEntries("hardware", snapshot->hardware(), entries);
  AddEntries("model", snapshot->models(), entries);
  const catalog::CatalogStatus status = catalog_->status();
  const double staleness = std::max(0.0, absl::ToDoubleSeconds(clock_() - status.agreed));
  const double error_time = status.last_error_time == absl::InfinitePast()
                                ? 0
                                : absl::ToDoubleSeconds(status.last_error_time - absl::UnixEpoch());
  return {std::move(entries),
          One("foretoken_catalog_revision", "Revision of the store that calls see.", MetricType::Gauge,
              static_cast<double>(snapshot->revision().store_revision())),
          One("foretoken_catalog_staleness_seconds", "Time since the catalog was last known to agree with its store.",
              MetricType::Gauge, staleness),
          One("foretoken_catalog_stale", "1: replies are marked as of a stale catalog.", MetricType::Gauge,
              status.stale ? 1 : 0),
          One("foretoken_catalog_store_errors_total", "Times that the store could not be asked.", MetricType::Counter,
              static_cast<double>(status.errors)),
          One("foretoken_catalog_last_error_timestamp_seconds",
              "When the store last could not be asked, since the epoch; 0: never.", MetricType::Gauge, error_time),
          One("foretoken_catalog_full_readings_total", "Times that all of the store was read.", MetricType::Counter,
              static_cast<double>(status.full_readings)),
          One("foretoken_catalog_skipped_entries", "Entries of the store that could not be read.", MetricType::Gauge,
              static_cast<double>(status.skipped.size())),
          Skipped(status)};
}

}  // namespace foretoken::ops
