// The catalog's state for Prometheus, read from its snapshot at each scrape.
#ifndef FORETOKEN_SERVER_OPS_CATALOG_METRICS_H_
#define FORETOKEN_SERVER_OPS_CATALOG_METRICS_H_

#include <vector>

#include "prometheus/collectable.h"
#include "prometheus/metric_family.h"
#include "server/catalog/catalog.h"

namespace foretoken::ops {

// Thread-safe. The catalog outlives it.
class CatalogMetrics : public prometheus::Collectable {
 public:
  CatalogMetrics(const catalog::Catalog* catalog, catalog::Catalog::Clock clock);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  const catalog::Catalog* catalog_;
  catalog::Catalog::Clock clock_;
};

}  // namespace foretoken::ops

#endif  // FORETOKEN_SERVER_OPS_CATALOG_METRICS_H_
