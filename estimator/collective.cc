#include "estimator/collective.h"

#include <algorithm>
#include <cmath>

namespace foretoken {
namespace {

Seconds OneTierAllReduce(Bytes message, BytesPerSecond rate, Seconds alpha, double q) {
  if (q <= 1) return Seconds(0);
  const Seconds whole = message / rate;
  const Seconds ring = 2 * (q - 1) / q * whole + 2 * (q - 1) * alpha;
  const Seconds tree = 2 * std::log2(q) * (alpha + whole);
  const Seconds one_shot = (q - 1) * whole + alpha;
  return std::min({ring, tree, one_shot});
}

// Reduce-scatter and all-gather move the same bytes.
Seconds OneTierAllGather(Bytes message, BytesPerSecond rate, Seconds alpha, double q) {
  if (q <= 1) return Seconds(0);
  const Seconds share = (q - 1) / q * (message / rate);
  return share + std::min((q - 1) * alpha, std::log2(q) * alpha);
}

bool InOneNode(const Fabric& fabric, double devices) {
  return fabric.devices_per_node <= 0 || devices <= fabric.devices_per_node;
}

// Whether the stage of `devices` from `first` on and the next one are not all in one node.
bool LeavesNode(const Fabric& fabric, double first, double devices) {
  if (fabric.devices_per_node <= 0) return false;
  const double last = first + 2 * devices - 1;
  return std::floor(first / fabric.devices_per_node) != std::floor(last / fabric.devices_per_node);
}

}  // namespace

Seconds AllReduce(const Fabric& fabric, Bytes message, double devices) {
  if (fabric.free || devices <= 1) return Seconds(0);
  if (InOneNode(fabric, devices)) return OneTierAllReduce(message, fabric.link, fabric.latency, devices);
  const double inside = fabric.devices_per_node;
  const double nodes = std::ceil(devices / inside);
  return 2 * OneTierAllGather(message, fabric.link, fabric.latency, inside) +
         OneTierAllReduce(message / inside, fabric.scale_out, fabric.latency, nodes);
}

Seconds AllGather(const Fabric& fabric, Bytes message, double devices) {
  if (fabric.free || devices <= 1) return Seconds(0);
  if (InOneNode(fabric, devices)) return OneTierAllGather(message, fabric.link, fabric.latency, devices);
  const double inside = fabric.devices_per_node;
  const double nodes = std::ceil(devices / inside);
  return OneTierAllGather(message / inside, fabric.scale_out, fabric.latency, nodes) +
         OneTierAllGather(message, fabric.link, fabric.latency, inside);
}

Seconds AllToAll(const Fabric& fabric, Bytes sent, double devices) {
  if (fabric.free || devices <= 1) return Seconds(0);
  if (InOneNode(fabric, devices)) return sent / fabric.link + fabric.latency;
  const double outside = (devices - fabric.devices_per_node) / (devices - 1);
  return std::max(sent * (1 - outside) / fabric.link, sent * outside / fabric.scale_out) + fabric.latency;
}

Seconds StageTransfers(const Fabric& fabric, Bytes message, double devices, double stages) {
  if (fabric.free) return Seconds(0);
  double outside = 0;
  for (double stage = 1; stage < stages; ++stage) {
    outside += LeavesNode(fabric, (stage - 1) * devices, devices);
  }
  const double hops = stages - 1;
  return (hops - outside) * (message / fabric.link) + hops * fabric.latency +
         (outside > 0 ? outside * (message / fabric.scale_out) : Seconds(0));
}

}  // namespace foretoken
