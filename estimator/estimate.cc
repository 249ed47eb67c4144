#include "estimator/estimate.h"

namespace foretoken {

Bound TimeParts::LargestPart() const {
  Bound bound = Bound::kCompute;
  Seconds largest = compute;
  const auto consider = [&](Seconds part, Bound candidate) {
    if (part <= largest) return;
    largest = part;
    bound = candidate;
  };
  consider(memory, Bound::kMemory);
  consider(communication, Bound::kCommunication);
  consider(host, Bound::kHost);
  consider(queueing, Bound::kQueueing);
  return bound;
}

}  // namespace foretoken
