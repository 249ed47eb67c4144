#include "client/cli/scenario/message_file.h"

#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/text_format.h>
#include <google/protobuf/util/json_util.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <vector>

#include "absl/strings/str_cat.h"

namespace foretoken::cli {
namespace {

constexpr size_t kMostBytes = size_t{64} << 20;  // more than the server takes as a message
constexpr size_t kBlockBytes = size_t{64} << 10;

// Gathers a parser's complaints as lines "file:line:column: message".
class ErrorLines : public google::protobuf::io::ErrorCollector {
 public:
  explicit ErrorLines(std::string file) : file_(std::move(file)) {}
  void AddError(int line, google::protobuf::io::ColumnNumber column, const std::string& message) override {
    absl::StrAppend(&text_, text_.empty() ? "" : "\n", file_, ":", line + 1, ":", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  const std::string file_;
  std::string text_;
};

std::string Name(const std::string& file) { return file == "-" ? "standard input" : file; }

absl::Status CannotBeRead(const std::string& file) {
  const char* why = errno == 0 ? "it is closed" : std::strerror(errno);
  return absl::InvalidArgumentError(absl::StrCat(Name(file), ": cannot be read: ", why));
}

// By blocks, with read(): iterators throw if the file is a directory.
absl::StatusOr<std::string> ReadAll(const std::string& file, std::istream& stream) {
  std::string text;
  std::vector<char> block(kBlockBytes);
  errno = 0;
  while (stream) {
    stream.read(block.data(), static_cast<std::streamsize>(block.size()));
    text.append(block.data(), static_cast<size_t>(stream.gcount()));
    if (text.size() <= kMostBytes) continue;
    return absl::InvalidArgumentError(absl::StrCat(Name(file), ": longer than allowed: ", kMostBytes, " bytes"));
  }
  if (stream.bad()) return CannotBeRead(file);
  return text;
}

absl::Status ParseJson(const std::string& text, const std::string& file, google::protobuf::Message& message) {
  const auto status = google::protobuf::util::JsonStringToMessage(text, &message);
  if (status.ok()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(Name(file), ": ", std::string(status.message())));
}

}  // namespace

absl::StatusOr<std::string> ReadText(const std::string& file, std::istream& in) {
  if (file == "-") return ReadAll(file, in);
  errno = 0;
  std::ifstream stream(file, std::ios::binary);
  if (!stream.is_open()) return CannotBeRead(file);
  return ReadAll(file, stream);
}

absl::Status WriteText(const std::string& file, const std::string& text) {
  std::error_code ignored;
  const bool special = std::filesystem::exists(file, ignored) && !std::filesystem::is_regular_file(file, ignored);
  const std::string beside = special ? file : file + ".part";
  std::ofstream out(beside, std::ios::binary);
  out << text;
  out.close();
  if (out.good() && (special || std::rename(beside.c_str(), file.c_str()) == 0)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(file, " cannot be written"));
}

bool LooksLikeJson(const std::string& text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string::npos && text[first] == '{';
}

absl::Status ParseMessage(const std::string& text, const std::string& file, google::protobuf::Message& message) {
  if (LooksLikeJson(text)) return ParseJson(text, file, message);
  ErrorLines errors(Name(file));
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&errors);
  if (parser.ParseFromString(text, &message)) return absl::OkStatus();
  return absl::InvalidArgumentError(errors.text());
}

absl::Status ReadMessage(const std::string& file, std::istream& in, google::protobuf::Message& message) {
  const absl::StatusOr<std::string> text = ReadText(file, in);
  if (!text.ok()) return text.status();
  return ParseMessage(*text, file, message);
}

std::string ToJson(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  return status.ok() ? text : absl::StrCat("{\"error\": \"", std::string(status.message()), "\"}\n");
}

}  // namespace foretoken::cli
