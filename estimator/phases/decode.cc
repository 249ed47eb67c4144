#include "estimator/phases/decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/base/wide_vectors.h"
#include "estimator/phases/quadrature.h"
#include "estimator/step/attention.h"
#include "estimator/step/roofline.h"

namespace foretoken {
namespace {

constexpr double kSlowSumSteps = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One node of the sums over a piece.
struct Term {
  TimeParts base, slope;
  Seconds host;
  double exponent;
  double first;
  GaussNode node;
};

// Adds the term of every row to its sum. The compiler vectorises this loop over rows.
inline void AddTerms(Term term, const double* __restrict last, int begin, int end, TimePartsColumns& sums) {
  const auto step = [term](double context) {
    return JoinHost(term.base + term.slope * context, term.host, term.exponent);
  };
  for (int row = begin; row < end; ++row) {
    sums.Set(row, sums.Get(row) + GaussTerm(step, term.first, last[row], term.node));
  }
}

// With the default exponent as a constant, the loop has no branches.
FORETOKEN_WIDE_VECTORS void AddSquareTerms(Term term, const double* __restrict last, int begin, int end,
                                           TimePartsColumns& sums) {
  term.exponent = 2;
  AddTerms(term, last, begin, end, sums);
}

}  // namespace

DecodeCurve::DecodeCurve(const StepModel& model, double sequences, double tokens) : exponent_(model.roofline_exponent) {
  const double rows = sequences * tokens;
  const StepShape shape{
      .decode_sequences = sequences, .decode_context = 0, .decode_tokens = tokens, .logits_rows = rows};
  fixed_ = DeviceTime(model, shape);
  for (const AttentionGroup& group : model.shard.attention) {
    slopes_.push_back({group, DecodeAttention(model, group, sequences, group.compression, tokens).Parts(exponent_)});
  }
  if (model.shard.indexer) {
    const double compression = model.shard.indexer->compression;
    slopes_.push_back(
        {{.compression = compression}, DecodeIndexer(model, sequences, compression, tokens).Parts(exponent_)});
  }
  host_ = HostTime(model, shape);
}

TimeParts DecodeCurve::Device(double context) const {
  TimeParts device = fixed_;
  for (const Slope& slope : slopes_) device += slope.per_token * VisibleContext(slope.group, context);
  return device;
}

TimeParts DecodeCurve::Finish(const TimeParts& device) const { return JoinHost(device, host_, exponent_); }

TimeParts DecodeCurve::Step(double context) const { return Finish(Device(context)); }

double DecodeCurve::NextWindow(double context) const {
  double next = kInfinity;
  for (const auto& [group, per_token] : slopes_) {
    const double window = group.window * group.compression;
    if (window > 0 && context <= window) next = std::min(next, window);
  }
  return next;
}

double DecodeCurve::ChunkWindow() const {
  for (const auto& [group, per_token] : slopes_) {
    if (group.chunked) return group.window;  // no model has sliding windows beside chunks
  }
  return 0;
}

TimeParts DecodeCurve::Sum(double first, double last) const {
  if (last - first + 1 <= kSlowSumSteps) {
    return SlowSum([this](double c) { return Step(c); }, first, last);
  }
  if (const double window = ChunkWindow(); window > 0) return SumChunked(first, last, window);
  TimeParts sum;
  while (first <= last) {
    const Piece piece = PieceFrom(first);
    const double end = std::min(last, piece.last);
    sum += SumLine(piece.line, first, end);
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
    const bool grows = group.window <= 0 || context < group.window * group.compression;
    if (!grows) {
      line.base += per_token * group.window;
    } else {
      line.slope += group.compression == 1 ? per_token : per_token * (1 / group.compression);
    }
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

double DecodeCurve::Crossover(const Line& line) const {
  return std::floor((host_ - line.base.Total()) / line.slope.Total());
}

DecodeCurve::Piece DecodeCurve::PieceFrom(double first) const {
  Piece piece{.line = LineAround(first), .first = first, .last = NextWindow(first)};
  const double split = Crossover(piece.line);
  if (split >= first && split < piece.last) piece.last = split;
  return piece;
}

// A short panel after the split would also evaluate the step before it, where the host is still slower.
TimeParts DecodeCurve::SumLine(const Line& line, double first, double last) const {
  const auto step = [&](double context) { return Finish(line.base + line.slope * context); };
  const double count = std::round(last - first + 1);
  const bool whole = std::abs(last - first + 1 - count) < 1e-6;  // not where an attention chunk is a sample of many
  if (!whole || count > kSlowSumSteps) return GaussSum(step, first, last);
  return SlowSum([&](double i) { return step(first + i); }, 0, count - 1);
}

TimeParts DecodeCurve::SumSmooth(const Line& line, double first, double last) const {
  const double split = Crossover(line);
  if (!(split >= first && split < last)) return SumLine(line, first, last);
  return SumLine(line, first, split) + SumLine(line, split + 1, last);
}

void DecodeCurve::SumLines(const Piece& piece, const TimeParts& before, const double* last, int begin, int end,
                           TimePartsColumns& sums) const {
  for (int row = begin; row < end; ++row) sums.Set(row, {});
  for (const GaussNode& node : kGaussNodes) {
    if (exponent_ == 2) {
      AddSquareTerms({piece.line.base, piece.line.slope, host_, 2, piece.first, node}, last, begin, end, sums);
    } else {
      AddTerms({piece.line.base, piece.line.slope, host_, exponent_, piece.first, node}, last, begin, end, sums);
    }
  }
  for (int row = begin; row < end; ++row) sums.Set(row, before + sums.Get(row));
}

void DecodeCurve::Sums(double first, const double* last, int count, TimePartsColumns& sums) const {
  int row = 0;
  const bool chunked = ChunkWindow() > 0;
  for (; row < count && (chunked || last[row] - first + 1 <= kSlowSumSteps); ++row) {
    sums.Set(row, Sum(first, last[row]));
  }
  TimeParts before;
  while (row < count) {
    const Piece piece = PieceFrom(first);
    int end = row;
    while (end < count && last[end] <= piece.last) ++end;
    for (; row < end && last[row] - first + 1 <= kSlowSumSteps; ++row) {
      sums.Set(row, before + SumLine(piece.line, first, last[row]));
    }
    SumLines(piece, before, last, row, end, sums);
    row = end;
    if (row == count) return;
    before += SumLine(piece.line, first, piece.last);
    first = piece.last + 1;
  }
}

}  // namespace foretoken
