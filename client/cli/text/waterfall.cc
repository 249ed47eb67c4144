#include "client/cli/text/waterfall.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "client/cli/text/format.h"
#include "client/cli/text/table.h"

namespace foretoken::cli {
namespace {

struct Part {
  const char* name;
  double seconds;
  Look look;
};

std::array<Part, 5> PartsOf(const v1::TimeParts& parts) {
  return {{{"compute", parts.compute_seconds(), Look::kCompute},
           {"memory", parts.memory_seconds(), Look::kMemory},
           {"communication", parts.communication_seconds(), Look::kCommunication},
           {"host", parts.host_seconds(), Look::kHost},
           {"queueing", parts.queueing_seconds(), Look::kQueueing}}};
}

// `eighths` of a cell, left aligned.
std::string Blocks(int eighths) {
  static constexpr std::array<const char*, 8> kPartial = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  std::string bar;
  for (int i = 0; i < eighths / 8; ++i) bar += "█";
  return bar + kPartial[eighths % 8];
}

}  // namespace

std::string Bar(double start, double length, bool utf8, int cells) {
  // Block characters fill a cell from the left, so a bar begins at a whole cell; the last cell is kept for it.
  const int first = std::min(static_cast<int>(std::floor(start * cells + 1e-9)), cells - 1);
  const std::string space(first, ' ');
  const int whole = std::max(1, static_cast<int>(std::lround(length * cells)));
  if (!utf8) return space + std::string(std::min(whole, cells - first), '#');
  const int eighths = std::max(1, static_cast<int>(std::lround(length * cells * 8)));
  return space + Blocks(std::min(eighths, (cells - first) * 8));
}

std::string Waterfall(const v1::TimeParts& parts, const Terminal& terminal) {
  double total = 0;
  for (const Part& part : PartsOf(parts)) total += part.seconds;
  if (!(total > 0)) return "";
  Table table({{""}, {"", Align::kRight}, {"", Align::kRight}, {""}});
  double start = 0;
  for (const Part& part : PartsOf(parts)) {
    const double share = part.seconds / total;
    if (share > 0) {
      table.AddRow({part.name, FormatSeconds(part.seconds), FormatPercent(share),
                    Cell(Bar(start, share, terminal.utf8), part.look)});
    }
    start += share;
  }
  return table.Render(terminal, 2);
}

}  // namespace foretoken::cli
