#include "server/guard/held_bytes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace foretoken::guard {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class HeldBytesTest : public testing::Test {
 protected:
  absl::Status Hold(int call, const std::string& caller, int64_t bytes) {
    return held_.Hold({.call = &calls_[call],
                       .caller = caller,
                       .bytes = bytes,
                       .patience = absl::Seconds(10),
                       .cancel = [this, call] { cancelled_.push_back(call); }},
                      now_);
  }

  HeldBytes held_{1000};
  std::vector<int> calls_ = std::vector<int>(100);
  std::vector<int> cancelled_;
  absl::Time now_ = absl::FromUnixSeconds(1000);
};

TEST_F(HeldBytesTest, OneCallerHasHalf) {
  EXPECT_TRUE(Hold(0, "a", 300).ok());
  EXPECT_TRUE(Hold(1, "a", 300).ok());  // the last one passes the limit, because a reply's size is known too late
  const absl::Status full = Hold(2, "a", 1);
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("600 bytes wait for a, 600 for all callers; allowed 500 and 1000"));
  EXPECT_FALSE(held_.Check("a", now_).ok());
  EXPECT_TRUE(held_.Check("b", now_).ok());
  EXPECT_EQ(held_.refused(), 2u);
}

TEST_F(HeldBytesTest, AllCallersTogetherHaveALimit) {
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(Hold(i, std::string(1, static_cast<char>('a' + i)), 200).ok());
  EXPECT_FALSE(held_.Check("new", now_).ok());
  held_.Release(&calls_[0]);
  EXPECT_TRUE(held_.Check("new", now_).ok());
}

TEST_F(HeldBytesTest, ReleaseGivesAllOfACallBackOnce) {
  EXPECT_TRUE(Hold(0, "a", 100).ok());
  EXPECT_TRUE(Hold(0, "a", 50).ok());
  EXPECT_EQ(held_.bytes(), 150);
  held_.Release(&calls_[0]);
  held_.Release(&calls_[0]);
  held_.Release(&calls_[1]);
  EXPECT_EQ(held_.bytes(), 0);
}

// Whoever asks while there is no room ends what nobody has read for ten seconds, each call once.
TEST_F(HeldBytesTest, WhatWaitsForTooLongMakesRoom) {
  EXPECT_TRUE(Hold(0, "a", 500).ok());
  now_ += absl::Seconds(9);
  EXPECT_TRUE(Hold(1, "b", 500).ok());
  EXPECT_FALSE(held_.Check("c", now_).ok());
  EXPECT_THAT(cancelled_, IsEmpty());
  now_ += absl::Seconds(1);
  EXPECT_FALSE(held_.Check("c", now_).ok());
  EXPECT_FALSE(held_.Check("c", now_).ok());
  EXPECT_THAT(cancelled_, ElementsAre(0));
  EXPECT_EQ(held_.cancelled(), 1u);
}

TEST_F(HeldBytesTest, NothingIsHeldWhileMemoryIsShort) {
  held_.SetShort(true);
  EXPECT_THAT(std::string(Hold(0, "a", 1).message()), HasSubstr("short of memory"));
  held_.SetShort(false);
  EXPECT_TRUE(Hold(0, "a", 1).ok());
}

}  // namespace
}  // namespace foretoken::guard
