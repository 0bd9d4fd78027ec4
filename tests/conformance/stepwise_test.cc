#include <random>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "core/collective/algorithms.h"
#include "core/plan/plan_builder.h"
#include "sim/simulate.h"
#include "tests/core/topology/topologies_for_tests.h"

// The engine has two ways to run a schedule: message by message through the network, which is the
// truth, and without a solver when messages cannot meet. Both must say the same, for every
// algorithm, kind, rank count and machine.

namespace twinrun::sim {
namespace {

Plan one_collective(const Topology& topology,
                    const CollectiveAlgorithm& algorithm,
                    CollectiveKind kind,
                    std::size_t ranks,
                    bool has_successor) {
  const std::vector<VertexId> all = topology.compute_devices();
  PlanBuilder builder;
  std::vector<DeviceId> devices;
  for (std::size_t i = 0; i < ranks; ++i) {
    devices.push_back(builder.add_device(topology.name(all[i])));
  }
  const GroupId group = builder.add_group("all", devices);
  OpId last{};
  for (std::size_t i = 0; i < ranks; ++i) {
    last = builder.add_collective(fmt::format("c@{}", i), builder.stream(devices[i], "comm"),
                                  {.kind = kind,
                                   .group = group,
                                   .bytes = {1'000'004},
                                   .algorithm = algorithm.name,
                                   .root = devices[ranks / 2]});
  }
  if (has_successor) {
    builder.depend(builder.add_marker("after", builder.stream(devices[0], "host")), last);
  }
  return std::move(builder).finish();
}

struct Machine {
  const char* topology;
  std::size_t least_without;  // a solver; where traffic crosses a bus twice, nothing goes without
};

class Stepwise : public testing::TestWithParam<Machine> {};

TEST_P(Stepwise, WithoutASolverIsTheSameAsWithIt) {
  const Topology topology = topology_of(GetParam().topology);
  std::size_t without = 0;
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    for (const CollectiveKind kind : algorithm.kinds) {
      for (const std::size_t ranks : {2U, 3U, 4U, 5U, 7U, 8U}) {
        try {
          const SimulationOptions options{.fidelity = Fidelity::kStepwise};
          const Plan alone = one_collective(topology, algorithm, kind, ranks, false);
          const Simulation fast = simulate(alone, topology, options);
          const Plan followed = one_collective(topology, algorithm, kind, ranks, true);
          const Simulation slow = simulate(followed, topology, options);
          without += fast.engine.uncontended;
          ASSERT_EQ(slow.engine.uncontended, 0U);
          ASSERT_EQ(fast.engine.transfers, slow.engine.transfers);
          for (std::size_t i = 0; i < ranks; ++i) {
            EXPECT_NEAR(static_cast<double>(fast.trace.ops[i].end.ps),
                        static_cast<double>(slow.trace.ops[i].end.ps), 1)
                << algorithm.name << ' ' << name_of(kind) << ' ' << ranks << " rank " << i;
          }
          EXPECT_EQ(fast.trace.links.size(), slow.trace.links.size());
          for (std::size_t i = 0; i < fast.trace.links.size(); ++i) {
            EXPECT_EQ(fast.trace.links[i].bytes, slow.trace.links[i].bytes);
          }
        } catch (const CannotRun&) {  // hierarchical, where machines do not divide the ranks
        }
      }
    }
  }
  EXPECT_GE(without, GetParam().least_without);  // else this compared the network with itself
}

INSTANTIATE_TEST_SUITE_P(
    Machines,
    Stepwise,
    testing::Values(Machine{"single-switch:hosts=8,bandwidth=12.5GB/s,latency=1us", 40},
                    Machine{"dgx1-v100", 20},
                    Machine{"pcie-8gpu", 10},
                    Machine{"p3.2xlarge:nodes=8", 0},
                    Machine{"dgx-a100:nodes=2", 40}));

}  // namespace
}  // namespace twinrun::sim
