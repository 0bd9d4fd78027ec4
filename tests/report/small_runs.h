#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan_builder.h"
#include "core/trace/trace.h"

namespace twinrun::report {

constexpr Time us(std::int64_t count) { return {count * 1'000'000}; }

struct SmallRun {
  Plan plan;
  Trace trace;
};

// Ranks that do the same in every step: forward 4 us, backward 4 us, an all-reduce of 2 us that
// starts 1 us after it is ready; a step takes 11 us.
inline SmallRun alike_ranks(std::size_t ranks, std::int64_t steps) {
  PlanBuilder builder;
  const GroupId group = builder.add_group("all");
  std::vector<OpTimes> times;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const DeviceId device = builder.add_device("gpu" + std::to_string(rank));
    builder.add_to_group(group, device);
    const std::string at = "@rank" + std::to_string(rank);
    OpId last = no_id<OpId>();
    for (std::int64_t step = 0; step < steps; ++step) {
      const std::string in = "step" + std::to_string(step);
      const StreamId compute = builder.stream(device, "compute");
      const OpId forward = builder.add_compute(in + "/forward/a" + at, compute, {.flops = 1e6});
      const OpId backward = builder.add_compute(in + "/backward/a" + at, compute, {.flops = 2e6});
      const OpId reduce =
          builder.add_collective(in + "/all_reduce/a" + at, builder.stream(device, "dp"),
                                 {.group = group, .bytes = {4096}});
      builder.depend(reduce, backward);
      if (last != no_id<OpId>()) {
        builder.depend(forward, last);
      }
      last = reduce;
      const Time begin = us(11 * step);
      times.push_back({begin, begin, begin + us(4)});
      times.push_back({begin + us(4), begin + us(4), begin + us(8)});
      times.push_back({begin + us(8), begin + us(9), begin + us(11)});
    }
  }
  Plan plan = std::move(builder).finish();
  return {std::move(plan), {"simulated", std::move(times), {}, {}, us(11 * steps)}};
}

}  // namespace twinrun::report
