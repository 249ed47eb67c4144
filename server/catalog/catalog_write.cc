// The writes of the catalog, and its history.
#include <utility>

#include "absl/strings/str_cat.h"
#include "estimator/base/errors.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/entry_kind.h"
#include "server/catalog/spec/field_checker.h"
#include "server/catalog/spec/parse.h"
#include "server/catalog/spec/text_limits.h"

namespace foretoken::catalog {
namespace {

// A refusal as the caller of a write has to see it: the store knows of no bundled entries, so where the etag stood for
// one (`named_bundled`) it was asked to create, and where nothing is registered it has no etag to tell.
absl::Status WithBundledEtag(const absl::Status& refusal, const std::string& bundled_etag, bool named_bundled) {
  RefusalDetail detail = DetailOf(refusal);
  if (named_bundled && detail.reason == Reason::kAlreadyExists) {
    const std::string found = absl::StrCat("etag \"", bundled_etag, "\" is of the bundled entry; the current one is \"",
                                           detail.current_etag, "\" of a registered one");
    detail.reason = Reason::kEtagMismatch;
    detail.violations = {{"etag", found}};
    return RefusalWithDetail(found, detail);
  }
  if (detail.reason != Reason::kEtagMismatch || !detail.current_etag.empty() || bundled_etag.empty()) return refusal;
  detail.current_etag = bundled_etag;
  return RefusalWithDetail(absl::StrCat(refusal.message(), "; the bundled entry has etag \"", bundled_etag, "\""),
                           detail);
}

// The etag of the bundled entry of this id; empty: there is none.
template <typename Record>
std::string BundledEtagOf(const Collection<Record>& bundled, const std::string& id) {
  const Record* const record = bundled.ById(id);
  return record == nullptr ? "" : record->entry.etag();
}

// Of a rollback too: an entry that is larger, as an older program wrote it, is read and not written again.
absl::Status CheckSize(const StoreWrite& write) {
  const auto bytes = static_cast<int64_t>(write.value ? write.value->size() : 0);
  if (bytes <= kMaxEntryBytes) return absl::OkStatus();
  const bool rollback = write.action == WriteAction::kRollback;
  return Refusal(Reason::kLimitExceeded, rollback ? "store_revision" : "spec",
                 absl::StrCat(std::string(KindName(write.kind)), " ", Quoted(write.id), " has ", bytes,
                              " bytes; allowed up to ", kMaxEntryBytes));
}

// What every registration has to keep: an id, a spec that parses (`parsed`), and texts of bounded length.
template <typename Spec>
absl::Status CheckEntry(const Spec& spec, const absl::Status& parsed) {
  if (spec.id().empty()) return Refusal(Reason::kInvalidField, "spec.id", "spec.id is required");
  if (!parsed.ok()) return WithFieldPrefix(parsed, "spec.");
  return WithFieldPrefix(CheckTexts(spec), "spec.");
}

// Whether no other entry has a name of this one. Errors: kInvalidField, paths relative to the spec.
template <typename Kind>
absl::Status CheckNames(const typename Kind::Spec& spec, const Snapshot& snapshot) {
  std::vector<FieldViolation> violations;
  FieldChecker checks("", violations);
  const auto check = [&](const std::string& field, const std::string& name) {
    const auto* const holder = Kind::LookUp(snapshot, name);
    if (holder == nullptr || holder->entry.spec().id() == spec.id()) return;
    const std::string& owner = holder->entry.spec().id();
    checks.Fault(field, absl::StrCat(" ", Quoted(name), field == "id" ? "" : absl::StrCat(" of ", Quoted(spec.id())),
                                     " is a name of ", Quoted(owner), "; allowed: one that no other entry has"));
  };
  check("id", spec.id());
  for (int i = 0; i < spec.aliases_size(); ++i) check(absl::StrCat("aliases[", i, "]"), spec.aliases(i));
  return InvalidFields(violations);
}

// The same of an entry as it was stored at the revision that is rolled back to.
template <typename Kind>
absl::Status CheckStoredNames(const std::string& value, const Snapshot& snapshot) {
  typename Kind::Spec spec;
  if (!spec.ParseFromString(value)) return absl::OkStatus();  // the store holds it so
  const absl::Status status = CheckNames<Kind>(spec, snapshot);
  return status.ok() ? status : Refusal(Reason::kInvalidField, "store_revision", std::string(status.message()));
}

// The id that a name stands for; the name itself where nothing has it now.
template <typename Kind>
std::string IdOf(const std::string& name, const Snapshot& snapshot) {
  const auto* const record = Kind::LookUp(snapshot, name);
  return record == nullptr ? name : record->entry.spec().id();
}

// The etag that is registered under this id; empty: none is.
template <typename Kind>
std::string RegisteredEtagOf(const Snapshot& snapshot, const std::string& id) {
  const auto record = Kind::Find(snapshot, id);
  return record.ok() && (*record)->entry.origin() == v1::ENTRY_ORIGIN_REGISTERED ? (*record)->entry.etag() : "";
}

// Whether what was registered at `revision` can be told by this history, the newest first, which should have `etag`
// unless it was written again after revision `known`.
// Errors: DATA_LOSS: the revision is damaged, or one is missing that could be it.
absl::Status CheckWhole(const std::vector<StoredRevision>& history, const std::string& etag, int64_t known,
                        int64_t revision) {
  bool has_etag = etag.empty() || (!history.empty() && history.front().revision > known);
  for (size_t i = 0; i < history.size(); ++i) {
    const StoredRevision& one = history[i];
    if (i > 0 && one.sequence + 1 != history[i - 1].sequence) return absl::DataLossError("the history has a gap here");
    has_etag = has_etag || one.etag == etag || !one.fault.empty();
    if (one.revision > revision) continue;
    if (!one.fault.empty()) return absl::DataLossError(absl::StrCat("revision ", one.revision, ": ", one.fault));
    break;
  }
  return has_etag ? absl::OkStatus() : absl::DataLossError("the history lacks what is registered");
}

}  // namespace

StoreWrite Catalog::WriteOf(EntryKind kind, const std::string& id, std::optional<std::string> value, WriteAction action,
                            const WriteOptions& options) const {
  return {.kind = kind,
          .id = id,
          .value = std::move(value),
          .etag = options.etag,
          .request_id = options.request_id,
          .payload_digest = options.payload_digest,
          .action = action,
          .author = options.author,
          .peer = options.peer,
          .now = clock_(),
          .deadline = options.deadline,
          .dry_run = options.validate_only};
}

template <typename Kind>
absl::StatusOr<typename Kind::Entry> Catalog::Commit(StoreWrite write) {
  if (absl::Status status = CheckSize(write); !status.ok()) return status;
  std::string bundled_etag;
  {
    absl::MutexLock lock(&state_mutex_);
    bundled_etag = BundledEtagOf(overlay_.bundled(Kind()), write.id);
  }
  const bool names_bundled = !bundled_etag.empty() && write.etag == bundled_etag;
  if (names_bundled) write.etag.reset();
  absl::StatusOr<StoreWriteResult> result = store_->Write(write);
  if (!result.ok()) return WithBundledEtag(result.status(), bundled_etag, names_bundled);
  // The entry is stored. If the store cannot be read back now, the next Refresh reports it.
  if (result->revision > Revision()) Follow(result->revision).IgnoreError();
  const StoredEntry stored{write.kind,          write.id, result->value, result->etag, result->revision,
                           result->update_time, ""};
  absl::StatusOr<typename Kind::Record> written = ReadStored<Kind>(stored, !bundled_etag.empty());
  if (!written.ok()) return written.status();
  return std::move(written->entry);
}

template <typename Kind>
absl::Status Catalog::Delete(const std::string& id, WriteAction action, const WriteOptions& options) {
  if (id.size() > kMaxIdLength) return Kind::Find(*Current(), id).status();
  const absl::StatusOr<StoreWriteResult> result =
      store_->Write(WriteOf(Kind::kKind, id, std::nullopt, action, options));
  if (result.ok()) {
    if (result->revision > Revision()) Follow(result->revision).IgnoreError();
    return absl::OkStatus();
  }
  if (DetailOf(result.status()).reason != Reason::kUnknownId) return result.status();
  const auto record = Kind::Find(*Current(), id);
  if (!record.ok()) return record.status();
  if ((*record)->entry.origin() == v1::ENTRY_ORIGIN_REGISTERED) {  // another process was first
    CatchUp(options.deadline).IgnoreError();
    return Refusal(Reason::kUnknownId, Kind::kIdField,
                   absl::StrCat("\"", id, "\" is not registered any more: another call has deleted it"));
  }
  return Refusal(Reason::kBundledEntry, Kind::kIdField,
                 absl::StrCat("\"", id, "\" is bundled: it cannot be deleted, only shadowed by a registered entry"));
}

template <typename Kind>
absl::StatusOr<std::optional<StoredRevision>> Catalog::RevisionAt(const std::string& id, int64_t revision) {
  const absl::StatusOr<int64_t> last = store_->ReadRevision(absl::InfiniteFuture());
  if (!last.ok()) return last.status();
  if (revision < 0 || revision > *last) {
    return Refusal(Reason::kInvalidField, "store_revision",
                   absl::StrCat("store_revision ", revision, "; allowed 0 to ", *last));
  }
  const auto before = Current();
  const std::string etag = RegisteredEtagOf<Kind>(*before, id);
  absl::StatusOr<std::vector<StoredRevision>> history = store_->ReadHistory(Kind::kKind, id);
  if (!history.ok()) return history.status();
  if (absl::Status status = CheckWhole(*history, etag, before->revision().store_revision(), revision); !status.ok()) {
    return status;
  }
  for (StoredRevision& one : *history) {
    if (one.revision > revision) continue;
    return one.value ? std::optional(std::move(one)) : std::nullopt;
  }
  if (history->empty() || history->back().sequence == 1) return std::nullopt;
  return Refusal(Reason::kRevisionNotKept, "store_revision",
                 absl::StrCat("store_revision ", revision, "; the history of \"", id, "\" begins at ",
                              history->back().revision, ": the last ", kKeptRevisions, " revisions are kept"));
}

template <typename Kind>
absl::StatusOr<typename Kind::Entry> Catalog::EntryAt(const std::string& id, int64_t revision) {
  const absl::StatusOr<std::optional<StoredRevision>> then = RevisionAt<Kind>(id, revision);
  if (!then.ok()) return then.status();
  absl::MutexLock lock(&state_mutex_);
  const auto* const bundled = overlay_.bundled(Kind()).ById(id);
  if (*then) {
    const StoredEntry stored{Kind::kKind,          id, (*then)->value, (*then)->etag, (*then)->revision,
                             (*then)->update_time, ""};
    absl::StatusOr<typename Kind::Record> record = ReadStored<Kind>(stored, bundled != nullptr);
    if (!record.ok()) return record.status();
    return std::move(record->entry);
  }
  if (bundled != nullptr) return bundled->entry;
  return Refusal(Reason::kUnknownId, Kind::kIdField,
                 absl::StrCat(Quoted(id), " was not registered at revision ", revision));
}

template <typename Kind>
absl::StatusOr<std::optional<typename Kind::Entry>> Catalog::Rollback(const std::string& id, int64_t revision,
                                                                      const WriteOptions& options) {
  absl::StatusOr<std::optional<StoredRevision>> then = RevisionAt<Kind>(id, revision);
  if (!then.ok()) return WithOutcome(then.status(), kNothingWritten);
  if (!*then) {
    if (absl::Status status = Delete<Kind>(id, WriteAction::kRollback, options); !status.ok()) return status;
    return std::nullopt;
  }
  if (absl::Status status = CheckStoredNames<Kind>(*(*then)->value, *Current()); !status.ok()) return status;
  StoreWrite write = WriteOf(Kind::kKind, id, std::move((*then)->value), WriteAction::kRollback, options);
  if (!write.etag) write.etag = "*";
  absl::StatusOr<typename Kind::Entry> entry = Commit<Kind>(std::move(write));
  if (!entry.ok()) return entry.status();
  return *std::move(entry);
}

absl::StatusOr<std::vector<StoredRevision>> Catalog::History(EntryKind kind, const std::string& name) {
  const auto now = Current();
  const std::string id = kind == EntryKind::kModel ? IdOf<ModelKind>(name, *now) : IdOf<HardwareKind>(name, *now);
  absl::StatusOr<std::vector<StoredRevision>> history = store_->ReadHistory(kind, id);
  if (!history.ok() || !history->empty()) return history;
  return Refusal(Reason::kUnknownId, kind == EntryKind::kModel ? ModelKind::kIdField : HardwareKind::kIdField,
                 absl::StrCat(Quoted(id), " was never registered"));
}

absl::StatusOr<v1::HardwareEntry> Catalog::PutHardware(const v1::HardwareSpec& spec, const WriteOptions& options) {
  return PutHardware(HardwareDraft(spec), options);
}
absl::StatusOr<v1::HardwareEntry> Catalog::PutHardware(HardwareDraft draft, const WriteOptions& options) {
  if (absl::Status status = CheckEntry(draft.spec(), draft.hardware().status()); !status.ok()) return status;
  if (!draft.has_inherited()) {
    // What the entry inherits of the one that it replaces must not be of an older one.
    if (absl::Status status = CatchUp(options.deadline); !status.ok()) return status;
    draft.Inherit(*Current());
    if (absl::Status status = CheckEntry(draft.spec(), draft.hardware().status()); !status.ok()) return status;
  }
  const absl::Status names = CheckNames<HardwareKind>(draft.spec(), *Current());
  if (!names.ok()) return WithFieldPrefix(names, "spec.");
  return Commit<HardwareKind>(WriteOf(EntryKind::kHardware, draft.spec().id(), draft.spec().SerializeAsString(),
                                      WriteAction::kRegister, options));
}
absl::StatusOr<v1::ModelEntry> Catalog::PutModel(const v1::ModelSpec& spec, const WriteOptions& options) {
  if (absl::Status status = CheckEntry(spec, ParseModel(spec).status()); !status.ok()) return status;
  if (absl::Status status = CatchUp(options.deadline); !status.ok()) return status;
  const absl::Status names = CheckNames<ModelKind>(spec, *Current());
  if (!names.ok()) return WithFieldPrefix(names, "spec.");
  return Commit<ModelKind>(
      WriteOf(EntryKind::kModel, spec.id(), spec.SerializeAsString(), WriteAction::kRegister, options));
}
absl::Status Catalog::DeleteHardware(const std::string& id, const WriteOptions& options) {
  return Delete<HardwareKind>(IdOf<HardwareKind>(id, *Current()), WriteAction::kDelete, options);
}
absl::Status Catalog::DeleteModel(const std::string& id, const WriteOptions& options) {
  return Delete<ModelKind>(IdOf<ModelKind>(id, *Current()), WriteAction::kDelete, options);
}
absl::StatusOr<v1::HardwareEntry> Catalog::HardwareAt(const std::string& id, int64_t revision) {
  return EntryAt<HardwareKind>(IdOf<HardwareKind>(id, *Current()), revision);
}
absl::StatusOr<v1::ModelEntry> Catalog::ModelAt(const std::string& id, int64_t revision) {
  return EntryAt<ModelKind>(IdOf<ModelKind>(id, *Current()), revision);
}
absl::StatusOr<std::optional<v1::HardwareEntry>> Catalog::RollbackHardware(const std::string& id, int64_t revision,
                                                                           const WriteOptions& options) {
  return Rollback<HardwareKind>(IdOf<HardwareKind>(id, *Current()), revision, options);
}
absl::StatusOr<std::optional<v1::ModelEntry>> Catalog::RollbackModel(const std::string& id, int64_t revision,
                                                                     const WriteOptions& options) {
  return Rollback<ModelKind>(IdOf<ModelKind>(id, *Current()), revision, options);
}

}  // namespace foretoken::catalog
