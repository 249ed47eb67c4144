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

TimeParts& TimeParts::operator+=(const TimeParts& other) {
  compute += other.compute;
  memory += other.memory;
  communication += other.communication;
  host += other.host;
  queueing += other.queueing;
  return *this;
}

TimeParts operator*(const TimeParts& a, double k) {
  return {a.compute * k, a.memory * k, a.communication * k, a.host * k, a.queueing * k};
}

}  // namespace foretoken
