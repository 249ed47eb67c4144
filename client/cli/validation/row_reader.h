// One row of a CSV of measurements by its columns, and the header above it.
#ifndef FORETOKEN_CLIENT_CLI_VALIDATION_ROW_READER_H_
#define FORETOKEN_CLIENT_CLI_VALIDATION_ROW_READER_H_

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "client/cli/text/csv.h"
#include "foretoken/v1/dtype.pb.h"
#include "google/protobuf/descriptor.h"

namespace foretoken::cli {

// Reads the header of `file`, the name in messages. Errors: INVALID_ARGUMENT: there is none, or columns are not
// `known`, stand twice, or are `needed` and missing; all are named.
absl::StatusOr<CsvRecord> ReadHeader(const std::string& file, const std::vector<std::string>& known,
                                     std::span<const char* const> needed, CsvReader& reader);

// One row's cells by column name; gathers what is wrong with them. A column that the file lacks is blank.
class RowReader {
 public:
  RowReader(const std::vector<std::string>& columns, const std::vector<std::string>& cells);

  std::string Text(const std::string& column) { return cells_[column]; }
  std::string Required(const std::string& column);

  // A whole number; nothing when blank.
  std::optional<int32_t> Whole(const std::string& column, int32_t least);
  int32_t RequiredWhole(const std::string& column, int32_t least);
  // The same, also as programs write it that count in fractions: "768.0". `least` when it is none.
  int32_t RequiredCount(const std::string& column, int32_t least);

  // A number of `unit` above 0; nothing when blank.
  std::optional<double> Positive(const std::string& column, const char* unit);
  std::optional<double> Time(const std::string& column) { return Positive(column, "seconds"); }
  // A finite number of at least 0; 0 when it is none.
  double RequiredNotNegative(const std::string& column);

  // Above 0 to 1; nothing when blank.
  std::optional<double> Share(const std::string& column);

  // A value of the enum; 0 when blank.
  int Enum(const std::string& column, const google::protobuf::EnumDescriptor& type);
  v1::Dtype Dtype(const std::string& column) { return static_cast<v1::Dtype>(Enum(column, *v1::Dtype_descriptor())); }

  void Fault(const std::string& text) { faults_.push_back(text); }

  // INVALID_ARGUMENT with every fault.
  absl::Status status() const;

 private:
  std::map<std::string, std::string> cells_;
  std::vector<std::string> faults_;
};

// "vllm@0.7.3", or "vllm" without a version, from the columns engine and engine_version.
std::string EngineOf(RowReader& row);

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_VALIDATION_ROW_READER_H_
