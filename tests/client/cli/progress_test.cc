#include "client/cli/terminal/progress.h"

#include <gtest/gtest.h>

#include <sstream>

namespace foretoken::cli {
namespace {

TEST(ProgressTest, ALine) {
  EXPECT_EQ(ProgressLine(0.5, "5 of 10 points", false), "[###############               ]  50%  5 of 10 points");
}

TEST(ProgressTest, NothingWithoutATerminal) {
  std::ostringstream err;
  Progress(err, {.interactive = false}).Update(0.5, "x");
  EXPECT_EQ(err.str(), "");
}

}  // namespace
}  // namespace foretoken::cli
