#include "estimator/step/collective.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace foretoken {
namespace {

// Reduce-scatter and all-gather move the same bytes.
MessageTime OneTierAllGather(BytesPerSecond rate, Seconds alpha, double q) {
  if (q <= 1) return {};
  return {alpha, (q - 1) / q / rate.value()};
}

AllReduceTime OneTierAllReduce(BytesPerSecond rate, Seconds alpha, double q) {
  if (q <= 1) return {};
  const MessageTime gather = OneTierAllGather(rate, alpha, q);
  return {.two_shot = gather + gather, .one_shot = {alpha, (q - 1) / rate.value()}};
}

// The time of a message of which each device sends one of `parts` equal parts.
MessageTime OfShare(MessageTime time, double parts) { return {time.fixed, time.seconds_per_byte / parts}; }

bool InOneNode(const Fabric& fabric, double devices) {
  return fabric.devices_per_node <= 0 || devices <= fabric.devices_per_node;
}

// Whether the stage of `devices` that starts at `first`, together with the next stage, spans more than one node.
bool LeavesNode(int64_t per_node, int64_t first, int64_t devices) {
  return first / per_node != (first + 2 * devices - 1) / per_node;
}

}  // namespace

AllReduceTime MakeAllReduce(const Fabric& fabric, double devices) {
  if (fabric.free || devices <= 1) return {};
  if (InOneNode(fabric, devices)) return OneTierAllReduce(fabric.link, fabric.latency, devices);
  const double inside = fabric.devices_per_node;
  const double nodes = std::ceil(devices / inside);
  const MessageTime gather = OneTierAllGather(fabric.link, fabric.latency, inside);
  const AllReduceTime between = OneTierAllReduce(fabric.scale_out, fabric.latency, nodes);
  const auto both = [&](const MessageTime& way) { return gather + gather + OfShare(way, inside); };
  return {.two_shot = both(between.two_shot), .one_shot = both(between.one_shot)};
}

MessageTime MakeAllGather(const Fabric& fabric, double devices) {
  if (fabric.free || devices <= 1) return {};
  if (InOneNode(fabric, devices)) return OneTierAllGather(fabric.link, fabric.latency, devices);
  const double inside = fabric.devices_per_node;
  const double nodes = std::ceil(devices / inside);
  return OfShare(OneTierAllGather(fabric.scale_out, fabric.latency, nodes), inside) +
         OneTierAllGather(fabric.link, fabric.latency, inside);
}

Seconds AllToAll(const Fabric& fabric, Bytes sent, double devices) {
  if (fabric.free || devices <= 1) return Seconds(0);
  if (InOneNode(fabric, devices)) return sent / fabric.link + fabric.latency;
  const double outside = (devices - fabric.devices_per_node) / (devices - 1);
  return std::max(sent * (1 - outside) / fabric.link, sent * outside / fabric.scale_out) + fabric.latency;
}

StageTransferTime MakeStageTransfers(const Fabric& fabric, double devices, double stages) {
  if (fabric.free || stages <= 1) return {};
  StageTransferTime time{
      .hops = stages - 1, .link = fabric.link, .scale_out = fabric.scale_out, .latency = fabric.latency};
  const auto per_node = static_cast<int64_t>(fabric.devices_per_node);
  if (per_node <= 0) return time;
  const auto each = static_cast<int64_t>(devices);
  const auto hops = static_cast<int64_t>(time.hops);
  for (int64_t hop = 0; hop < hops; ++hop) time.outside += LeavesNode(per_node, hop * each, each) ? 1 : 0;
  return time;
}

}  // namespace foretoken
