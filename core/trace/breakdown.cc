#include "core/trace/breakdown.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "core/trace/device_use.h"
#include "core/trace/intervals.h"
#include "core/trace/staleness.h"
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

// What an op keeps its device busy with; an instant belongs to the first of those that go on.
enum class Activity : std::uint8_t { kUpdate, kRecompute, kCompute, kCommunication, kHost, kNone };
constexpr std::size_t kActivities = 5;  // kNone apart

// One look at each word of the id: plans have millions of compute ops.
Activity compute_activity(std::string_view id) {
  Activity activity = Activity::kCompute;
  for (std::size_t at = id.find('/'); at != std::string_view::npos; at = id.find('/', at + 1)) {
    const std::string_view rest = id.substr(at);
    if (rest.starts_with("/update")) {
      return Activity::kUpdate;
    }
    if (rest.starts_with("/recompute/")) {
      activity = Activity::kRecompute;
    }
  }
  return activity;
}

Activity activity_of(const Plan& plan, OpId op) {
  const OpKind kind = plan.kind(op);
  if (kind == OpKind::kCompute) {
    return compute_activity(plan.id(op));
  }
  if (is_communication(kind)) {
    return Activity::kCommunication;
  }
  return kind == OpKind::kHost ? Activity::kHost : Activity::kNone;
}

class Analysis {
 public:
  explicit Analysis(const TraceIndex& index)
      : plan_(index.plan), trace_(index.trace), index_(index) {}

  DeviceParts of(DeviceId device, const Interval& window) {
    window_ = window;
    ops_.clear();
    for (const OpId op : index_.ops_by_start[device]) {
      if (trace_.ops[index_of(op)].end > window.begin) {
        ops_.push_back(op);
      }
    }
    std::array<std::vector<Interval>, kActivities> ran = intervals_by_activity();
    Intervals busy;
    std::array<Time, kActivities> took{};
    for (std::size_t activity = 0; activity < kActivities; ++activity) {
      const Intervals own = difference(united(std::move(ran[activity])), busy);
      took[activity] = length(own);
      busy = united(busy, own);
    }
    const auto time_of = [&](Activity a) { return took[static_cast<std::size_t>(a)]; };
    DeviceParts parts;
    parts.update = time_of(Activity::kUpdate);
    parts.recompute = time_of(Activity::kRecompute);
    parts.compute = time_of(Activity::kCompute);
    parts.communication = time_of(Activity::kCommunication);
    parts.host = time_of(Activity::kHost);
    name_gaps(ops_, difference({window_}, busy), parts);
    return parts;
  }

 private:
  [[nodiscard]] std::array<std::vector<Interval>, kActivities> intervals_by_activity() const {
    std::array<std::vector<Interval>, kActivities> out;
    for (const OpId op : ops_) {
      if (const Activity activity = activity_of(plan_, op); activity != Activity::kNone) {
        const OpTimes& times = trace_.ops[index_of(op)];
        if (times.start < window_.end) {
          out[static_cast<std::size_t>(activity)].push_back(
              {std::max(times.start, window_.begin), std::min(times.end, window_.end)});
        }
      }
    }
    return out;
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
  const TraceIndex& index_;
  Interval window_;        // of the device that is looked at
  std::vector<OpId> ops_;  // … those that end after the window begins
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
Breakdown breakdown_of_workers(const TraceIndex& index, const WorkerPace& pace) {
  if (pace.sum <= 0) {
    return {};
  }
  Analysis analysis(index);
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
  const auto is_forward = [&](OpId op) {
    return plan.kind(op) == OpKind::kCompute && has(plan.id(op), "/forward/");
  };
  for (std::size_t s = 0; s < plan.stream_count(); ++s) {
    const auto stream = id_at<StreamId>(s);
    const auto ops = plan.stream_ops(stream);
    if (std::any_of(ops.begin(), ops.end(), is_forward)) {
      trains[index_of(plan.stream_device(stream))] = true;
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

Breakdown breakdown(const TraceIndex& index, std::int64_t warmup_steps) {
  if (index.has_independent_workers) {
    return breakdown_of_workers(index, worker_pace(index.plan, index.trace, warmup_steps));
  }
  const auto steps = static_cast<std::int64_t>(index.steps.times().size()) - warmup_steps;
  return breakdown(index, {index.steps.before(warmup_steps), index.trace.makespan}, steps);
}

Breakdown breakdown(const TraceIndex& index, const Interval& window, std::int64_t steps) {
  const std::vector<DeviceId> devices = training_devices(index.plan);
  if (devices.empty() || steps < 1) {
    return {};
  }
  Analysis analysis(index);
  std::vector<DeviceParts> parts;
  parts.reserve(devices.size());
  for (const DeviceId device : devices) {
    parts.push_back(analysis.of(device, window));
  }
  const auto count = static_cast<std::int64_t>(devices.size());
  return divided(added_up(parts), steps * count, {(window.end - window.begin).ps / steps});
}

Breakdown breakdown(const Plan& plan, const Trace& trace, std::int64_t warmup_steps) {
  return breakdown(TraceIndex(plan, trace), warmup_steps);
}

}  // namespace twinrun
