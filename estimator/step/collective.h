// How long devices of one deployment take to exchange a message, by the faster of the two algorithms for devices
// behind a switch.
//
//   all-reduce of M bytes over q devices, link rate Bn, latency alpha of an exchange among all of them:
//     two-shot  2 (q-1)/q M/Bn + 2 alpha    each adds up its share of M and hands it out
//     one-shot  (q-1) M/Bn + alpha          each gets all of M from every other
//   across nodes: reduce-scatter inside, all-reduce of M/g between, all-gather inside.
//
// Source: the custom all-reduce kernels of serving engines. NCCL's rings move as many bytes as two-shot.
#ifndef FORETOKEN_ESTIMATOR_STEP_COLLECTIVE_H_
#define FORETOKEN_ESTIMATOR_STEP_COLLECTIVE_H_

#include <algorithm>

#include "estimator/base/units.h"

namespace foretoken {

// Links as reached. Rates are one direction, summed per device.
struct Fabric {
  BytesPerSecond link;          // inside a node
  BytesPerSecond scale_out;     // between nodes; used past devices_per_node
  Seconds latency;              // alpha
  double devices_per_node = 0;  // 0: all devices are in one node
  bool free = false;            // speed of light: communication takes no time
};

// The time of a collective as a line over the bytes of its message.
struct MessageTime {
  Seconds fixed;
  double seconds_per_byte = 0;

  Seconds operator()(Bytes message) const { return fixed + Seconds(seconds_per_byte * message.value()); }
  friend MessageTime operator+(MessageTime a, MessageTime b) {
    return {a.fixed + b.fixed, a.seconds_per_byte + b.seconds_per_byte};
  }
};

// The ways of an all-reduce between given devices; the better one for the message is taken.
struct AllReduceTime {
  MessageTime two_shot, one_shot;

  Seconds operator()(Bytes message) const { return std::min(two_shot(message), one_shot(message)); }
};

// All formulas take q >= 1 devices and give 0 for q = 1.
AllReduceTime MakeAllReduce(const Fabric& fabric, double devices);

// Each device ends with all q shares of `message`.
MessageTime MakeAllGather(const Fabric& fabric, double devices);

// Each device sends `sent` bytes in all, evenly to the q - 1 others.
Seconds AllToAll(const Fabric& fabric, Bytes sent, double devices);

// The hops of a pipeline, from each stage to the next.
struct StageTransferTime {
  double hops = 0;
  double outside = 0;  // of these: where any device sends to another node, over the scale-out link
  BytesPerSecond link, scale_out;
  Seconds latency;  // of a hop

  // Every device sends `message` to its peer in the next stage, through all stages.
  Seconds operator()(Bytes message) const {
    if (hops <= 0) return Seconds(0);
    return (hops - outside) * (message / link) + hops * latency +
           (outside > 0 ? outside * (message / scale_out) : Seconds(0));
  }
};

// Through `stages` of `devices` each. Looks at every stage once. REQUIRES: whole numbers.
StageTransferTime MakeStageTransfers(const Fabric& fabric, double devices, double stages);

}  // namespace foretoken

#endif  // FORETOKEN_ESTIMATOR_STEP_COLLECTIVE_H_
