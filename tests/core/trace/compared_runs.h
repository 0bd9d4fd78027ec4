#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/plan/plan_builder.h"
#include "core/trace/compare.h"

namespace twinrun {

// A run written down by hand: ops with their times in microseconds.
struct HandOp {
  enum class What { kCompute, kReduce, kCopy };

  std::string id;
  std::string device;
  What what = What::kCompute;
  double ready = 0;
  double start = 0;
  double end = 0;
  std::vector<std::string> after = {};
};

struct HandRun {
  Plan plan;
  Trace trace;
  [[nodiscard]] ComparedRun compared(std::int64_t warmup_steps = 0) const {
    return {{plan, trace, warmup_steps}};
  }
};

// Collectives are all-reduces of 1000 bytes among all devices, copies of 500 bytes go to the first.
inline HandRun hand_run(const std::vector<HandOp>& ops, std::string_view source = "simulated") {
  PlanBuilder builder("by hand");
  std::vector<DeviceId> devices;
  for (const HandOp& op : ops) {
    const DeviceId device = builder.add_device(op.device);
    if (index_of(device) >= devices.size()) {
      devices.push_back(device);
    }
  }
  const GroupId group = builder.add_group("world", devices);
  std::vector<std::pair<std::string, OpId>> known;
  for (const HandOp& op : ops) {
    const DeviceId device = builder.add_device(op.device);
    OpId id{};
    switch (op.what) {
      case HandOp::What::kCompute:
        id = builder.add_compute(op.id, builder.stream(device, "compute"), {.flops = 1});
        break;
      case HandOp::What::kReduce:
        id = builder.add_collective(op.id, builder.stream(device, "comm"),
                                    {.group = group, .bytes = {1000}});
        break;
      case HandOp::What::kCopy:
        id = builder.add_copy(op.id, builder.stream(device, "copy"), devices.front(), {500});
        break;
    }
    for (const std::string& before : op.after) {
      for (const auto& [name, other] : known) {
        if (name == before) {
          builder.depend(id, other);
        }
      }
    }
    known.emplace_back(op.id, id);
  }
  HandRun run{std::move(builder).finish(), {}};
  run.trace.source = source;
  for (const HandOp& op : ops) {
    run.trace.ops.push_back({microseconds(op.ready), microseconds(op.start), microseconds(op.end)});
    run.trace.makespan = std::max(run.trace.makespan, microseconds(op.end));
  }
  return run;
}

}  // namespace twinrun
