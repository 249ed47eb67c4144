#include "server/catalog/entries/bundle_checks.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "foretoken/v1/source.pb.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/io/tokenizer.h"
#include "google/protobuf/text_format.h"

namespace foretoken::catalog {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

class Collector : public google::protobuf::io::ErrorCollector {
 public:
  // Lines and columns count from 0 here; -1: the file as a whole.
  void AddError(int line, int column, const std::string& message) override {
    faults_.push_back(line < 0 ? message : absl::StrCat(line + 1, ":", column + 1, ": ", message));
  }
  std::vector<std::string> Take() { return std::move(faults_); }

 private:
  std::vector<std::string> faults_;
};

bool IsNumber(const FieldDescriptor& field) {
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
    case FieldDescriptor::CPPTYPE_INT64:
    case FieldDescriptor::CPPTYPE_UINT32:
    case FieldDescriptor::CPPTYPE_UINT64:
    case FieldDescriptor::CPPTYPE_DOUBLE:
    case FieldDescriptor::CPPTYPE_FLOAT:
      return true;
    default:
      return false;
  }
}

// Paths of the numbers that are set, those of repeated messages included under the path of the list.
void CollectNumbers(const Message& message, const std::string& prefix, std::vector<std::string>& paths) {
  const google::protobuf::Reflection& reflection = *message.GetReflection();
  std::vector<const FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    const std::string path = prefix + field->name();
    if (field->name() == "sources") continue;
    if (IsNumber(*field)) paths.push_back(path);
    if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      CollectNumbers(reflection.GetMessage(message, field), path + ".", paths);
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i) {
      CollectNumbers(reflection.GetRepeatedMessage(message, field, i), path + ".", paths);
    }
  }
}

bool Covers(const v1::Source& source, const std::string& path) {
  if (source.fields_size() == 0) return true;
  for (const std::string& field : source.fields()) {
    if (path == field || absl::StartsWith(path, absl::StrCat(field, "."))) return true;
  }
  return false;
}

std::vector<v1::Source> SourcesOf(const Message& spec) {
  const FieldDescriptor* field = spec.GetDescriptor()->FindFieldByName("sources");
  std::vector<v1::Source> sources;
  for (int i = 0; i < spec.GetReflection()->FieldSize(spec, field); ++i) {
    sources.emplace_back().CopyFrom(spec.GetReflection()->GetRepeatedMessage(spec, field, i));
  }
  return sources;
}

}  // namespace

std::vector<std::string> ParseText(const std::string& text, Message& message) {
  Collector collector;
  google::protobuf::TextFormat::Parser parser;
  parser.RecordErrorsTo(&collector);
  const bool parsed = parser.ParseFromString(text, &message);
  std::vector<std::string> faults = collector.Take();
  if (!parsed && faults.empty()) faults.push_back("not a textproto");
  return faults;
}

std::vector<std::string> UnsourcedNumbers(const Message& spec) {
  const std::vector<v1::Source> sources = SourcesOf(spec);
  std::vector<std::string> numbers;
  CollectNumbers(spec, "", numbers);
  std::vector<std::string> faults;
  for (const std::string& path : numbers) {
    bool covered = false;
    for (const v1::Source& source : sources) covered = covered || Covers(source, path);
    if (!covered) faults.push_back(absl::StrCat(path, ": no source states it"));
  }
  return faults;
}

}  // namespace foretoken::catalog
