// Reading a sweep while it arrives: chunk by chunk in columns, or row by row.
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

  // The first message; repeated calls return the same. UNAVAILABLE is retried here only: later the server has answered
  // part of the grid from its catalog snapshot, and another call may see a newer snapshot.
  virtual absl::StatusOr<v1::SweepHeader> ReadHeader() = 0;

  // The next chunk; nothing after the last one, when summary() is complete. Errors: those of the RPC; CANCELLED after
  // Cancel; DATA_LOSS: the stream ended without a summary. REQUIRES: ReadHeader succeeded.
  virtual absl::StatusOr<std::optional<v1::SweepChunk>> ReadChunk() = 0;

  // The last message; empty before the end.
  virtual const v1::SweepSummary& summary() const = 0;

  // Stops the sweep: a waiting read and every later read return CANCELLED.
  virtual void Cancel() = 0;
};

// A value of an axis: a number, or a text (an id, an engine, a dtype as "fp8").
using AxisValue = std::variant<double, std::string>;

// The axis values of a point. Points are numbered row-major: the last axis is innermost.
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

// Reads the sweep to its end and calls `visit` for every point, in order. If `visit` returns false, the sweep is
// cancelled and the result is CANCELLED.
absl::Status ForEachRow(SweepStream& sweep, const std::function<bool(const SweepRow&)>& visit);

}  // namespace foretoken::client

#endif  // FORETOKEN_CLIENT_SWEEP_H_
