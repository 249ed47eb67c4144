// A temporary folder of one test.
#ifndef FORETOKEN_TESTS_CATALOG_TEMPORARY_FOLDER_H_
#define FORETOKEN_TESTS_CATALOG_TEMPORARY_FOLDER_H_

#include <cstdlib>
#include <filesystem>
#include <string>

namespace foretoken::catalog {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "foretoken-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code error;  // what a dying process still writes there is no fault of the test
    std::filesystem::remove_all(path_, error);
  }
  std::string File(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace foretoken::catalog

#endif  // FORETOKEN_TESTS_CATALOG_TEMPORARY_FOLDER_H_
