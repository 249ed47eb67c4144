// Reads a config.json field by field and records which fields were read, so that unread fields can be reported.
//
//   ConfigReader config(json);
//   spec.set_hidden_size(config.Int("hidden_size"));
//   ...
//   absl::Status status = config.Finish(ignore);  // every fault, and every unread field
#ifndef FORETOKEN_CLIENT_CLI_HUGGINGFACE_CONFIG_READER_H_
#define FORETOKEN_CLIENT_CLI_HUGGINGFACE_CONFIG_READER_H_

#include <google/protobuf/struct.pb.h>

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace foretoken::cli {

class ConfigReader {
 public:
  // Names of fields in messages begin with `prefix`. REQUIRES: the struct outlives the reader.
  explicit ConfigReader(const google::protobuf::Struct& config, std::string prefix = "")
      : config_(config), prefix_(std::move(prefix)) {}

  // A field that is null is absent.
  bool Has(const std::string& name) const;

  // A whole number; 0 and a fault if it is absent. Of several names the first that is present is read.
  int32_t FirstInt(const std::vector<std::string>& names);
  int32_t Int(const std::string& name) { return FirstInt({name}); }
  std::optional<int32_t> MaybeInt(const std::string& name);
  bool Bool(const std::string& name, bool when_absent);
  std::string Text(const std::string& name);  // empty if it is absent
  std::vector<std::string> Texts(const std::string& name);
  std::vector<double> Numbers(const std::string& name);
  const google::protobuf::Struct* Object(const std::string& name);  // null if it is absent

  // The field must be absent, null, false, 0 or empty: what it switches on has no place in a ModelSpec.
  void MustBeOff(const std::string& name);
  void MustBeInt(const std::string& name, int32_t allowed);  // or absent
  void Ignore(const std::vector<std::string>& names) { read_.insert(names.begin(), names.end()); }

  void Fault(const std::string& name, const std::string& what);
  // Takes over the faults and the unread fields of the reader of an object of this config.
  void Take(const ConfigReader& object);

  // INVALID_ARGUMENT naming every fault and every unread field; OK if there is none.
  absl::Status Finish(const std::string& file, const std::vector<std::string>& ignore) const;

 private:
  const google::protobuf::Value* Read(const std::string& name);
  std::vector<std::string> Unread(const std::vector<std::string>& ignore) const;

  const google::protobuf::Struct& config_;
  const std::string prefix_;
  std::set<std::string> read_;
  std::vector<std::string> faults_;
  std::vector<std::string> unread_;  // of objects
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_HUGGINGFACE_CONFIG_READER_H_
