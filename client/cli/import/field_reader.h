// Reads the fields of one record by their paths ("performance.avg_ttft_ms", "phases[1].name"). It gathers what is wrong
// with them, and knows which were read, so that the others can be named.
//
// A field that is null or an empty text is absent (GenAI-Perf writes "" for null), as is one that the user ignores.
#ifndef FORETOKEN_CLIENT_CLI_IMPORT_FIELD_READER_H_
#define FORETOKEN_CLIENT_CLI_IMPORT_FIELD_READER_H_

#include <google/protobuf/struct.pb.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

namespace foretoken::cli {

// Of which make a second.
inline constexpr double kMilliseconds = 1e3;
inline constexpr double kMicroseconds = 1e6;
inline constexpr double kNanoseconds = 1e9;

class FieldReader {
 public:
  struct Fault {
    std::string path;
    std::string what;
  };

  // REQUIRES: both outlive the reader.
  FieldReader(const google::protobuf::Struct& fields, const std::set<std::string>& ignored)
      : fields_(fields), ignored_(ignored) {}

  bool Has(const std::string& path) const { return Find(path) != nullptr; }
  std::string Text(const std::string& path);
  // Whether the field is the text, in either case; then it counts as read.
  bool Is(const std::string& path, const std::string& text);
  // A whole number of at least `least`.
  std::optional<int32_t> Count(const std::string& path, int32_t least);
  // A finite number above 0.
  std::optional<double> Positive(const std::string& path);
  // A time of which `per_second` make a second (1000: milliseconds), as seconds. 0 is nothing, because tools write 0
  // where they measured nothing.
  std::optional<double> Seconds(const std::string& path, double per_second);
  // Elements of the array at `path`; 0 if there is none.
  int Size(const std::string& path);

  // The field must be absent, false, 0, empty, "false" or "none", because `why`.
  void MustBeOff(const std::string& path, const std::string& why);
  void AddFault(const std::string& path, const std::string& what) { faults_.push_back({path, what}); }
  // The text of the field in messages.
  std::string Shown(const std::string& path) const;

  // The ignored fields that the record has.
  std::vector<std::string> IgnoredHere() const;

  const std::vector<Fault>& faults() const { return faults_; }

  // Paths of fields that nothing read, those of objects field by field where something in them was read. A field that
  // says nothing (null, false, 0, empty) is left out.
  std::vector<std::string> Unread() const;

 private:
  const google::protobuf::Value* Find(const std::string& path) const;
  const google::protobuf::Value* FindAll(const std::string& path) const;  // also what is ignored
  const google::protobuf::Value* Read(const std::string& path);
  std::optional<double> Number(const std::string& path);
  bool ReadBelow(const std::string& path) const;
  bool Ignored(const std::string& path) const;
  void AddUnread(const google::protobuf::Struct& fields, const std::string& prefix,
                 std::vector<std::string>& unread) const;

  const google::protobuf::Struct& fields_;
  const std::set<std::string>& ignored_;
  std::set<std::string> read_;
  std::vector<Fault> faults_;
};

}  // namespace foretoken::cli

#endif  // FORETOKEN_CLIENT_CLI_IMPORT_FIELD_READER_H_
