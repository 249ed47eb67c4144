// The value of an entry in etcd: decoded, and overlaid on a catalog as a replica does it. It is served, or skipped with
// a reason.
#include "google/protobuf/stubs/logging.h"
#include "server/catalog/entries/overlay.h"
#include "server/catalog/store/etcd/etcd_keys.h"
#include "tests/fuzz/fuzz.h"

namespace foretoken {
namespace {

void Overlaid(const catalog::StoredEntry& entry) {
  catalog::Overlay overlay{catalog::Bundle()};
  overlay.Apply({{entry}, entry.revision}, 0);
  const auto snapshot = overlay.MakeSnapshot();
  const size_t served = snapshot->hardware().size() + snapshot->models().size();
  fuzz::Require(served + overlay.skipped().size() == 1, "neither served nor skipped");
  for (const auto& [name, skipped] : overlay.skipped())
    fuzz::Require(!skipped.reason().empty(), "skipped without reason");
}

}  // namespace

void fuzz::One(std::string_view input) {
  google::protobuf::SetLogHandler(nullptr);
  const catalog::EtcdKeys keys("/f/");
  mvccpb::KeyValue kv;
  kv.set_mod_revision(7);
  kv.set_value(std::string(input));
  for (const char* key : {"/f/entries/hardware/x", "/f/entries/model/x"}) {
    kv.set_key(key);
    Overlaid(keys.Decode(kv, "id"));
  }
  kv.set_key("/f/history/hardware/x/0000000001");
  const auto revision = keys.DecodeRevision(catalog::EntryKind::kHardware, "x", kv, "id");
  Require(revision.fault.empty() || !revision.value, "a value beside a fault");
}

}  // namespace foretoken
