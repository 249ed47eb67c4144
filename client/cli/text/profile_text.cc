#include "client/cli/text/profile_text.h"

#include "absl/strings/str_cat.h"
#include "client/cli/text/estimate_text.h"
#include "client/cli/text/format.h"
#include "client/cli/text/table.h"

namespace foretoken::cli {
namespace {

using Formatter = std::string (*)(double);

std::string Tokens(double tokens) { return FormatCount(tokens) + " tokens"; }
std::string TokensPerSecond(double rate) { return FormatCount(rate) + " tok/s"; }

std::string FitText(const std::string& title, const v1::LinearFit& fit, Formatter slope, Formatter size,
                    const Terminal& terminal) {
  std::string text = absl::StrCat("\n", terminal.Paint(title, Look::kBold), "  slope ", slope(fit.slope()),
                                  ", intercept ", size(fit.intercept()), ", R2 ", absl::StrCat(fit.r2()), ", ",
                                  fit.residuals_size(), " measurements\n");
  Table table({{"measurement", Align::kRight}, {"measured - fitted", Align::kRight}});
  for (int i = 0; i < fit.residuals_size(); ++i) {
    const int index = i < fit.sample_indices_size() ? fit.sample_indices(i) : i;
    table.AddRow({absl::StrCat(index), size(fit.residuals(i))});
  }
  return table.empty() ? text : text + table.Render(terminal, 2);
}

}  // namespace

std::string RegisteredText(const std::string& kind, const std::string& id, const std::string& etag, bool validate_only,
                           const v1::CatalogRevision& revision) {
  return client::Printable(absl::StrCat(validate_only ? "valid, nothing stored: " : "registered ", kind, " ", id,
                                        etag.empty() ? "" : absl::StrCat(", etag ", etag), ", ", RevisionText(revision),
                                        "\n"));
}

std::string ProfileText(const v1::ProfileReport& report, const Terminal& terminal) {
  std::string text;
  if (report.has_prefill()) text += FitText("Prefill", report.prefill(), TokensPerSecond, Tokens, terminal);
  if (report.has_decode()) text += FitText("Decode", report.decode(), FormatBytesPerSecond, FormatBytes, terminal);
  if (report.has_effective_bandwidth_bytes_per_second()) {
    absl::StrAppend(
        &text, "\nEffective decode bandwidth ", FormatBytesPerSecond(report.effective_bandwidth_bytes_per_second()),
        ", ", report.has_bandwidth_utilization() ? FormatPercent(report.bandwidth_utilization()) : "unknown share",
        " of the peak\n");
  }
  for (const v1::RejectedSample& rejected : report.rejected()) {
    absl::StrAppend(&text, terminal.Paint("rejected", Look::kWarn), " measurement ", rejected.index(), ": ",
                    client::Printable(rejected.reason()), "\n");
  }
  return text;
}

}  // namespace foretoken::cli
