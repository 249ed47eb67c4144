# Writes the files of a catalog as a C++ source: cmake -DCATALOG=DIR -DOUTPUT=FILE -P embed_catalog.cmake
file(GLOB files RELATIVE ${CATALOG} ${CATALOG}/hardware/*.textproto ${CATALOG}/models/*.textproto
     ${CATALOG}/calibrations/*.textproto)
list(SORT files)
file(WRITE ${OUTPUT}.new [[
#include "server/catalog/entries/embedded.h"

namespace foretoken::catalog {

const std::vector<CatalogFile>& EmbeddedFiles() {
  static const std::vector<CatalogFile> files = {
]])
foreach(path IN LISTS files)
  file(READ ${CATALOG}/${path} contents)
  file(APPEND ${OUTPUT}.new "{\"${path}\", R\"textproto(${contents})textproto\"},\n")
endforeach()
file(APPEND ${OUTPUT}.new [[
  };
  return files;
}

absl::StatusOr<Bundle> LoadEmbeddedBundle() { return ParseBundle(EmbeddedFiles()); }

}  // namespace foretoken::catalog
]])
file(RENAME ${OUTPUT}.new ${OUTPUT})
