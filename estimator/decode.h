// All decode steps of a request at once, at a cost that does not depend on their number.
//
// A decode step at context c is, with d linear in c between the windows of the layers,
//   t(c) = smax(d(c), host) + per-token and per-row host time.
// The sum over steps is taken piece by piece between windows and the crossover of device and host, each by 3-point
// Gauss-Legendre quadrature over [first - 1/2, last + 1/2]: exact where t is linear (s = infinity, s = 1), within
// 1e-3 of the slow sum otherwise. Up to 8 steps are summed one by one. [ours]
#ifndef FORETOKEN_ESTIMATOR_DECODE_H_
#define FORETOKEN_ESTIMATOR_DECODE_H_

#include "absl/container/inlined_vector.h"
#include "estimator/step.h"

namespace foretoken {

// The decode of `sequences` on one replica, ready to be evaluated at any context.
class DecodeCurve {
 public:
  // Each sequence is fed `tokens` per step: 1, or more to verify drafted ones.
  DecodeCurve(const StepModel& model, double sequences, double tokens = 1);

  // One step at context c: every sequence sees c tokens, those just fed included.
  TimeParts Step(double context) const;

  // Sum of Step(c) for c = first, first + 1, ..., last. REQUIRES: first, last whole numbers. Empty: zero.
  TimeParts Sum(double first, double last) const;

 private:
  // Attention of one layer group per token seen.
  struct Slope {
    AttentionGroup group;
    TimeParts per_token;
  };
  // Steps first to last (may be infinite), over which the device's time is a line, base + slope * c, and does not cross
  // the host's.
  struct Piece {
    double first = 0;
    double last = 0;
    TimeParts base;
    TimeParts slope;
  };

  TimeParts Device(double context) const;
  TimeParts Finish(const TimeParts& device) const;
  Piece PieceFrom(double first) const;
  // The steps of a piece up to `last`.
  TimeParts SumPiece(const Piece& piece, double last) const;
  // Where the next window or chunk boundary after `context` lies; infinity: none.
  double NextBreak(double context) const;

  TimeParts fixed_;  // device time that does not depend on the context
  absl::InlinedVector<Slope, 2> slopes_;
  Seconds host_;    // overlapped with the device
  Seconds on_top_;  // not overlapped
  double exponent_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_DECODE_H_
