#include "client/cli/validation/error_summary.h"

#include <algorithm>
#include <cmath>

#include "client/cli/text/format.h"

namespace foretoken::cli {
namespace {

// Of the values that are known; NaN for none.
double Mean(const std::vector<double>& values) {
  double sum = 0;
  int count = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? kUnknown : sum / count;
}

double MeanOf(const std::vector<ErrorSummary>& groups, double ErrorSummary::*figure) {
  std::vector<double> values;
  for (const ErrorSummary& group : groups) values.push_back(group.*figure);
  return Mean(values);
}

}  // namespace

double Median(std::vector<double> values) {
  if (values.empty()) return kUnknown;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

ErrorSummary Summarize(const std::vector<Scored>& rows) {
  std::vector<double> errors, absolute, covered;
  for (const Scored& row : rows) {
    errors.push_back((row.predicted - row.measured) / row.measured);
    absolute.push_back(std::fabs(errors.back()));
    if (row.in_band.has_value()) covered.push_back(*row.in_band ? 1 : 0);
  }
  return {.rows = static_cast<int>(rows.size()),
          .median_absolute = Median(absolute),
          .mean_absolute = Mean(absolute),
          .mean_bias = Mean(errors),
          .coverage = Mean(covered)};
}

ErrorSummary MeanOver(const std::vector<ErrorSummary>& groups) {
  int rows = 0;
  for (const ErrorSummary& group : groups) rows += group.rows;
  return {.rows = rows,
          .median_absolute = MeanOf(groups, &ErrorSummary::median_absolute),
          .mean_absolute = MeanOf(groups, &ErrorSummary::mean_absolute),
          .mean_bias = MeanOf(groups, &ErrorSummary::mean_bias),
          .coverage = MeanOf(groups, &ErrorSummary::coverage)};
}

}  // namespace foretoken::cli
