#include "client/cli/commands/evidence.h"

#include "client/cli/entries/entry_kind.h"

namespace foretoken::cli {
namespace {

// The id behind a name; the name itself where the server does not tell.
template <typename Kind>
std::string IdOf(const std::string& name, const Session& session) {
  auto request = RequestOf(Kind::kGet);
  Kind::SetId(name, request);
  const auto response = (session.client.*Kind::kGet)(request);
  return response.ok() ? response->entry().spec().id() : name;
}

}  // namespace

std::string NoteOfEvidence(std::vector<RankedRow> rows, const std::string& model, const Session& session) {
  std::string note = EvidenceNote(rows, model, session.terminal);
  if (note.empty()) return note;
  for (RankedRow& row : rows) row.hardware_id = IdOf<HardwareKind>(row.hardware_id, session);
  return EvidenceNote(rows, IdOf<ModelKind>(model, session), session.terminal);
}

}  // namespace foretoken::cli
