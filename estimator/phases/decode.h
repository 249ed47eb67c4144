// All decode steps of a request at once, at a cost that does not depend on their number.
//
// A decode step at context c is, with d linear in c between the windows of the layers,
//   t(c) = smax(d(c), host).
// The sum over steps is taken piece by piece: pieces end at windows, and where device and host take equally long. A
// piece is summed by 3-point Gauss-Legendre quadrature over [first - 1/2, last + 1/2]. The sum is exact where t is
// linear (s = infinity, s = 1), and within 1e-3 of the slow sum otherwise.
//
// Up to 8 steps, and up to 32 attention chunks, are summed one by one. More chunks are sampled (1e-3). [ours]
#ifndef FORETOKEN_ESTIMATOR_PHASES_DECODE_H_
#define FORETOKEN_ESTIMATOR_PHASES_DECODE_H_

#include <array>

#include "absl/container/inlined_vector.h"
#include "estimator/step/step.h"

namespace foretoken {

// The parts of several times, each part in a column of its own.
struct TimePartsColumns {
  static constexpr int kMost = 128;
  using Column = std::array<double, kMost>;

  Column compute, memory, communication, host, queueing;

  void Set(int row, const TimeParts& parts) {
    compute[row] = parts.compute.value();
    memory[row] = parts.memory.value();
    communication[row] = parts.communication.value();
    host[row] = parts.host.value();
    queueing[row] = parts.queueing.value();
  }
  TimeParts Get(int row) const {
    return {Seconds(compute[row]), Seconds(memory[row]), Seconds(communication[row]), Seconds(host[row]),
            Seconds(queueing[row])};
  }
};

// The decode of `sequences` on one replica, ready to be evaluated at any context.
class DecodeCurve {
 public:
  // Each sequence is fed `tokens` per step: 1, or more to verify drafted ones.
  DecodeCurve(const StepModel& model, double sequences, double tokens = 1);

  // One step at context c: every sequence sees c tokens, those just fed included.
  TimeParts Step(double context) const;

  // Sum of Step(c) for c = first, first + 1, ..., last. REQUIRES: first, last whole numbers. Empty: zero.
  TimeParts Sum(double first, double last) const;

  // The same for every last[0] to last[count - 1] at once, bit for bit, into the first rows of `sums`: shared parts are
  // computed once, the rest several at a time. REQUIRES: last rises; count is at most TimePartsColumns::kMost.
  void Sums(double first, const double* last, int count, TimePartsColumns& sums) const;

 private:
  // Attention of one layer group per position seen, or the indexer's scores of one.
  struct Slope {
    AttentionGroup group;
    TimeParts per_token;
  };
  // The device's time as a line over one piece: base + slope * c.
  struct Line {
    TimeParts base;
    TimeParts slope;
  };
  // Steps first to last (may be infinite) over which the device's time is a line and does not cross the host's.
  struct Piece {
    Line line;
    double first = 0;
    double last = 0;
  };

  TimeParts Device(double context) const;
  TimeParts Finish(const TimeParts& device) const;
  Line LineAround(double context) const;
  // The same for attention chunk number `index`; a chunked layer attends to nothing before it.
  Line LineOfChunk(double index, double window) const;
  // Where the next window after `context` lies; infinity: none.
  double NextWindow(double context) const;
  // Where on the line the device overtakes the host; not a number where it never does.
  double Crossover(const Line& line) const;
  Piece PieceFrom(double first) const;
  // The window of a chunked layer group; 0: none.
  double ChunkWindow() const;

  // A range over which the device's time is the line and does not cross the host's.
  TimeParts SumLine(const Line& line, double first, double last) const;
  // A range in which no layer group meets its window.
  TimeParts SumSmooth(const Line& line, double first, double last) const;
  // A range over attention chunks of `window` tokens.
  TimeParts SumChunked(double first, double last, double window) const;
  // `before` and the steps of a piece up to last[i], for every row i from `begin` up to `end`; more than 8 steps each.
  void SumLines(const Piece& piece, const TimeParts& before, const double* last, int begin, int end,
                TimePartsColumns& sums) const;

  TimeParts fixed_;  // device time that does not depend on the context
  absl::InlinedVector<Slope, 2> slopes_;
  Seconds host_;  // overlapped with the device
  double exponent_;
};

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_PHASES_DECODE_H_
