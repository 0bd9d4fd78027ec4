#include "core/trace/device_use.h"

#include "core/trace/intervals.h"

namespace twinrun {
namespace {

struct OfDevice {
  std::vector<Interval> compute;
  std::vector<Interval> communication;
  std::vector<Interval> host;
};

// Of all ops, or of those of some steps.
OfDevice intervals_of(const TraceIndex& index, DeviceId device, const CountedSteps* steps) {
  OfDevice out;
  for (const OpId op : index.ops_by_start[device]) {
    if (steps != nullptr && steps->position_of(index.plan.id(op)) >= steps->spans.size()) {
      continue;
    }
    const OpTimes& times = index.trace.ops[index_of(op)];
    const Interval interval{times.start, times.end};
    const OpKind kind = index.plan.kind(op);
    if (kind == OpKind::kCompute) {
      out.compute.push_back(interval);
    } else if (is_communication(kind)) {
      out.communication.push_back(interval);
    } else if (kind == OpKind::kHost) {
      out.host.push_back(interval);
    }
  }
  return out;
}

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

std::vector<DeviceUse> use_of_devices(const TraceIndex& index,
                                      const CountedSteps* steps,
                                      Time whole) {
  std::vector<DeviceUse> out;
  out.reserve(index.plan.device_count());
  for (std::size_t d = 0; d < index.plan.device_count(); ++d) {
    out.push_back(use_of(intervals_of(index, id_at<DeviceId>(d), steps), whole));
  }
  return out;
}

}  // namespace

bool is_communication(OpKind kind) {
  return kind == OpKind::kCopy || kind == OpKind::kSend || kind == OpKind::kRecv ||
         kind == OpKind::kCollective;
}

std::vector<DeviceUse> device_use(const TraceIndex& index) {
  return use_of_devices(index, nullptr, index.trace.makespan);
}

std::vector<DeviceUse> device_use(const TraceIndex& index, const CountedSteps& steps) {
  return use_of_devices(index, &steps, steps.end() - steps.begin());
}

std::vector<DeviceUse> device_use(const Plan& plan, const Trace& trace) {
  return device_use(TraceIndex(plan, trace));
}

}  // namespace twinrun
