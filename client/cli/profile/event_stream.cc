#include "client/cli/profile/event_stream.h"

#include "absl/strings/str_cat.h"

namespace foretoken::cli {

absl::Status EventStream::EndLine(const OnEvent& on_event) {
  std::string_view line = line_;
  if (line.ends_with('\r')) line.remove_suffix(1);
  absl::Status status;
  if (line.empty() && has_data_) {
    status = on_event(data_);
    data_.clear();
    has_data_ = false;
  } else if (line.starts_with("data:")) {
    line.remove_prefix(line.starts_with("data: ") ? 6 : 5);
    if (has_data_) data_ += '\n';
    data_ += line;
    has_data_ = true;
  }
  line_.clear();
  return status;
}

absl::Status EventStream::Add(std::string_view bytes, const OnEvent& on_event) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    line_.append(bytes.substr(0, end));
    if (line_.size() + data_.size() > kMaxEventBytes) {
      return absl::ResourceExhaustedError(
          absl::StrCat("an event of over ", kMaxEventBytes, " bytes; allowed: at most that"));
    }
    if (end == std::string_view::npos) return absl::OkStatus();
    bytes.remove_prefix(end + 1);
    if (absl::Status status = EndLine(on_event); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status EventStream::Finish() const {
  if (line_.empty() && !has_data_) return absl::OkStatus();
  return absl::DataLossError("the stream ends within an event");
}

}  // namespace foretoken::cli
