// Numbers for people: three significant digits and a unit scaled to the size. Units are decimal (SI).
//
//   FormatSeconds(0.012345) == "12.3 ms";  FormatBytes(17.6e9) == "17.6 GB";  FormatCount(17089) == "17,089"
//
// An unknown number is NaN and prints as "-"; zero prints as "0" with its unit.
#ifndef FORETOKEN_CLIENT_CLI_TEXT_FORMAT_H_
#define FORETOKEN_CLIENT_CLI_TEXT_FORMAT_H_

#include <string>

namespace foretoken::cli {

// Not known.
extern const double kUnknown;
inline constexpr char kUnknownText[] = "-";

std::string FormatSeconds(double seconds);                  // "845 us", "12.3 ms", "1.54 s"
std::string FormatBytes(double bytes);                      // "40.0 GB"
std::string FormatBytesPerSecond(double bytes_per_second);  // "3.35 TB/s"
std::string FormatFlops(double flops);                      // "1.20 TFLOP"
std::string FormatFlopsPerSecond(double flops_per_second);  // "989 TFLOP/s"
std::string FormatPercent(double ratio);                    // 0.415 -> "41.5%"; below one percent two decimals
std::string FormatSignedPercent(double ratio);              // 0.0415 -> "+4.15%"

// Rates and counts keep their unit and get thousands separators: "1,234", "81.3", "0.250".
std::string FormatCount(double count);

// The shortest text that reads back as the same double, for CSV and JSON; empty for NaN.
std::string FormatExact(double value);

// Three significant digits without a unit: "12.3", "1,234", "0.00120".
std::string ThreeDigits(double value);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_TEXT_FORMAT_H_
