// The one table from a sweep's metric to its figure in an estimate.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_METRIC_H_
#define FORETOKEN_SERVER_RPC_SWEEP_METRIC_H_

#include "estimator/estimate.h"
#include "foretoken/v1/sweep.pb.h"

namespace foretoken::rpc {

// Reads one figure, in the unit of the metric's name; a quiet NaN where it is not known.
using MetricReader = double (*)(const Estimate&);

// Never null. REQUIRES: a declared value other than METRIC_UNSPECIFIED.
MetricReader ReaderOf(v1::Metric metric);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_METRIC_H_
