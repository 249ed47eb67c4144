#include "estimator/simulation/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace foretoken {
namespace {

constexpr size_t kFewest = 2 * kBatches;

// Standard error of the mean of one number for each batch.
template <typename Of>
double ErrorOfBatches(double mean, const Of& of) {
  double squares = 0;
  for (size_t b = 0; b < kBatches; ++b) squares += (of(b) - mean) * (of(b) - mean);
  return std::sqrt(squares / (kBatches * (kBatches - 1)));
}

// A number of each batch, summed over its values and divided by their count.
template <typename Of>
double BatchMean(const std::vector<double>& values, size_t batch, const Of& of) {
  const size_t first = batch * values.size() / kBatches;
  const size_t end = (batch + 1) * values.size() / kBatches;
  double sum = 0;
  for (size_t i = first; i < end; ++i) sum += of(values[i]);
  return sum / static_cast<double>(end - first);
}

SimulatedValue MeanOf(const std::vector<double>& values) {
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  if (values.size() < kFewest) return {.value = mean};
  const auto itself = [](double value) { return value; };
  return {.value = mean, .error = ErrorOfBatches(mean, [&](size_t b) { return BatchMean(values, b, itself); })};
}

SimulatedValue QuantileWithError(const std::vector<double>& values, const std::vector<double>& sorted, double p) {
  const double at = QuantileOf(sorted, p);
  if (values.size() < kFewest) return {.value = at};
  // Of equal values, each batch would count more than p: then the estimate has no spread.
  const auto below = [at](double value) { return value <= at ? 1.0 : 0.0; };
  double all = 0;
  for (size_t b = 0; b < kBatches; ++b) all += BatchMean(values, b, below) / kBatches;
  const double off = ErrorOfBatches(all, [&](size_t b) { return BatchMean(values, b, below); });
  const double low = QuantileOf(sorted, std::max(0.0, p - off));
  const double high = QuantileOf(sorted, std::min(1.0, p + off));
  return {.value = at, .error = (high - low) / 2};
}

}  // namespace

double QuantileOf(const std::vector<double>& sorted, double p) {
  const double place = p * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(place);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (place - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

std::optional<SimulatedTimes> TimesOf(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const auto quantile = [&](double p) { return QuantileWithError(values, sorted, p); };
  return SimulatedTimes{
      .mean = MeanOf(values), .p50 = quantile(0.5), .p90 = quantile(0.9), .p95 = quantile(0.95), .p99 = quantile(0.99)};
}

GapCounts::GapCounts() {
  for (Batch& batch : batches_) batch.bins.assign(kBins, 0);
}

size_t GapCounts::BinOf(double seconds) {
  int exponent = 0;
  const double fraction = std::frexp(std::max(seconds, std::ldexp(1.0, kLowest)), &exponent);  // 1/2 to 1
  const int within = static_cast<int>((fraction - 0.5) * 2 * kPerOctave);
  return std::min(static_cast<size_t>((exponent - 1 - kLowest) * kPerOctave + within), kBins - 1);
}

double GapCounts::LowOf(size_t bin) {
  const auto octave = static_cast<int>(bin / kPerOctave);
  return std::ldexp(1 + static_cast<double>(bin % kPerOctave) / kPerOctave, octave + kLowest);
}

void GapCounts::Add(size_t batch, double seconds, double count) {
  Batch& b = batches_[batch];
  b.bins[BinOf(seconds)] += count;
  b.count += count;
  b.sum += count * seconds;
}

void GapCounts::AddLine(size_t batch, double first, double last, double count) {
  const double low = std::min(first, last);
  const double high = std::max(first, last);
  const size_t from = BinOf(low);
  const size_t to = BinOf(high);
  Batch& b = batches_[batch];
  b.count += count;
  b.sum += count * (low + high) / 2;
  if (from == to) {
    b.bins[from] += count;
    return;
  }
  for (size_t bin = from; bin <= to; ++bin) {
    const double part = std::min(high, LowOf(bin + 1)) - std::max(low, LowOf(bin));
    b.bins[bin] += count * part / (high - low);
  }
}

void GapCounts::Halve() {
  for (size_t b = 0; b < kBatches; b += 2) {
    Batch joined = std::move(batches_[b]);
    const Batch& other = batches_[b + 1];
    joined.count += other.count;
    joined.sum += other.sum;
    for (size_t bin = 0; bin < kBins; ++bin) joined.bins[bin] += other.bins[bin];
    batches_[b / 2] = std::move(joined);
  }
  for (size_t b = kBatches / 2; b < kBatches; ++b) batches_[b] = {.bins = std::vector<double>(kBins)};
}

double GapCounts::ValueAt(const std::vector<double>& bins, double count, double p) {
  double left = p * count;
  size_t last = 0;
  for (size_t bin = 0; bin < kBins; ++bin) {
    if (bins[bin] <= 0) continue;
    if (left <= bins[bin]) return LowOf(bin) + left / bins[bin] * (LowOf(bin + 1) - LowOf(bin));
    left -= bins[bin];
    last = bin;
  }
  return LowOf(last + 1);
}

double GapCounts::ShareBelow(const std::vector<double>& bins, double count, double value) {
  const size_t end = BinOf(value);
  double below = std::accumulate(bins.begin(), bins.begin() + static_cast<std::ptrdiff_t>(end), 0.0);
  below += bins[end] * (value - LowOf(end)) / (LowOf(end + 1) - LowOf(end));
  return below / count;
}

template <typename Part>
std::optional<double> GapCounts::RatioError(const Batch& all, double ratio, const Part& part) const {
  double squares = 0;
  size_t filled = 0;
  for (const Batch& batch : batches_) {
    if (batch.count <= 0) continue;
    ++filled;
    const double off = part(batch) - ratio * batch.count;
    squares += off * off;
  }
  if (2 * filled < kBatches) return std::nullopt;
  const auto batches = static_cast<double>(filled);
  return std::sqrt(squares * batches / (batches - 1)) / all.count;
}

SimulatedValue GapCounts::Mean(const Batch& all) const {
  const double mean = all.sum / all.count;
  return {.value = mean, .error = RatioError(all, mean, [](const Batch& batch) { return batch.sum; })};
}

SimulatedValue GapCounts::Quantile(const Batch& all, double p) const {
  SimulatedValue quantile{.value = ValueAt(all.bins, all.count, p)};
  const auto below = [&](const Batch& b) { return b.count * ShareBelow(b.bins, b.count, quantile.value); };
  const std::optional<double> off = RatioError(all, p, below);
  if (!off) return quantile;
  const double low = ValueAt(all.bins, all.count, std::max(0.0, p - *off));
  const double high = ValueAt(all.bins, all.count, std::min(1.0, p + *off));
  quantile.error = (high - low) / 2;
  return quantile;
}

std::optional<SimulatedTimes> GapCounts::Times() const {
  Batch all{.bins = std::vector<double>(kBins)};
  for (const Batch& batch : batches_) {
    all.count += batch.count;
    all.sum += batch.sum;
    for (size_t bin = 0; bin < kBins; ++bin) all.bins[bin] += batch.bins[bin];
  }
  if (all.count <= 0) return std::nullopt;
  return SimulatedTimes{.mean = Mean(all),
                        .p50 = Quantile(all, 0.5),
                        .p90 = Quantile(all, 0.9),
                        .p95 = Quantile(all, 0.95),
                        .p99 = Quantile(all, 0.99)};
}

}  // namespace foretoken
