#include "tests/proto/api.h"

#include <google/protobuf/compiler/parser.h>
#include <google/protobuf/descriptor.pb.h>
#include <google/protobuf/duration.pb.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/timestamp.pb.h>

#include <cstdlib>
#include <fstream>
#include <iostream>

namespace foretoken::api {
namespace pb = google::protobuf;
namespace {

[[noreturn]] void Die(const std::string& message) {
  std::cerr << message << std::endl;
  std::abort();
}

// Prints what the parser complains about: a snippet that does not parse is a fault of the test.
class Complaints : public pb::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    std::cerr << line + 1 << ":" << column + 1 << ": " << message << std::endl;
  }
};

void AddFile(const pb::FileDescriptorProto& file, Api& api) {
  const pb::FileDescriptor* built = api.pool->BuildFile(file);
  if (built == nullptr) Die(file.name() + ": does not build");
  if (!file.package().starts_with("google.")) api.files.push_back(built);
}

void AddMessages(const pb::Descriptor& message, std::vector<const pb::Descriptor*>& messages) {
  if (message.options().map_entry()) return;
  messages.push_back(&message);
  for (int i = 0; i < message.nested_type_count(); ++i) AddMessages(*message.nested_type(i), messages);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Fault& fault) {
  return out << fault.rule << " " << fault.where << ": " << fault.what;
}

Api ReadApi(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  pb::FileDescriptorSet set;
  if (!in || !set.ParseFromIstream(&in)) Die(path + ": not a FileDescriptorSet");
  Api api{.pool = std::make_unique<pb::DescriptorPool>(), .files = {}};
  for (const pb::FileDescriptorProto& file : set.file()) AddFile(file, api);
  return api;
}

Api ParseApi(const std::vector<SourceFile>& files) {
  Api api{.pool = std::make_unique<pb::DescriptorPool>(pb::DescriptorPool::generated_pool()), .files = {}};
  pb::Timestamp::descriptor();  // links the well-known types that snippets import
  pb::Duration::descriptor();
  for (const SourceFile& file : files) {
    Complaints complaints;
    pb::io::ArrayInputStream text(file.text.data(), static_cast<int>(file.text.size()));
    pb::io::Tokenizer tokenizer(&text, &complaints);
    pb::compiler::Parser parser;
    parser.RecordErrorsTo(&complaints);
    pb::FileDescriptorProto parsed;
    if (!parser.Parse(&tokenizer, &parsed)) Die(file.name + ": does not parse");
    parsed.set_name(file.name);
    AddFile(parsed, api);
  }
  return api;
}

std::vector<const pb::Descriptor*> MessagesOf(const pb::FileDescriptor& file) {
  std::vector<const pb::Descriptor*> messages;
  for (int i = 0; i < file.message_type_count(); ++i) AddMessages(*file.message_type(i), messages);
  return messages;
}

std::vector<const pb::EnumDescriptor*> EnumsOf(const pb::FileDescriptor& file) {
  std::vector<const pb::EnumDescriptor*> enums;
  for (int i = 0; i < file.enum_type_count(); ++i) enums.push_back(file.enum_type(i));
  for (const pb::Descriptor* message : MessagesOf(file)) {
    for (int i = 0; i < message->enum_type_count(); ++i) enums.push_back(message->enum_type(i));
  }
  return enums;
}

}  // namespace foretoken::api
