// The breakdown of a phase: one bar per part, each starting where the previous one ends:
//
//   compute         9.12 ms  74.1%  ██████████████████
//   memory          2.20 ms  17.9%                    ████▎
//   host            0.98 ms  8.0%                         ██
#ifndef FORETOKEN_CLIENT_CLI_TEXT_WATERFALL_H_
#define FORETOKEN_CLIENT_CLI_TEXT_WATERFALL_H_

#include <string>

#include "client/cli/terminal/terminal.h"
#include "foretoken/v1/estimate.pb.h"

namespace foretoken::cli {

// Characters of a bar that fills the whole phase.
inline constexpr int kBarCells = 40;

// A bar from share `start` to share `start + length` of the width (0 to 1): in eighths of a cell with block characters,
// in whole '#' without. Every part above zero shows at least the smallest mark.
std::string Bar(double start, double length, bool utf8, int cells = kBarCells);

// The nonzero parts of a phase, each with time, share and bar, indented by two. Empty if the phase takes no time.
std::string Waterfall(const v1::TimeParts& parts, const Terminal& terminal);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_WATERFALL_H_
