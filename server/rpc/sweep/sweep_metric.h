// Where a sweep's metric stands in an estimate: one named row a metric (sweep_metric.cc). A metric without a row does
// not compile.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_SWEEP_METRIC_H_
#define FORETOKEN_SERVER_RPC_SWEEP_SWEEP_METRIC_H_

#include "estimator/methods/output_row.h"
#include "estimator/scenario/estimate.h"
#include "foretoken/v1/sweep.pb.h"

namespace foretoken::rpc {

// Reads one metric in the unit of its name; a quiet NaN where the value is not known.
using ValueReader = double (*)(const Estimate&);
// Writes the metric for every point of a block.
using ColumnWriter = void (*)(const OutputRow& row, const OutputBlock& block, double* out);

// How a metric varies along a row of output lengths.
enum class RowShape {
  kShared,    // one value for the whole row
  kColumn,    // a value per point, which the row computes as a column
  kPerPoint,  // a value per point, read from an estimate of each point
};

struct MetricReader {
  ValueReader of = nullptr;  // null for METRIC_UNSPECIFIED only
  RowShape shape = RowShape::kShared;
  ColumnWriter column = nullptr;  // null unless kColumn
};

// REQUIRES: a declared value other than METRIC_UNSPECIFIED.
const MetricReader& ReaderOf(v1::Metric metric);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_SWEEP_METRIC_H_
