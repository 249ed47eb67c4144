// A request as it comes from the wire: parsed, converted, resolved against the catalog that ships, and answered. Every
// refusal has a message; every answer is one that can be sent.
#include <memory>

#include "absl/time/time.h"
#include "server/catalog/catalog.h"
#include "server/catalog/entries/embedded.h"
#include "server/catalog/store/memory_store.h"
#include "server/rpc/estimate/estimator_api.h"
#include "tests/fuzz/fuzz.h"

namespace foretoken {
namespace {

const catalog::Catalog& Shipped() {
  static const auto& shipped = *new std::unique_ptr<catalog::Catalog>(*catalog::Catalog::Open(
      *catalog::LoadEmbeddedBundle(), std::make_unique<catalog::MemoryStore>(), [] { return fuzz::kNow; }));
  return *shipped;
}

}  // namespace

void fuzz::One(std::string_view input) {
  v1::EstimateRequest request;
  if (!request.ParseFromArray(input.data(), static_cast<int>(input.size()))) return;
  const auto snapshot = Shipped().snapshot();
  v1::EstimateResponse response;
  const absl::Status status = rpc::AnswerEstimate(request, {*snapshot, kNow}, response);
  Require(status.ok() || !status.message().empty(), "a refusal without a message");
  Require(!status.ok() || response.ByteSizeLong() > 0, "an empty answer");
}

}  // namespace foretoken
