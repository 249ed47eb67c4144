// A sweep as it arrives: pulled in columns, or handed out row by row.
//
//   std::unique_ptr<SweepStream> sweep = client.Sweep(request);
//   absl::Status status = ForEachRow(*sweep, [](const SweepRow& row) { ...; return true; });
//   const v1::SweepSummary& summary = sweep->summary();
#ifndef FORETOKEN_CLIENT_SWEEP_H_
#define FORETOKEN_CLIENT_SWEEP_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "foretoken/v1/sweep.pb.h"

namespace foretoken::client {

// A stream of one sweep. Read from one thread: header, then chunks to the end. Cancel may come from any thread.
// Destroying a stream that has not ended cancels it.
class SweepStream {
 public:
  virtual ~SweepStream() = default;

  // The first message; asked again, the same. UNAVAILABLE is retried here and only here: later the server has
  // answered part of the grid from its snapshot, which another call may not see.
  virtual absl::StatusOr<v1::SweepHeader> ReadHeader() = 0;

  // The next chunk; nothing after the last, when summary() is there. Errors: those of the RPC; CANCELLED after Cancel;
  // DATA_LOSS: the stream ended without a summary. REQUIRES: ReadHeader succeeded.
  virtual absl::StatusOr<std::optional<v1::SweepChunk>> ReadChunk() = 0;

  // The last message; empty before the end.
  virtual const v1::SweepSummary& summary() const = 0;

  // Stops the sweep: a read that waits, and every later one, ends with CANCELLED.
  virtual void Cancel() = 0;
};

// A value of an axis: a number, or a text (an id, an engine, a dtype as "fp8").
using AxisValue = std::variant<double, std::string>;

// Which values of the axes a point has: row-major, the last axis innermost.
class SweepGrid {
 public:
  explicit SweepGrid(const v1::SweepHeader& header);

  // One value per axis, in order. REQUIRES: 0 <= point < total points.
  std::vector<AxisValue> Coordinates(int64_t point) const;

 private:
  std::vector<std::vector<AxisValue>> axes_;
};

// One point.
struct SweepRow {
  int64_t point = 0;
  std::vector<AxisValue> coordinates;  // in the order of the header's axes
  std::vector<double> metrics;         // in the order of the header's metrics; NaN: not known
  int status = 0;                      // google.rpc.Code; 0: an estimate
  v1::Reason reason = v1::REASON_UNSPECIFIED;
  v1::Provenance provenance = v1::PROVENANCE_UNSPECIFIED;
};

// Point `index` of a chunk. REQUIRES: 0 <= index < chunk.num_points().
SweepRow RowOf(const SweepGrid& grid, const v1::SweepChunk& chunk, int index);

// Reads the sweep to its end, a call of `visit` a point, in order; false from `visit` cancels it (CANCELLED).
absl::Status ForEachRow(SweepStream& sweep, const std::function<bool(const SweepRow&)>& visit);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_SWEEP_H_
