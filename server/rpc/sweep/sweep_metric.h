// The one table from a sweep's metric to its figure in an estimate.
#ifndef FORETOKEN_SERVER_RPC_SWEEP_SWEEP_METRIC_H_
#define FORETOKEN_SERVER_RPC_SWEEP_SWEEP_METRIC_H_

#include "estimator/methods/output_row.h"
#include "estimator/scenario/estimate.h"
#include "foretoken/v1/sweep.pb.h"

namespace foretoken::rpc {

// Reads one figure, in the unit of the metric's name; a quiet NaN where it is not known.
using FigureReader = double (*)(const Estimate&);
// Writes that figure for every point of a block.
using ColumnWriter = void (*)(const OutputRow& row, const OutputBlock& block, double* out);

// How a figure lies along a row of output lengths.
enum class RowShape { kShared, kColumn, kPerPoint };

struct MetricReader {
  FigureReader of;      // never null
  RowShape shape;       // kPerPoint: by an estimate of each point
  ColumnWriter column;  // of kColumn
};

// REQUIRES: a declared value other than METRIC_UNSPECIFIED.
const MetricReader& ReaderOf(v1::Metric metric);

}  // namespace foretoken::rpc

#endif  // FORETOKEN_SERVER_RPC_SWEEP_SWEEP_METRIC_H_
