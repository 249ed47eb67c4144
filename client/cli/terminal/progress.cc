#include "client/cli/terminal/progress.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"

namespace foretoken::cli {
namespace {

constexpr absl::Duration kQuiet = absl::Milliseconds(500);
constexpr absl::Duration kBetweenDraws = absl::Milliseconds(100);
constexpr int kCells = 30;

}  // namespace

std::string ProgressLine(double share, const std::string& what, bool utf8) {
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * kCells));
  std::string bar;
  for (int i = 0; i < kCells; ++i) bar += i >= full ? (utf8 ? "░" : " ") : (utf8 ? "█" : "#");
  return absl::StrFormat("[%s] %3.0f%%  %s", bar, share * 100, what);
}

void Progress::Update(double share, const std::string& what) {
  const absl::Time now = absl::Now();
  if (!terminal_.interactive || now - start_ < kQuiet || now - drawn_ < kBetweenDraws) return;
  drawn_ = now;
  err_ << "\r\033[K" << ProgressLine(share, what, terminal_.utf8) << std::flush;
}

void Progress::Clear() {
  if (drawn_ == absl::InfinitePast()) return;
  drawn_ = absl::InfinitePast();
  err_ << "\r\033[K" << std::flush;
}

}  // namespace foretoken::cli
