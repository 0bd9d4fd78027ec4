#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/plan.h"
#include "core/plan/plan_builder.h"
#include "core/trace/trace.h"

namespace twinrun {

struct ExampleRun {
  Plan plan;
  Trace trace;
};

// Two GPUs and a host, two steps: an all-reduce, a message, a copy, a host op, a marker, memory.
// Times are whole microseconds here, except that gpu0's first forward ends 0.4 ns late.
//
//   us                 0    10   20   30   40   50   60   70
//   gpu0 compute       |f0------|              |f1--|m1
//   gpu0 nccl                   |all-reduce0----|
//   gpu0 pp                     |send0|
//   gpu0 copy                                   |copy1----|
//   gpu1 nccl                   |all-reduce0----|
//   gpu1 pp                     |recv0|
//   cpu0 host          |load0|
inline ExampleRun two_steps() {
  PlanBuilder b("two steps");
  const DeviceId gpu0 = b.add_device("node0/gpu0");
  const DeviceId gpu1 = b.add_device("node1/gpu0");
  const DeviceId cpu0 = b.add_device("node1/cpu0");
  const std::vector<DeviceId> both = {gpu0, gpu1};
  const GroupId group = b.add_group("dp", both);
  const OpId f0 = b.add_compute("step0/forward@gpu0", b.stream(gpu0, "compute"), {.flops = 3e9});
  b.add_memory_effect(f0, {MemoryPart::kParameters, {1000}, MemoryWhen::kStart});
  b.add_memory_effect(f0, {MemoryPart::kActivations, {500}, MemoryWhen::kEnd});
  const CollectiveOpSpec reduce = {.group = group, .bytes = {4000}};
  b.add_collective("step0/grads@gpu0", b.stream(gpu0, "nccl"), reduce);
  b.add_collective("step0/grads@gpu1", b.stream(gpu1, "nccl"), reduce);
  b.add_send("step0/act@gpu0", b.stream(gpu0, "pp"), {gpu1, {2000}});
  b.add_recv("step0/act@gpu1", b.stream(gpu1, "pp"), {gpu0, {2000}});
  const OpId f1 = b.add_compute("step1/forward@gpu0", b.stream(gpu0, "compute"), {.flops = 3e9});
  b.add_memory_effect(f1, {MemoryPart::kActivations, {-500}, MemoryWhen::kStart});
  b.add_marker("step1/done@gpu0", b.stream(gpu0, "compute"));
  b.add_copy("step1/weights", b.stream(gpu0, "copy"), cpu0, {8000});
  b.add_host("step0/load", b.stream(cpu0, "host"), microseconds(15));
  ExampleRun run{std::move(b).finish(), {}};
  const auto at = [](double ready, double start, double end) {
    return OpTimes{microseconds(ready), microseconds(start), microseconds(end)};
  };
  run.trace.source = "simulated";
  run.trace.ops = {at(0, 0, 20),   at(10, 20, 45), at(20, 20, 45), at(20, 20, 30), at(20, 20, 30),
                   at(45, 45, 60), at(60, 60, 60), at(45, 45, 65), at(0, 0, 15)};
  run.trace.ops[0].end.ps += 400;
  run.trace.collectives = {{InstanceId{0}, "ring", "LL", "gpu0 -> nvswitch0", 2}};
  run.trace.links = {{"gpu0 -> nvswitch0", 4000, 25.5}, {"idle -> wire", 0, 0}};
  run.trace.makespan = microseconds(65);
  return run;
}

// Any plan and any times. Orderly: the ops of a stream follow each other, as they must; otherwise
// they overlap at random. One op in twenty never runs.
inline ExampleRun random_run(std::uint32_t seed, bool orderly, std::size_t ops) {
  std::mt19937 random(seed);
  const auto below = [&](std::uint32_t limit) {
    return static_cast<std::int64_t>(random() % limit);
  };
  PlanBuilder b("random \x01 \"run\" \xff");
  std::vector<DeviceId> devices;
  for (const char* name : {"node0/gpu0", "node0/gpu1", "node1/gpu0", "cpu0"}) {
    devices.push_back(b.add_device(name));
  }
  const GroupId group = b.add_group("every\tone", devices);
  const std::vector<std::string> streams = {"compute", "comm", "dp", "copy", "host", "other", "x"};
  std::vector<StreamId> stream_of;
  for (std::size_t i = 0; i < ops; ++i) {
    const DeviceId device = devices[random() % devices.size()];
    const StreamId stream = b.stream(device, streams[random() % streams.size()]);
    const std::string id = (random() % 4 == 0 ? "" : "step" + std::to_string(below(3)) + "/") +
                           "op\n" + std::to_string(i) + "@x";
    const DeviceId peer = devices[random() % devices.size()];
    OpId op{};
    switch (random() % 6) {
      case 0:
        op = b.add_copy(id, stream, peer, {below(1'000'000)});
        break;
      case 1:
        op = b.add_send(id, stream, {peer, {below(1'000'000)}});
        break;
      case 2:
        op = b.add_recv(id, stream, {peer, {below(1'000'000)}});
        break;
      case 3:
        op = b.add_collective(id, stream, {.group = group, .bytes = {below(1'000'000)}});
        break;
      case 4:
        op = b.add_host(id, stream, std::nullopt);
        break;
      default:
        op = b.add_compute(id, stream, {.flops = 1e9});
    }
    if (random() % 3 == 0) {
      b.add_memory_effect(op, {static_cast<MemoryPart>(random() % kMemoryPartNames.size()),
                               {below(1000) - 500},
                               static_cast<MemoryWhen>(random() % 2)});
    }
    stream_of.push_back(stream);
  }
  ExampleRun run{std::move(b).finish(), {}};
  std::vector<std::int64_t> clock(run.plan.stream_count());
  for (const StreamId stream : stream_of) {
    std::int64_t& now = clock[index_of(stream)];
    const std::int64_t start = orderly ? now + below(3) * below(2000) : below(1'000'000);
    const std::int64_t end = start + below(4) * below(100'000);
    run.trace.ops.push_back({{start}, {start}, {random() % 20 == 0 ? start - 1 : end}});
    now = std::max(now, end);
    run.trace.makespan.ps = std::max(run.trace.makespan.ps, end);
  }
  return run;
}

}  // namespace twinrun
