#include "estimator/decode.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "estimator/attention.h"
#include "estimator/quadrature.h"
#include "estimator/roofline.h"
#include "estimator/wide_vectors.h"

namespace foretoken {
namespace {

constexpr double kSlowSumSteps = 8;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One node of the sums over a piece.
struct Term {
  TimeParts base, slope;
  Seconds host, on_top;
  double exponent;
  double first;
  GaussNode node;
};

// Adds the term of every row to its sum. Its loop is what the compiler takes several rows at a time.
inline void AddTerms(Term term, const double* __restrict last, int begin, int end, TimePartsColumns& sums) {
  const auto step = [term](double context) {
    TimeParts parts = JoinHost(term.base + term.slope * context, term.host, term.exponent);
    parts.host += term.on_top;
    return parts;
  };
  for (int row = begin; row < end; ++row) {
    sums.Set(row, sums.Get(row) + GaussTerm(step, term.first, last[row], term.node));
  }
}

// The default exponent as a constant: the loop is then free of branches.
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

double DecodeCurve::NextBreak(double context) const {
  double next = kInfinity;
  for (const auto& [group, per_token] : slopes_) {
    if (group.window <= 0) continue;
    if (group.chunked) {
      next = std::min(next, std::ceil(context / group.window) * group.window);
    } else if (context <= group.window) {
      next = std::min(next, group.window);
    }
  }
  return next;
}

TimeParts DecodeCurve::Sum(double first, double last) const {
  if (last - first + 1 <= kSlowSumSteps) {
    return SlowSum([this](double c) { return Step(c); }, first, last);
  }
  TimeParts sum;
  while (first <= last) {
    const Piece piece = PieceFrom(first);
    const double end = std::min(last, piece.last);
    sum += SumPiece(piece, end);
    first = end + 1;
  }
  return sum;
}

DecodeCurve::Piece DecodeCurve::PieceFrom(double first) const {
  Piece piece{.first = first, .last = NextBreak(first), .base = fixed_};
  for (const auto& [group, per_token] : slopes_) {
    const double seen = VisibleContext(group, first);
    const bool grows = group.window <= 0 || group.chunked || first < group.window;
    if (grows) piece.slope += per_token;
    piece.base += per_token * (grows ? seen - first : seen);
  }
  // Where the device overtakes the host; not a number, and then no split, where it never does.
  const double split = std::floor((host_ - piece.base.Total()) / piece.slope.Total());
  if (split >= first && split < piece.last) piece.last = split;
  return piece;
}

TimeParts DecodeCurve::SumPiece(const Piece& piece, double last) const {
  const auto step = [&](double context) { return Finish(piece.base + piece.slope * context); };
  return GaussSum(step, piece.first, last);
}

void DecodeCurve::SumPieces(const Piece& piece, const TimeParts& before, const double* last, int begin, int end,
                            TimePartsColumns& sums) const {
  for (int row = begin; row < end; ++row) sums.Set(row, {});
  for (const GaussNode& node : kGaussNodes) {
    if (exponent_ == 2) {
      AddSquareTerms({piece.base, piece.slope, host_, on_top_, 2, piece.first, node}, last, begin, end, sums);
    } else {
      AddTerms({piece.base, piece.slope, host_, on_top_, exponent_, piece.first, node}, last, begin, end, sums);
    }
  }
  for (int row = begin; row < end; ++row) sums.Set(row, before + sums.Get(row));
}

void DecodeCurve::Sums(double first, const double* last, int count, TimePartsColumns& sums) const {
  int row = 0;
  for (; row < count && last[row] - first + 1 <= kSlowSumSteps; ++row) sums.Set(row, Sum(first, last[row]));
  TimeParts before;
  while (row < count) {
    const Piece piece = PieceFrom(first);
    int end = row;
    while (end < count && last[end] <= piece.last) ++end;
    SumPieces(piece, before, last, row, end, sums);
    row = end;
    if (row == count) return;
    before += SumPiece(piece, piece.last);
    first = piece.last + 1;
  }
}

}  // namespace foretoken
