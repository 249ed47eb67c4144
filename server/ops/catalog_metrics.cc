#include "server/ops/catalog_metrics.h"

#include <algorithm>
#include <string>
#include <utility>

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

template <typename Record>
void AddEntries(const char* kind, const std::vector<Record>& records, MetricFamily& family) {
  const auto registered = std::count_if(records.begin(), records.end(), [](const Record& record) {
    return record.entry.origin() == v1::ENTRY_ORIGIN_REGISTERED;
  });
  const auto bundled = static_cast<double>(records.size()) - static_cast<double>(registered);
  family.metric.push_back(Gauge(bundled, {{"kind", kind}, {"origin", "bundled"}}));
  family.metric.push_back(Gauge(static_cast<double>(registered), {{"kind", kind}, {"origin", "registered"}}));
}

}  // namespace

CatalogMetrics::CatalogMetrics(const catalog::Catalog* catalog, catalog::Catalog::Clock clock)
    : catalog_(catalog), clock_(std::move(clock)) {}

std::vector<MetricFamily> CatalogMetrics::Collect() const {
  const auto snapshot = catalog_->snapshot();
  MetricFamily entries{"foretoken_catalog_entries", "Catalog entries that calls see.", MetricType::Gauge, {}};
  AddEntries("hardware", snapshot->hardware(), entries);
  AddEntries("model", snapshot->models(), entries);
  const double staleness = std::max(0.0, absl::ToDoubleSeconds(clock_() - snapshot->loaded()));
  return {std::move(entries),
          {"foretoken_catalog_revision",
           "Revision of the store that calls see.",
           MetricType::Gauge,
           {Gauge(static_cast<double>(snapshot->revision().store_revision()))}},
          {"foretoken_catalog_staleness_seconds",
           "Time since the catalog was last known to agree with its store.",
           MetricType::Gauge,
           {Gauge(staleness)}},
          {"foretoken_catalog_skipped_entries",
           "Entries of the store that could not be read.",
           MetricType::Gauge,
           {Gauge(catalog_->skipped_entries())}}};
}

}  // namespace foretoken::ops
