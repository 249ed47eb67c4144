#include "server/catalog/entries/bundle.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "estimator/base/errors.h"
#include "server/catalog/entries/bundle_checks.h"
#include "server/catalog/entries/entry_kind.h"
#include "server/catalog/spec/aliases.h"
#include "server/catalog/spec/calibration_spec.h"
#include "server/catalog/spec/digest.h"
#include "server/catalog/spec/text_limits.h"

namespace foretoken::catalog {
namespace {

namespace fs = std::filesystem;

constexpr char kExtension[] = ".textproto";
constexpr char kCalibrationsFolder[] = "calibrations";

// What became of some files: entries, and everything that is wrong with them.
struct Reading {
  Bundle bundle;
  std::vector<v1::CalibrationSpec> calibration_specs;
  std::vector<Calibration> calibrations;
  std::vector<std::string> faults;
  std::map<std::string, std::string> files;  // by kind and id: where each id was first seen
};

// Files of one folder by name. A folder that is not there or holds none is a fault.
std::vector<CatalogFile> ReadFolder(const fs::path& dir, const std::string& folder, std::vector<std::string>& faults) {
  std::vector<CatalogFile> files;
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(dir / folder, error)) {
    if (entry.path().extension() != kExtension) continue;
    const std::string path = absl::StrCat(folder, "/", entry.path().filename().string());
    std::ifstream in(entry.path(), std::ios::binary);
    std::ostringstream contents;
    contents << in.rdbuf();
    std::error_code unknown;
    if (in && !fs::is_directory(entry.path(), unknown)) {
      files.push_back({path, contents.str()});
    } else {
      faults.push_back(absl::StrCat(path, ": cannot be read"));
    }
  }
  if (error) faults.push_back(absl::StrCat(folder, ": ", error.message()));
  if (!error && files.empty()) faults.push_back(absl::StrCat(folder, ": holds no ", kExtension, " file"));
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return files;
}

// Parses a file; false where it is no such message.
bool ParseFile(const CatalogFile& file, google::protobuf::Message& spec, Reading& reading) {
  const std::vector<std::string> faults = ParseText(file.contents, spec);
  for (const std::string& fault : faults) reading.faults.push_back(absl::StrCat(file.path, ":", fault));
  return faults.empty();
}

// What is wrong with a parsed spec of any kind, without its file's name. `parsed` is what its parser said.
template <typename Spec>
std::vector<std::string> CheckSpec(const CatalogFile& file, const Spec& spec, const absl::Status& parsed) {
  std::vector<std::string> faults;
  const std::string stem = fs::path(file.path).stem().string();
  if (spec.id() != stem) faults.push_back(absl::StrCat("id: \"", spec.id(), "\" in a file named \"", stem, "\""));
  for (const absl::Status& status : {parsed, CheckTexts(spec)}) {
    // A description begins with the field.
    for (const FieldViolation& violation : DetailOf(status).violations) faults.push_back(violation.description);
  }
  return faults;
}

void NoteFaults(const CatalogFile& file, const std::vector<std::string>& faults, Reading& reading) {
  for (const std::string& fault : faults) reading.faults.push_back(absl::StrCat(file.path, ": ", fault));
}

template <typename Kind>
void ReadFile(const CatalogFile& file, std::vector<typename Kind::Record>& records, Reading& reading) {
  typename Kind::Spec spec;
  if (!ParseFile(file, spec, reading)) return;
  absl::StatusOr<typename Kind::Record> record = Kind::Parse(spec);
  NoteFaults(file, CheckSpec(file, spec, record.status()), reading);
  const auto [first, fresh] = reading.files.emplace(absl::StrCat(Kind::kFolder, "/", spec.id()), file.path);
  if (!fresh) NoteFaults(file, {absl::StrCat("id: \"", spec.id(), "\" is also in ", first->second)}, reading);
  NoteFaults(file, UnsourcedNumbers(spec), reading);
  if (!record.ok()) return;
  record->entry.set_etag(BundledEtag(spec));
  record->entry.set_origin(v1::ENTRY_ORIGIN_BUNDLED);
  records.push_back(*std::move(record));
}

// A calibration's file; the numbers' source is the measurements that it names.
void ReadCalibration(const CatalogFile& file, Reading& reading) {
  v1::CalibrationSpec spec;
  if (!ParseFile(file, spec, reading)) return;
  absl::StatusOr<Calibration> calibration = ParseCalibration(spec);
  NoteFaults(file, CheckSpec(file, spec, calibration.status()), reading);
  if (!calibration.ok()) return;
  reading.calibrations.push_back(*std::move(calibration));
  reading.calibration_specs.push_back(std::move(spec));
}

// Notes each alias that another entry has as id or alias.
template <typename Kind>
void CheckNames(const std::vector<typename Kind::Record>& records, Reading& reading) {
  std::map<std::string, std::string> owners;  // ids by names
  for (const auto& record : records) owners.emplace(record.entry.spec().id(), record.entry.spec().id());
  for (const auto& record : records) {
    const typename Kind::Spec& spec = record.entry.spec();
    for (int i = 0; i < spec.aliases_size(); ++i) {
      const std::string& owner = owners.emplace(Folded(spec.aliases(i)), spec.id()).first->second;
      if (owner == spec.id()) continue;
      reading.faults.push_back(absl::StrCat(Kind::kFolder, "/", spec.id(), kExtension, ": aliases[", i,
                                            "]: ", Quoted(spec.aliases(i)), " is a name of ", Quoted(owner), " too"));
    }
  }
}

void ReadFiles(const std::vector<CatalogFile>& files, Reading& reading) {
  std::string contents;
  for (const CatalogFile& file : files) {
    absl::StrAppend(&contents, file.path, "\n", file.contents);
    const std::string folder = fs::path(file.path).parent_path().string();
    if (folder == HardwareKind::kFolder) ReadFile<HardwareKind>(file, reading.bundle.hardware, reading);
    if (folder == ModelKind::kFolder) ReadFile<ModelKind>(file, reading.bundle.models, reading);
    if (folder == kCalibrationsFolder) ReadCalibration(file, reading);
  }
  CheckNames<HardwareKind>(reading.bundle.hardware, reading);
  CheckNames<ModelKind>(reading.bundle.models, reading);
  for (const v1::CalibrationSpec& spec : reading.calibration_specs) {
    if (HasItsFamily(spec, reading.calibration_specs)) continue;
    reading.faults.push_back(absl::StrCat(kCalibrationsFolder, "/", spec.id(),
                                          ".textproto: model_id: no calibration of its hardware and engine beside it"));
  }
  std::sort(reading.calibration_specs.begin(), reading.calibration_specs.end(),
            [](const auto& a, const auto& b) { return a.id() < b.id(); });
  reading.bundle.calibrations =
      std::make_shared<ShippedCalibrations>(std::move(reading.calibration_specs), std::move(reading.calibrations));
  reading.bundle.digest = Sha256Hex(contents);
}

Reading ReadDirectory(const std::string& dir) {
  Reading reading;
  std::vector<CatalogFile> files;
  std::vector<std::string> folders = {HardwareKind::kFolder, ModelKind::kFolder};  // in order of their names
  if (fs::is_directory(fs::path(dir) / kCalibrationsFolder)) folders.insert(folders.begin(), kCalibrationsFolder);
  for (const std::string& folder : folders) {
    for (CatalogFile& file : ReadFolder(dir, folder, reading.faults)) files.push_back(std::move(file));
  }
  ReadFiles(files, reading);
  return reading;
}

absl::StatusOr<Bundle> BundleOf(Reading reading) {
  if (reading.faults.empty()) return std::move(reading.bundle);
  return absl::InvalidArgumentError(
      absl::StrCat(reading.faults.size(), " fault(s) in the catalog:\n", absl::StrJoin(reading.faults, "\n")));
}

}  // namespace

std::vector<std::string> CheckBundle(const std::string& dir) { return ReadDirectory(dir).faults; }

absl::StatusOr<Bundle> LoadBundle(const std::string& dir) {
  if (!fs::is_directory(dir)) return absl::NotFoundError(absl::StrCat("catalog folder ", dir, " is not there"));
  return BundleOf(ReadDirectory(dir));
}

absl::StatusOr<Bundle> ParseBundle(const std::vector<CatalogFile>& files) {
  Reading reading;
  ReadFiles(files, reading);
  return BundleOf(std::move(reading));
}

}  // namespace foretoken::catalog
