#include "core/trace/breakdown.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "core/trace/device_use.h"
#include "core/trace/intervals.h"
#include "core/trace/staleness.h"
#include "core/trace/steps.h"
#include "core/trace/worker_pace.h"

namespace twinrun {
namespace {

enum class Wait : std::uint8_t { kPipeline, kRanks, kInput, kServer, kHost, kUnknown };
constexpr std::size_t kWaits = 6;

// What a device did, each kind without those before it.
struct DeviceParts {
  Time compute{};
  Time recompute{};
  Time update{};
  Time communication{};
  Time host{};
  std::array<Time, kWaits> waits{};
};

bool has(std::string_view id, std::string_view word) {
  return id.find(word) != std::string_view::npos;
}

// The kind of wait that an op of this name causes.
Wait wait_of(std::string_view id) {
  if (has(id, "/input/")) {
    return Wait::kInput;
  }
  if (has(id, "/push") || has(id, "/pull") || has(id, "/server")) {
    return Wait::kServer;
  }
  if (has(id, "ward/recv") || has(id, "ward/send")) {
    return Wait::kPipeline;
  }
  return Wait::kUnknown;
}

class Analysis {
 public:
  // Ops that ended before `begin` are of no interest.
  Analysis(const Plan& plan, const Trace& trace, Time begin)
      : plan_(plan), trace_(trace), by_device_(plan.device_count()) {
    for (std::size_t i = 0; i < plan.size(); ++i) {
      if (trace.ops[i].end > begin) {
        by_device_[index_of(plan.device(id_at<OpId>(i)))].push_back(id_at<OpId>(i));
      }
    }
  }

  DeviceParts of(DeviceId device, const Interval& window) {
    window_ = window;
    std::vector<OpId>& ops = by_device_[index_of(device)];
    std::stable_sort(ops.begin(), ops.end(), [&](OpId a, OpId b) {
      return trace_.ops[index_of(a)].start < trace_.ops[index_of(b)].start;
    });
    DeviceParts parts;
    const Intervals update = named(ops, OpKind::kCompute, "/update");
    const Intervals recompute = difference(named(ops, OpKind::kCompute, "/recompute/"), update);
    const Intervals compute =
        difference(difference(named(ops, OpKind::kCompute, ""), update), recompute);
    Intervals busy = sum(sum(update, recompute), compute);
    const Intervals communication = difference(communicating(ops), busy);
    busy = sum(busy, communication);
    const Intervals host = difference(named(ops, OpKind::kHost, ""), busy);
    busy = sum(busy, host);
    parts.update = length(update);
    parts.recompute = length(recompute);
    parts.compute = length(compute);
    parts.communication = length(communication);
    parts.host = length(host);
    name_gaps(ops, difference({window_}, busy), parts);
    return parts;
  }

 private:
  [[nodiscard]] Interval clipped(OpId op) const {
    const OpTimes& times = trace_.ops[index_of(op)];
    return {std::max(times.start, window_.begin), std::min(times.end, window_.end)};
  }

  [[nodiscard]] static Intervals sum(const Intervals& a, const Intervals& b) {
    std::vector<Interval> all = a;
    all.insert(all.end(), b.begin(), b.end());
    return united(std::move(all));
  }

  [[nodiscard]] Intervals named(const std::vector<OpId>& ops,
                                OpKind kind,
                                std::string_view word) const {
    std::vector<Interval> out;
    for (const OpId op : ops) {
      if (plan_.kind(op) == kind && (word.empty() || has(plan_.id(op), word))) {
        out.push_back(clipped(op));
      }
    }
    return united(std::move(out));
  }

  [[nodiscard]] Intervals communicating(const std::vector<OpId>& ops) const {
    std::vector<Interval> out;
    for (const OpId op : ops) {
      if (is_communication(plan_.kind(op))) {
        out.push_back(clipped(op));
      }
    }
    return united(std::move(out));
  }

  void name_gaps(const std::vector<OpId>& ops, const Intervals& gaps, DeviceParts& parts) const {
    auto next = ops.begin();
    for (const Interval& gap : gaps) {
      while (next != ops.end() && trace_.ops[index_of(*next)].start < gap.end) {
        ++next;
      }
      // After its last op a device waits for the slowest.
      const Wait wait = next == ops.end() ? Wait::kPipeline : reason(next, ops.end(), gap.end);
      Time& sum = parts.waits[static_cast<std::size_t>(wait)];
      sum = sum + (gap.end - gap.begin);
    }
  }

  // Several ops may start when the gap ends; the first whose wait has a name tells.
  template <class Iterator>
  [[nodiscard]] Wait reason(Iterator op, Iterator end, Time now) const {
    for (; op != end && trace_.ops[index_of(*op)].start == now; ++op) {
      if (const Wait wait = reason(*op); wait != Wait::kUnknown) {
        return wait;
      }
    }
    return Wait::kUnknown;
  }

  [[nodiscard]] Wait reason(OpId op) const {
    const OpTimes& times = trace_.ops[index_of(op)];
    if (times.ready < times.start) {  // the others were late
      return plan_.kind(op) == OpKind::kCollective ? Wait::kRanks : wait_of(plan_.id(op));
    }
    for (const OpId before : plan_.predecessors(op)) {
      if (trace_.ops[index_of(before)].end == times.start &&
          plan_.device(before) != plan_.device(op)) {
        const Wait wait = wait_of(plan_.id(before));
        const bool is_host = plan_.kind(before) == OpKind::kHost;
        return wait == Wait::kUnknown && is_host ? Wait::kHost : wait;
      }
    }
    return wait_of(plan_.id(op));
  }

  const Plan& plan_;
  const Trace& trace_;
  Interval window_;  // of the device at hand
  std::vector<std::vector<OpId>> by_device_;
};

Time busy_of(const DeviceParts& parts) {
  return parts.compute + parts.recompute + parts.update + parts.communication + parts.host;
}

Breakdown added_up(const std::vector<DeviceParts>& devices) {
  Time most_busy{};
  for (const DeviceParts& device : devices) {
    most_busy = std::max(most_busy, busy_of(device));
  }
  Breakdown out;
  for (const DeviceParts& device : devices) {
    const auto wait = [&](Wait kind) { return device.waits[static_cast<std::size_t>(kind)]; };
    const Time uneven = std::min(wait(Wait::kPipeline), most_busy - busy_of(device));
    out.compute = out.compute + device.compute;
    out.recompute = out.recompute + device.recompute;
    out.update = out.update + device.update;
    out.exposed_communication = out.exposed_communication + device.communication;
    out.host = out.host + device.host + wait(Wait::kHost);
    out.imbalance = out.imbalance + wait(Wait::kRanks) + uneven;
    out.bubble = out.bubble + wait(Wait::kPipeline) - uneven;
    out.input_wait = out.input_wait + wait(Wait::kInput);
    out.server_wait = out.server_wait + wait(Wait::kServer);
    out.idle = out.idle + wait(Wait::kUnknown);
  }
  return out;
}

// Rounded to picoseconds; what rounding leaves over goes to idle, so that the sum is exact.
Breakdown divided(Breakdown sums, std::int64_t by, Time step) {
  Time rest = step;
  for (Time Breakdown::*const part :
       {&Breakdown::compute, &Breakdown::recompute, &Breakdown::exposed_communication,
        &Breakdown::bubble, &Breakdown::imbalance, &Breakdown::input_wait, &Breakdown::server_wait,
        &Breakdown::update, &Breakdown::host}) {
    (sums.*part).ps /= by;
    rest = rest - sums.*part;
  }
  sums.idle = rest;
  sums.step = step;
  return sums;
}

DeviceParts scaled(DeviceParts parts, double factor) {
  const auto scale = [&](Time& time) {
    time.ps = static_cast<std::int64_t>(static_cast<double>(time.ps) * factor);
  };
  scale(parts.compute);
  scale(parts.recompute);
  scale(parts.update);
  scale(parts.communication);
  scale(parts.host);
  for (Time& wait : parts.waits) {
    scale(wait);
  }
  return parts;
}

// Each worker's mean step, weighted by how many it makes a second.
Breakdown breakdown_of_workers(const Plan& plan, const Trace& trace, const WorkerPace& pace) {
  if (pace.sum <= 0) {
    return {};
  }
  Analysis analysis(plan, trace, Time{});
  std::vector<DeviceParts> parts;
  for (const Worker& worker : pace.workers) {
    const double weight = worker.steps_per_s() * pace.step_s() / static_cast<double>(worker.steps);
    parts.push_back(scaled(analysis.of(worker.device, worker.counted), weight));
  }
  return divided(added_up(parts), static_cast<std::int64_t>(parts.size()),
                 {std::llround(pace.step_s() * 1e12)});
}

}  // namespace

std::vector<DeviceId> training_devices(const Plan& plan) {
  std::vector<bool> trains(plan.device_count(), false);
  bool any = false;
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const auto op = id_at<OpId>(i);
    if (plan.kind(op) == OpKind::kCompute && has(plan.id(op), "/forward/")) {
      trains[index_of(plan.device(op))] = true;
      any = true;
    }
  }
  std::vector<DeviceId> out;
  for (std::size_t i = 0; i < trains.size(); ++i) {
    if (trains[i] || !any) {
      out.push_back(id_at<DeviceId>(i));
    }
  }
  return out;
}

Time end_of_steps(const Plan& plan, const Trace& trace, std::int64_t steps) {
  Time end{};
  for (std::size_t i = 0; steps > 0 && i < plan.size(); ++i) {
    const auto step = step_of(plan.id(id_at<OpId>(i)));
    if (step && *step < steps) {
      end = std::max(end, trace.ops[i].end);
    }
  }
  return end;
}

Breakdown breakdown(const Plan& plan, const Trace& trace, std::int64_t warmup_steps) {
  if (workers_are_independent(plan)) {
    return breakdown_of_workers(plan, trace, worker_pace(plan, trace, warmup_steps));
  }
  const Time begin = end_of_steps(plan, trace, warmup_steps);
  const auto steps = static_cast<std::int64_t>(step_times(plan, trace).size()) - warmup_steps;
  const std::vector<DeviceId> devices = training_devices(plan);
  if (devices.empty() || steps < 1) {
    return {};
  }
  Analysis analysis(plan, trace, begin);
  std::vector<DeviceParts> parts;
  parts.reserve(devices.size());
  for (const DeviceId device : devices) {
    parts.push_back(analysis.of(device, {begin, trace.makespan}));
  }
  const auto count = static_cast<std::int64_t>(devices.size());
  return divided(added_up(parts), steps * count, {(trace.makespan - begin).ps / steps});
}

}  // namespace twinrun
