#include "tests/proto/lint.h"

#include <google/protobuf/descriptor.pb.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/str_replace.h"

namespace foretoken::api {
namespace pb = google::protobuf;
namespace {

using Files = std::vector<const pb::FileDescriptor*>;

bool IsPascal(const std::string& name) { return std::regex_match(name, std::regex("[A-Z][A-Za-z0-9]*")); }
bool IsLowerSnake(const std::string& name) { return std::regex_match(name, std::regex("[a-z][a-z0-9]*(_[a-z0-9]+)*")); }
bool IsUpperSnake(const std::string& name) { return std::regex_match(name, std::regex("[A-Z][A-Z0-9]*(_[A-Z0-9]+)*")); }

// "KvCacheMode" -> "KV_CACHE_MODE".
std::string UpperSnake(const std::string& pascal) {
  return absl::AsciiStrToUpper(std::regex_replace(pascal, std::regex("([a-z0-9])([A-Z])"), "$1_$2"));
}

std::string Directory(const pb::FileDescriptor& file) {
  return std::filesystem::path(file.name()).parent_path().string();
}

// ---- Files and packages

void CheckFile(const pb::FileDescriptor& file, Faults& faults) {
  const std::string& package = file.package();
  if (file.syntax() != pb::FileDescriptor::SYNTAX_PROTO3) {
    faults.push_back({"SYNTAX_SPECIFIED", file.name(), "syntax is not proto3"});
  }
  if (!IsLowerSnake(std::filesystem::path(file.name()).stem().string())) {
    faults.push_back({"FILE_LOWER_SNAKE_CASE", file.name(), "file name is not lower_snake_case"});
  }
  if (package.empty()) {
    faults.push_back({"PACKAGE_DEFINED", file.name(), "no package"});
    return;
  }
  if (!std::regex_match(package, std::regex("[a-z][a-z0-9_]*(\\.[a-z][a-z0-9_]*)*"))) {
    faults.push_back({"PACKAGE_LOWER_SNAKE_CASE", file.name(), "package " + package});
  }
  if (!std::regex_match(package, std::regex(".*\\.v[1-9][0-9]*((alpha|beta)[1-9][0-9]*)?"))) {
    faults.push_back({"PACKAGE_VERSION_SUFFIX", file.name(), "package " + package + "; allowed ...v1, ...v1beta1"});
  }
  if (Directory(file) != absl::StrReplaceAll(package, {{".", "/"}})) {
    faults.push_back({"PACKAGE_DIRECTORY_MATCH", file.name(), "package " + package});
  }
}

// The files whose elements a file's messages and services name.
std::set<const pb::FileDescriptor*> FilesNamedBy(const pb::FileDescriptor& file) {
  std::set<const pb::FileDescriptor*> named;
  for (const pb::Descriptor* message : MessagesOf(file)) {
    for (int i = 0; i < message->field_count(); ++i) {
      const pb::FieldDescriptor* field = message->field(i);
      if (field->is_map()) field = field->message_type()->map_value();
      if (field->message_type() != nullptr) named.insert(field->message_type()->file());
      if (field->enum_type() != nullptr) named.insert(field->enum_type()->file());
    }
  }
  for (int s = 0; s < file.service_count(); ++s) {
    for (int m = 0; m < file.service(s)->method_count(); ++m) {
      named.insert(file.service(s)->method(m)->input_type()->file());
      named.insert(file.service(s)->method(m)->output_type()->file());
    }
  }
  return named;
}

void CheckImports(const pb::FileDescriptor& file, Faults& faults) {
  for (int i = 0; i < file.public_dependency_count(); ++i) {
    faults.push_back({"IMPORT_NO_PUBLIC", file.name(), "import public " + file.public_dependency(i)->name()});
  }
  for (int i = 0; i < file.weak_dependency_count(); ++i) {
    faults.push_back({"IMPORT_NO_WEAK", file.name(), "import weak " + file.weak_dependency(i)->name()});
  }
  const std::set<const pb::FileDescriptor*> named = FilesNamedBy(file);
  for (int i = 0; i < file.dependency_count(); ++i) {
    if (named.contains(file.dependency(i))) continue;
    faults.push_back({"IMPORT_USED", file.name(), "unused import of " + file.dependency(i)->name()});
  }
}

bool Reaches(const pb::FileDescriptor& from, const std::string& package) {
  for (int i = 0; i < from.dependency_count(); ++i) {
    const pb::FileDescriptor& next = *from.dependency(i);
    if (next.package() == package || Reaches(next, package)) return true;
  }
  return false;
}

// An import of another package is a cycle where any file of that package leads back.
void CheckImportCycles(const Files& files, Faults& faults) {
  for (const pb::FileDescriptor* file : files) {
    for (int i = 0; i < file->dependency_count(); ++i) {
      const std::string& other = file->dependency(i)->package();
      if (other == file->package()) continue;
      for (const pb::FileDescriptor* back : files) {
        if (back->package() != other || !Reaches(*back, file->package())) continue;
        faults.push_back({"PACKAGE_NO_IMPORT_CYCLE", file->name(), "import of " + other + " leads back"});
        break;
      }
    }
  }
}

void CheckPackageDirectories(const Files& files, Faults& faults) {
  std::map<std::string, std::string> package_of_directory;
  std::map<std::string, std::string> directory_of_package;
  for (const pb::FileDescriptor* file : files) {
    const std::string directory = Directory(*file);
    const std::string& package = package_of_directory.emplace(directory, file->package()).first->second;
    if (package != file->package()) {
      faults.push_back({"DIRECTORY_SAME_PACKAGE", file->name(), file->package() + " beside " + package});
    }
    const std::string& first = directory_of_package.emplace(file->package(), directory).first->second;
    if (first != directory) {
      faults.push_back({"PACKAGE_SAME_DIRECTORY", file->name(), file->package() + " is in " + first + " too"});
    }
  }
}

// PACKAGE_SAME_GO_PACKAGE and its six siblings: files of one package state one value of each language's option.
void CheckPackageOptions(const Files& files, Faults& faults) {
  std::map<std::pair<std::string, std::string>, std::string> first_value;
  for (const pb::FileDescriptor* file : files) {
    const pb::FileOptions& options = file->options();
    const std::pair<const char*, std::string> values[] = {
        {"CSHARP_NAMESPACE", options.csharp_namespace()},
        {"GO_PACKAGE", options.go_package()},
        {"JAVA_PACKAGE", options.java_package()},
        {"PHP_NAMESPACE", options.php_namespace()},
        {"RUBY_PACKAGE", options.ruby_package()},
        {"SWIFT_PREFIX", options.swift_prefix()},
        {"JAVA_MULTIPLE_FILES", options.java_multiple_files() ? "true" : "false"}};
    for (const auto& [option, value] : values) {
      const std::string& first = first_value.emplace(std::pair(file->package(), option), value).first->second;
      if (first == value) continue;
      faults.push_back({std::string("PACKAGE_SAME_") + option, file->name(), value + "; elsewhere " + first});
    }
  }
}

// ---- Enums, messages, services

void CheckEnumValues(const pb::EnumDescriptor& type, Faults& faults) {
  const std::string prefix = UpperSnake(type.name()) + "_";
  for (int i = 0; i < type.value_count(); ++i) {
    const pb::EnumValueDescriptor& value = *type.value(i);
    if (!IsUpperSnake(value.name())) {
      faults.push_back({"ENUM_VALUE_UPPER_SNAKE_CASE", value.full_name(), "not UPPER_SNAKE_CASE"});
    }
    if (!value.name().starts_with(prefix)) {
      faults.push_back({"ENUM_VALUE_PREFIX", value.full_name(), "does not begin with " + prefix});
    }
    if (value.number() == 0 && !value.name().ends_with("_UNSPECIFIED")) {
      faults.push_back({"ENUM_ZERO_VALUE_SUFFIX", value.full_name(), "does not end with _UNSPECIFIED"});
    }
  }
}

void CheckEnum(const pb::EnumDescriptor& type, Faults& faults) {
  if (!IsPascal(type.name())) faults.push_back({"ENUM_PASCAL_CASE", type.full_name(), "not PascalCase"});
  if (type.options().allow_alias()) faults.push_back({"ENUM_NO_ALLOW_ALIAS", type.full_name(), "allow_alias"});
  if (type.value(0)->number() != 0) {
    faults.push_back({"ENUM_FIRST_VALUE_ZERO", type.full_name(), "first value is not 0"});
  }
  CheckEnumValues(type, faults);
}

void CheckMessage(const pb::Descriptor& message, Faults& faults) {
  if (!IsPascal(message.name())) faults.push_back({"MESSAGE_PASCAL_CASE", message.full_name(), "not PascalCase"});
  for (int i = 0; i < message.field_count(); ++i) {
    const pb::FieldDescriptor& field = *message.field(i);
    if (!IsLowerSnake(field.name())) {
      faults.push_back({"FIELD_LOWER_SNAKE_CASE", field.full_name(), "not lower_snake_case"});
    }
    if (field.is_required()) faults.push_back({"FIELD_NOT_REQUIRED", field.full_name(), "required"});
  }
  for (int i = 0; i < message.real_oneof_decl_count(); ++i) {
    const pb::OneofDescriptor& oneof = *message.oneof_decl(i);
    if (IsLowerSnake(oneof.name())) continue;
    faults.push_back({"ONEOF_LOWER_SNAKE_CASE", oneof.full_name(), "not lower_snake_case"});
  }
}

// A request or response is named after its RPC, with the service's name before it or not.
bool IsStandardName(const std::string& name, const pb::MethodDescriptor& rpc, const std::string& suffix) {
  return name == rpc.name() + suffix || name == rpc.service()->name() + rpc.name() + suffix;
}

void CheckRpc(const pb::MethodDescriptor& rpc, std::map<std::string, std::string>& users, Faults& faults) {
  if (!IsPascal(rpc.name())) faults.push_back({"RPC_PASCAL_CASE", rpc.full_name(), "not PascalCase"});
  if (!IsStandardName(rpc.input_type()->name(), rpc, "Request")) {
    faults.push_back({"RPC_REQUEST_STANDARD_NAME", rpc.full_name(), "takes " + rpc.input_type()->name()});
  }
  if (!IsStandardName(rpc.output_type()->name(), rpc, "Response")) {
    faults.push_back({"RPC_RESPONSE_STANDARD_NAME", rpc.full_name(), "gives " + rpc.output_type()->name()});
  }
  for (const pb::Descriptor* type : {rpc.input_type(), rpc.output_type()}) {
    const auto [user, first] = users.emplace(type->full_name(), rpc.full_name());
    if (first) continue;
    faults.push_back({"RPC_REQUEST_RESPONSE_UNIQUE", rpc.full_name(), type->name() + " is used by " + user->second});
  }
}

}  // namespace

Faults CheckLint(const Api& api) {
  Faults faults;
  std::map<std::string, std::string> users_of_messages;
  for (const pb::FileDescriptor* file : api.files) {
    CheckFile(*file, faults);
    CheckImports(*file, faults);
    for (const pb::EnumDescriptor* type : EnumsOf(*file)) CheckEnum(*type, faults);
    for (const pb::Descriptor* message : MessagesOf(*file)) CheckMessage(*message, faults);
    for (int s = 0; s < file->service_count(); ++s) {
      const pb::ServiceDescriptor& service = *file->service(s);
      if (!IsPascal(service.name())) faults.push_back({"SERVICE_PASCAL_CASE", service.full_name(), "not PascalCase"});
      if (!service.name().ends_with("Service")) {
        faults.push_back({"SERVICE_SUFFIX", service.full_name(), "does not end with Service"});
      }
      for (int m = 0; m < service.method_count(); ++m) CheckRpc(*service.method(m), users_of_messages, faults);
    }
  }
  CheckImportCycles(api.files, faults);
  CheckPackageDirectories(api.files, faults);
  CheckPackageOptions(api.files, faults);
  return faults;
}

}  // namespace foretoken::api
