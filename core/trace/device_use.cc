#include "core/trace/device_use.h"

#include "core/trace/intervals.h"

namespace twinrun {
namespace {

struct OfDevice {
  std::vector<Interval> compute;
  std::vector<Interval> communication;
  std::vector<Interval> host;
};

DeviceUse use_of(OfDevice raw, Time makespan) {
  const Intervals compute = united(std::move(raw.compute));
  const Intervals communication = united(std::move(raw.communication));
  const Intervals exposed = difference(communication, compute);
  const Intervals host =
      difference(difference(united(std::move(raw.host)), compute), communication);
  DeviceUse use{length(compute), length(communication), length(exposed), length(host), {}};
  use.idle = makespan - use.compute - use.exposed - use.host;
  return use;
}

}  // namespace

bool is_communication(OpKind kind) {
  return kind == OpKind::kCopy || kind == OpKind::kSend || kind == OpKind::kRecv ||
         kind == OpKind::kCollective;
}

std::vector<DeviceUse> device_use(const Plan& plan, const Trace& trace) {
  std::vector<OfDevice> raw(plan.device_count());
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    OfDevice& device = raw[index_of(plan.device(op))];
    const Interval interval{trace.ops[i].start, trace.ops[i].end};
    const OpKind kind = plan.kind(op);
    if (kind == OpKind::kCompute) {
      device.compute.push_back(interval);
    } else if (is_communication(kind)) {
      device.communication.push_back(interval);
    } else if (kind == OpKind::kHost) {
      device.host.push_back(interval);
    }
  }
  std::vector<DeviceUse> out;
  out.reserve(raw.size());
  for (OfDevice& device : raw) {
    out.push_back(use_of(std::move(device), trace.makespan));
  }
  return out;
}

}  // namespace twinrun
