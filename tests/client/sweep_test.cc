#include "client/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace foretoken::client {
namespace {

v1::SweepHeader Header() {
  v1::SweepHeader header;
  v1::SweepAxis& hardware = *header.add_axes();
  hardware.mutable_texts()->add_values(std::string("a"));
  hardware.mutable_texts()->add_values(std::string("b"));
  v1::SweepAxis& dtype = *header.add_axes();
  dtype.mutable_dtypes()->add_values(v1::DTYPE_FP8_BLOCK);
  v1::SweepAxis& batch = *header.add_axes();
  for (const double value : {1, 2, 4}) batch.mutable_numbers()->add_values(value);
  header.set_total_points(6);
  return header;
}

TEST(SweepGridTest, TheLastAxisIsInnermost) {
  const SweepGrid grid(Header());
  EXPECT_THAT(grid.Coordinates(0), testing::ElementsAre(AxisValue("a"), AxisValue("fp8_block"), AxisValue(1.0)));
  EXPECT_THAT(grid.Coordinates(2), testing::ElementsAre(AxisValue("a"), AxisValue("fp8_block"), AxisValue(4.0)));
  EXPECT_THAT(grid.Coordinates(3), testing::ElementsAre(AxisValue("b"), AxisValue("fp8_block"), AxisValue(1.0)));
}

TEST(RowOfTest, ColumnsOfOnePoint) {
  v1::SweepChunk chunk;
  chunk.set_first_point(4);
  chunk.set_num_points(2);
  v1::SweepColumn& ttft = *chunk.add_columns();
  ttft.add_values(0.5);
  ttft.add_values(std::nan(""));
  for (const int status : {0, 9}) chunk.add_statuses(status);
  chunk.add_reasons(v1::REASON_UNSPECIFIED);
  chunk.add_reasons(v1::REASON_OUT_OF_MEMORY);
  const SweepRow row = RowOf(SweepGrid(Header()), chunk, 1);
  EXPECT_EQ(row.point, 5);
  EXPECT_EQ(row.coordinates[2], AxisValue(4.0));
  EXPECT_TRUE(std::isnan(row.metrics[0]));
  EXPECT_EQ(row.status, 9);
  EXPECT_EQ(row.reason, v1::REASON_OUT_OF_MEMORY);
  EXPECT_EQ(row.provenance, v1::PROVENANCE_UNSPECIFIED);
}

TEST(RowOfTest, AColumnOfOneValueHoldsForAllPoints) {
  v1::SweepChunk chunk;
  chunk.set_num_points(2);
  chunk.add_statuses(0);
  chunk.add_reasons(v1::REASON_UNSPECIFIED);
  chunk.add_provenances(v1::PROVENANCE_CALIBRATED);
  for (const int point : {0, 1}) {
    const SweepRow row = RowOf(SweepGrid(Header()), chunk, point);
    EXPECT_EQ(row.status, 0);
    EXPECT_EQ(row.provenance, v1::PROVENANCE_CALIBRATED);
  }
}

}  // namespace
}  // namespace foretoken::client
