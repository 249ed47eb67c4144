#include "tests/proto/breaking.h"

#include <google/protobuf/descriptor.pb.h>

#include "absl/strings/str_cat.h"

namespace foretoken::api {
namespace pb = google::protobuf;
namespace {

// "optional", "repeated", or "singular" for a field whose absence is not told from zero.
std::string Cardinality(const pb::FieldDescriptor& field) {
  if (field.is_repeated()) return field.is_map() ? "map" : "repeated";
  if (field.is_required()) return "required";
  return field.has_presence() ? "optional" : "singular";
}

std::string TypeOf(const pb::FieldDescriptor& field) {
  if (field.message_type() != nullptr && !field.is_map()) return field.message_type()->full_name();
  if (field.enum_type() != nullptr) return field.enum_type()->full_name();
  return field.type_name();
}

std::string OneofOf(const pb::FieldDescriptor& field) {
  return field.real_containing_oneof() == nullptr ? "none" : field.real_containing_oneof()->name();
}

void CheckSame(const std::string& rule, const std::string& where, const std::string& old_value,
               const std::string& new_value, Faults& faults) {
  if (old_value != new_value) faults.push_back({rule, where, absl::StrCat("was ", old_value, ", is ", new_value)});
}

void CheckField(const pb::FieldDescriptor& old_field, const pb::Descriptor& message, Faults& faults) {
  const std::string& where = old_field.full_name();
  const pb::FieldDescriptor* field = message.FindFieldByNumber(old_field.number());
  if (field == nullptr) {
    const bool moved = message.FindFieldByName(old_field.name()) != nullptr;
    faults.push_back({moved ? "FIELD_SAME_NUMBER" : "FIELD_NO_DELETE", where,
                      absl::StrCat("number ", old_field.number(), " is gone")});
    return;
  }
  CheckSame("FIELD_SAME_NAME", where, old_field.name(), field->name(), faults);
  CheckSame("FIELD_SAME_JSON_NAME", where, old_field.json_name(), field->json_name(), faults);
  CheckSame("FIELD_SAME_TYPE", where, TypeOf(old_field), TypeOf(*field), faults);
  CheckSame("FIELD_SAME_CARDINALITY", where, Cardinality(old_field), Cardinality(*field), faults);
  CheckSame("FIELD_SAME_ONEOF", where, OneofOf(old_field), OneofOf(*field), faults);
  if (!old_field.is_map() || !field->is_map()) return;
  for (int i = 0; i < 2; ++i) CheckField(*old_field.message_type()->field(i), *field->message_type(), faults);
}

// Numbers and names that the old message or enum reserved. A range may be cut in several, as long as all is covered.
template <typename Element>
void CheckReserved(const Element& old_element, const Element& element, int range_end_is_inclusive, Faults& faults) {
  for (int i = 0; i < old_element.reserved_range_count(); ++i) {
    const auto* range = old_element.reserved_range(i);
    for (int number = range->start; number < range->end + range_end_is_inclusive; ++number) {
      if (element.IsReservedNumber(number)) continue;
      faults.push_back({"RESERVED_NO_DELETE", old_element.full_name(), absl::StrCat("number ", number)});
    }
  }
  for (int i = 0; i < old_element.reserved_name_count(); ++i) {
    if (element.IsReservedName(old_element.reserved_name(i))) continue;
    faults.push_back({"RESERVED_NO_DELETE", old_element.full_name(), "name " + old_element.reserved_name(i)});
  }
}

void CheckMessage(const pb::Descriptor& old_message, const Api& current, Faults& faults) {
  const pb::Descriptor* message = current.pool->FindMessageTypeByName(old_message.full_name());
  if (message == nullptr) {
    faults.push_back({"MESSAGE_NO_DELETE", old_message.full_name(), "is gone"});
    return;
  }
  for (int i = 0; i < old_message.field_count(); ++i) CheckField(*old_message.field(i), *message, faults);
  CheckReserved(old_message, *message, 0, faults);
}

void CheckEnum(const pb::EnumDescriptor& old_enum, const Api& current, Faults& faults) {
  const pb::EnumDescriptor* type = current.pool->FindEnumTypeByName(old_enum.full_name());
  if (type == nullptr) {
    faults.push_back({"ENUM_NO_DELETE", old_enum.full_name(), "is gone"});
    return;
  }
  for (int i = 0; i < old_enum.value_count(); ++i) {
    const pb::EnumValueDescriptor& old_value = *old_enum.value(i);
    const pb::EnumValueDescriptor* value = type->FindValueByNumber(old_value.number());
    if (value == nullptr) {
      faults.push_back({"ENUM_VALUE_NO_DELETE", old_value.full_name(), absl::StrCat(old_value.number(), " is gone")});
      continue;
    }
    CheckSame("ENUM_VALUE_SAME_NAME", old_value.full_name(), old_value.name(), value->name(), faults);
  }
  CheckReserved(old_enum, *type, 1, faults);
}

void CheckRpc(const pb::MethodDescriptor& old_rpc, const pb::ServiceDescriptor& service, Faults& faults) {
  const std::string& where = old_rpc.full_name();
  const pb::MethodDescriptor* rpc = service.FindMethodByName(old_rpc.name());
  if (rpc == nullptr) {
    faults.push_back({"RPC_NO_DELETE", where, "is gone"});
    return;
  }
  const auto streams = [](bool streaming) { return streaming ? "a stream" : "one message"; };
  CheckSame("RPC_SAME_REQUEST_TYPE", where, old_rpc.input_type()->full_name(), rpc->input_type()->full_name(), faults);
  CheckSame("RPC_SAME_RESPONSE_TYPE", where, old_rpc.output_type()->full_name(), rpc->output_type()->full_name(),
            faults);
  CheckSame("RPC_SAME_CLIENT_STREAMING", where, streams(old_rpc.client_streaming()), streams(rpc->client_streaming()),
            faults);
  CheckSame("RPC_SAME_SERVER_STREAMING", where, streams(old_rpc.server_streaming()), streams(rpc->server_streaming()),
            faults);
}

void CheckService(const pb::ServiceDescriptor& old_service, const Api& current, Faults& faults) {
  const pb::ServiceDescriptor* service = current.pool->FindServiceByName(old_service.full_name());
  if (service == nullptr) {
    faults.push_back({"SERVICE_NO_DELETE", old_service.full_name(), "is gone"});
    return;
  }
  for (int i = 0; i < old_service.method_count(); ++i) CheckRpc(*old_service.method(i), *service, faults);
}

// Options that decide how stubs are named: who imports stubs by these names has to change with them.
void CheckFileOptions(const pb::FileDescriptor& old_file, const pb::FileDescriptor& file, Faults& faults) {
  const pb::FileOptions& before = old_file.options();
  const pb::FileOptions& after = file.options();
  const auto files = [](const pb::FileOptions& options) { return options.java_multiple_files() ? "many" : "one"; };
  CheckSame("FILE_SAME_GO_PACKAGE", file.name(), before.go_package(), after.go_package(), faults);
  CheckSame("FILE_SAME_JAVA_PACKAGE", file.name(), before.java_package(), after.java_package(), faults);
  CheckSame("FILE_SAME_JAVA_MULTIPLE_FILES", file.name(), files(before), files(after), faults);
  CheckSame("FILE_SAME_JAVA_OUTER_CLASSNAME", file.name(), before.java_outer_classname(), after.java_outer_classname(),
            faults);
  CheckSame("FILE_SAME_OBJC_CLASS_PREFIX", file.name(), before.objc_class_prefix(), after.objc_class_prefix(), faults);
}

}  // namespace

Faults CheckBreaking(const Api& baseline, const Api& current) {
  Faults faults;
  for (const pb::FileDescriptor* file : baseline.files) {
    const pb::FileDescriptor* now = current.pool->FindFileByName(file->name());
    if (now == nullptr) {
      faults.push_back({"FILE_NO_DELETE", file->name(), "is gone"});
    } else {
      CheckFileOptions(*file, *now, faults);
    }
    for (const pb::Descriptor* message : MessagesOf(*file)) CheckMessage(*message, current, faults);
    for (const pb::EnumDescriptor* type : EnumsOf(*file)) CheckEnum(*type, current, faults);
    for (int i = 0; i < file->service_count(); ++i) CheckService(*file->service(i), current, faults);
  }
  return faults;
}

}  // namespace foretoken::api
