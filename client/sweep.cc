#include "client/sweep.h"

#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/strip.h"

namespace foretoken::client {
namespace {

std::string DtypeText(int dtype) {
  const std::string name = v1::Dtype_Name(dtype);
  return absl::AsciiStrToLower(absl::StripPrefix(name, "DTYPE_"));
}

// Of a column that has a value a point, or one for all.
int ValueAt(const google::protobuf::RepeatedField<int>& column, int index) {
  if (column.size() == 1) return column[0];
  return index < column.size() ? column[index] : 0;
}

// The values of an axis of a header, which spells each out.
std::vector<AxisValue> AxisValues(const v1::SweepAxis& axis) {
  std::vector<AxisValue> values;
  for (double number : axis.numbers().values()) values.emplace_back(number);
  for (const std::string& text : axis.texts().values()) values.emplace_back(text);
  for (int dtype : axis.dtypes().values()) values.emplace_back(DtypeText(dtype));
  return values;
}

}  // namespace

SweepGrid::SweepGrid(const v1::SweepHeader& header) {
  for (const v1::SweepAxis& axis : header.axes()) axes_.push_back(AxisValues(axis));
}

std::vector<AxisValue> SweepGrid::Coordinates(int64_t point) const {
  std::vector<AxisValue> coordinates(axes_.size());
  for (size_t axis = axes_.size(); axis-- > 0;) {
    const int64_t length = static_cast<int64_t>(axes_[axis].size());
    if (length == 0) continue;
    coordinates[axis] = axes_[axis][static_cast<size_t>(point % length)];
    point /= length;
  }
  return coordinates;
}

SweepRow RowOf(const SweepGrid& grid, const v1::SweepChunk& chunk, int index) {
  SweepRow row;
  row.point = chunk.first_point() + index;
  row.coordinates = grid.Coordinates(row.point);
  for (const v1::SweepColumn& column : chunk.columns()) {
    const bool known = index < column.values_size();
    row.metrics.push_back(known ? column.values(index) : std::numeric_limits<double>::quiet_NaN());
  }
  row.status = ValueAt(chunk.statuses(), index);
  row.reason = static_cast<v1::Reason>(ValueAt(chunk.reasons(), index));
  row.provenance = static_cast<v1::Provenance>(ValueAt(chunk.provenances(), index));
  return row;
}

absl::Status ForEachRow(SweepStream& sweep, const std::function<bool(const SweepRow&)>& visit) {
  const absl::StatusOr<v1::SweepHeader> header = sweep.ReadHeader();
  if (!header.ok()) return header.status();
  const SweepGrid grid(*header);
  while (true) {
    const absl::StatusOr<std::optional<v1::SweepChunk>> chunk = sweep.ReadChunk();
    if (!chunk.ok()) return chunk.status();
    if (!chunk->has_value()) return absl::OkStatus();
    for (int i = 0; i < (*chunk)->num_points(); ++i) {
      if (visit(RowOf(grid, **chunk, i))) continue;
      sweep.Cancel();
      return absl::CancelledError("the sweep was stopped by its reader");
    }
  }
}

}  // namespace foretoken::client
