// A set of .proto files as descriptors: the API under test, its committed baseline, or a snippet in a test. Example:
//
//   Api api = ReadApi(FORETOKEN_DESCRIPTOR_SET);
//   for (const FileDescriptor* file : api.files) { ... }
//
// Test code: what cannot be read ends the test binary with a message.
#ifndef FORETOKEN_TESTS_PROTO_API_H_
#define FORETOKEN_TESTS_PROTO_API_H_

#include <google/protobuf/descriptor.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace foretoken::api {

struct Api {
  std::unique_ptr<google::protobuf::DescriptorPool> pool;
  std::vector<const google::protobuf::FileDescriptor*> files;  // ours: without the imports under google/
};

struct SourceFile {
  std::string name;  // path as imports write it
  std::string text;
};

// A rule that something breaks.
struct Fault {
  std::string rule;   // "ENUM_VALUE_PREFIX"
  std::string where;  // full name of the element, or the file
  std::string what;   // found and allowed
};
using Faults = std::vector<Fault>;
std::ostream& operator<<(std::ostream& out, const Fault& fault);

// Reads a serialised FileDescriptorSet that holds its imports.
Api ReadApi(const std::string& path);

// Parses files, each after those that it imports. Files of google.protobuf may be imported without being given.
Api ParseApi(const std::vector<SourceFile>& files);

// Messages and enums of a file, nested ones too; without the entries of maps.
std::vector<const google::protobuf::Descriptor*> MessagesOf(const google::protobuf::FileDescriptor& file);
std::vector<const google::protobuf::EnumDescriptor*> EnumsOf(const google::protobuf::FileDescriptor& file);

}  // namespace foretoken::api

#endif  // FORETOKEN_TESTS_PROTO_API_H_
