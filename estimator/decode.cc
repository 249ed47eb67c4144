#include "estimator/decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/attention.h"
#include "estimator/quadrature.h"
#include "estimator/roofline.h"

namespace foretoken {
namespace {

constexpr double kSlowSumSteps = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

DecodeCurve::DecodeCurve(const StepModel& model, double sequences, double tokens) : exponent_(model.roofline_exponent) {
  const double rows = sequences * tokens;
  const StepShape shape{
      .decode_sequences = sequences, .decode_context = 0, .decode_tokens = tokens, .logits_rows = rows};
  const Efficiencies& e = model.efficiencies;
  fixed_ = DeviceTime(model, shape);
  for (const AttentionGroup& group : model.shard.attention) {
    slopes_.push_back({group, DecodeAttention(model, group, sequences, 1, tokens).Parts(exponent_)});
  }
  host_ = e.host_step + model.shard.layers * e.host_layer;
  on_top_ = rows * (e.host_token + e.host_request);
}

TimeParts DecodeCurve::Device(double context) const {
  TimeParts device = fixed_;
  for (const Slope& slope : slopes_) device += slope.per_token * VisibleContext(slope.group, context);
  return device;
}

TimeParts DecodeCurve::Finish(const TimeParts& device) const {
  TimeParts step = JoinHost(device, host_, exponent_);
  step.host += on_top_;
  return step;
}

TimeParts DecodeCurve::Step(double context) const { return Finish(Device(context)); }

double DecodeCurve::NextWindow(double context) const {
  double next = kInfinity;
  for (const auto& [group, per_token] : slopes_) {
    if (group.window > 0 && context <= group.window) next = std::min(next, group.window);
  }
  return next;
}

TimeParts DecodeCurve::Sum(double first, double last) const {
  if (last - first + 1 <= kSlowSumSteps) {
    return SlowSum([this](double c) { return Step(c); }, first, last);
  }
  for (const auto& [group, per_token] : slopes_) {
    if (group.chunked) return SumChunked(first, last, group.window);  // no model has sliding windows beside chunks
  }
  TimeParts sum;
  while (first <= last) {
    const double end = std::min(last, NextWindow(first));
    sum += SumSmooth(LineAround(first), first, end);
    first = end + 1;
  }
  return sum;
}

TimeParts DecodeCurve::SumChunked(double first, double last, double window) const {
  const auto from_to = [&](double index, double from, double to) {
    return SumSmooth(LineOfChunk(index, window), from, to);
  };
  const double first_chunk = std::ceil(first / window) - 1;
  const double last_chunk = std::ceil(last / window) - 1;
  if (first_chunk == last_chunk) return from_to(first_chunk, first, last);
  const auto whole = [&](double index) { return from_to(index, index * window + 1, (index + 1) * window); };
  return from_to(first_chunk, first, (first_chunk + 1) * window) + PanelSum(whole, first_chunk + 1, last_chunk - 1) +
         from_to(last_chunk, last_chunk * window + 1, last);
}

DecodeCurve::Line DecodeCurve::LineAround(double context) const {
  Line line{.base = fixed_};
  for (const auto& [group, per_token] : slopes_) {
    const bool grows = group.window <= 0 || context < group.window;
    (grows ? line.slope : line.base) += grows ? per_token : per_token * group.window;
  }
  return line;
}

DecodeCurve::Line DecodeCurve::LineOfChunk(double index, double window) const {
  Line line{.base = fixed_};
  for (const auto& [group, per_token] : slopes_) {
    line.slope += per_token;
    if (group.chunked) line.base += per_token * (-index * window);
  }
  return line;
}

TimeParts DecodeCurve::SumSmooth(const Line& line, double first, double last) const {
  const auto step = [&](double context) { return Finish(line.base + line.slope * context); };
  // A short panel after the split would look at the step before it, where the device does not yet decide.
  const auto sum = [&](double from, double to) {
    const double count = std::round(to - from + 1);
    const bool whole = std::abs(to - from + 1 - count) < 1e-6;  // not where an attention chunk is a sample of many
    if (!whole || count > kSlowSumSteps) return GaussSum(step, from, to);
    return SlowSum([&](double i) { return step(from + i); }, 0, count - 1);
  };
  // Where the device overtakes the host; not a number, and then no split, where it never does.
  const double split = std::floor((host_ - line.base.Total()) / line.slope.Total());
  if (!(split >= first && split < last)) return sum(first, last);
  return sum(first, split) + sum(split + 1, last);
}

}  // namespace foretoken
