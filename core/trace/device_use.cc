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

// In which no op of the device went on, of some part of the run.
Time idle_in(const TraceIndex& index, DeviceId device, const Interval& window) {
  OfDevice all = intervals_of(index, device, nullptr);
  const Intervals busy =
      united(united(united(std::move(all.compute)), united(std::move(all.communication))),
             united(std::move(all.host)));
  return length(difference({window}, busy));
}

}  // namespace

bool is_communication(OpKind kind) {
  return kind == OpKind::kCopy || kind == OpKind::kSend || kind == OpKind::kRecv ||
         kind == OpKind::kCollective;
}

std::vector<DeviceUse> device_use(const TraceIndex& index) {
  std::vector<DeviceUse> out;
  out.reserve(index.plan.device_count());
  for (std::size_t d = 0; d < index.plan.device_count(); ++d) {
    out.push_back(use_of(intervals_of(index, id_at<DeviceId>(d), nullptr), index.trace.makespan));
  }
  return out;
}

std::vector<DeviceUse> device_use(const TraceIndex& index, const CountedSteps& steps) {
  std::vector<DeviceUse> out;
  out.reserve(index.plan.device_count());
  for (std::size_t d = 0; d < index.plan.device_count(); ++d) {
    const auto device = id_at<DeviceId>(d);
    out.push_back(use_of(intervals_of(index, device, &steps), Time{}));
    out.back().idle = idle_in(index, device, {steps.begin(), steps.end()});
  }
  return out;
}

std::vector<DeviceUse> device_use(const Plan& plan, const Trace& trace) {
  return device_use(TraceIndex(plan, trace));
}

}  // namespace twinrun
