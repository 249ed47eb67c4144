#include "tests/validation/plot.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace foretoken::validation {
namespace {

constexpr int kSide = 400;   // of the square
constexpr int kMargin = 50;  // left and below
constexpr int kTop = 24;
constexpr const char* kColours[] = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd",
                                    "#17becf", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22"};

// Decades that hold every time.
struct Range {
  int low = std::numeric_limits<int>::max();
  int high = std::numeric_limits<int>::min();

  void Add(double time) {
    low = std::min(low, static_cast<int>(std::floor(std::log10(time))));
    high = std::max(high, static_cast<int>(std::ceil(std::log10(time))));
  }
  double Share(double time) const { return (std::log10(time) - low) / (high - low); }
};

int X(const Range& range, double time) { return kMargin + static_cast<int>(std::lround(range.Share(time) * kSide)); }
int Y(const Range& range, double time) {
  return kTop + kSide - static_cast<int>(std::lround(range.Share(time) * kSide));
}

// Predicted = measured times `ratio`, across the square.
std::string Line(const Range& range, double ratio, const char* style) {
  const double low = std::pow(10.0, range.low) * std::max(1.0, 1 / ratio);
  const double high = std::pow(10.0, range.high) * std::min(1.0, 1 / ratio);
  return absl::StrFormat("<path d=\"M%d %dL%d %d\" stroke=\"#888\" %s/>\n", X(range, low), Y(range, low * ratio),
                         X(range, high), Y(range, high * ratio), style);
}

std::string Axes(const Range& range) {
  std::string svg =
      absl::StrFormat("<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#000\"/>\n", kMargin,
                      kTop, kSide, kSide);
  for (int decade = range.low; decade <= range.high; ++decade) {
    const double time = std::pow(10.0, decade);
    absl::StrAppendFormat(&svg, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">%g s</text>\n", X(range, time),
                          kTop + kSide + 14, time);
    absl::StrAppendFormat(&svg, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%g s</text>\n", kMargin - 3,
                          Y(range, time) + 4, time);
  }
  absl::StrAppendFormat(&svg, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">measured</text>\n", kMargin + kSide / 2,
                        kTop + kSide + 28);
  absl::StrAppendFormat(&svg,
                        "<text transform=\"translate(10 %d) rotate(-90)\" text-anchor=\"middle\">predicted</text>\n",
                        kTop + kSide / 2);
  return svg;
}

bool IsPair(const Prediction& prediction, int metric) { return std::isfinite(LogError(prediction, metric)); }

}  // namespace

std::string Scatter(const std::string& title, const Predictions& predictions, int metric) {
  Range range;
  for (const Prediction& p : predictions) {
    if (!IsPair(p, metric)) continue;
    range.Add(p.row->sample.measured[metric]);
    range.Add(p.times[metric]);
  }
  if (range.low >= range.high) return "";
  std::map<std::string, std::set<std::pair<int, int>>> points;  // rows at one pixel are one point
  for (const Prediction& p : predictions) {
    if (!IsPair(p, metric)) continue;
    points[p.row->hardware].insert({X(range, p.row->sample.measured[metric]), Y(range, p.times[metric])});
  }
  std::string svg = absl::StrFormat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"10\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text x=\"%d\" y=\"15\" font-size=\"12\">%s</text>\n",
      kMargin + kSide + 24, kTop + kSide + 34, kMargin, title);
  absl::StrAppend(&svg, Axes(range), Line(range, 1, ""), Line(range, 1.25, "stroke-dasharray=\"3\""),
                  Line(range, 0.8, "stroke-dasharray=\"3\""));
  int row = 0;
  for (const auto& [hardware, at] : points) {
    const char* colour = kColours[row % std::size(kColours)];
    absl::StrAppendFormat(&svg, "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", kMargin + 6, kTop + 14 + 12 * row++,
                          colour, hardware);
    absl::StrAppendFormat(
        &svg, "<path stroke=\"%s\" stroke-width=\"3\" stroke-linecap=\"round\" stroke-opacity=\".6\" d=\"", colour);
    for (const auto& [x, y] : at) absl::StrAppend(&svg, "M", x, " ", y, "h0");
    absl::StrAppend(&svg, "\"/>\n");
  }
  return svg + "</svg>\n";
}

}  // namespace foretoken::validation
