#include "tests/bench/training_plan.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/plan/plan_builder.h"

namespace twinrun {
namespace {

constexpr std::size_t kLayers = 24;

struct Rank {
  std::size_t number;
  StreamId compute;
  StreamId comm;
  OpId last;  // of the step before
};

void add_step(PlanBuilder& builder, Rank& rank, GroupId world, std::size_t step) {
  fmt::memory_buffer id;
  const auto named = [&](const char* what, std::size_t layer) {
    id.clear();
    fmt::format_to(std::back_inserter(id), "step{}/{}/layer{}@rank{}", step, what, layer,
                   rank.number);
    return std::string_view(id.data(), id.size());
  };
  constexpr Bytes kActivations{4'000'000};
  std::vector<OpId> reduced;
  OpId before = rank.last;
  const auto chain = [&](OpId op) {
    if (before != no_id<OpId>()) {
      builder.depend(op, before);
    }
    before = op;
  };
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    const OpId op = builder.add_compute(named("forward", layer), rank.compute,
                                        {.flops = 1e9, .bytes = {4'000'000}});
    builder.add_memory_effect(op, {MemoryPart::kActivations, kActivations, MemoryWhen::kStart});
    chain(op);
  }
  for (std::size_t layer = kLayers; layer-- > 0;) {
    const OpId op = builder.add_compute(named("backward", layer), rank.compute,
                                        {.flops = 2e9, .bytes = {8'000'000}});
    builder.add_memory_effect(op,
                              {MemoryPart::kActivations, {-kActivations.count}, MemoryWhen::kEnd});
    chain(op);
    const OpId sum = builder.add_collective(
        named("grads", layer), rank.comm,
        {.kind = CollectiveKind::kAllReduce, .group = world, .bytes = {2'000'000}});
    builder.depend(sum, op);
    reduced.push_back(sum);
  }
  rank.last = builder.add_compute(named("update", 0), rank.compute, {.flops = 1e8});
  for (const OpId sum : reduced) {
    builder.depend(rank.last, sum);
  }
}

}  // namespace

Plan training_plan(std::size_t ops_at_least, std::size_t ranks) {
  PlanBuilder builder("data-parallel training");
  std::vector<Rank> all;
  const GroupId world = builder.add_group("world");
  for (std::size_t r = 0; r < ranks; ++r) {
    const DeviceId device = builder.add_device(fmt::format("gpu{}", r));
    builder.add_to_group(world, device);
    all.push_back(
        {r, builder.stream(device, "compute"), builder.stream(device, "comm"), no_id<OpId>()});
  }
  for (std::size_t step = 0; builder.size() < ops_at_least; ++step) {
    for (Rank& rank : all) {
      add_step(builder, rank, world, step);
    }
  }
  return std::move(builder).finish();
}

}  // namespace twinrun
