#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.h"
#include "core/base/units.h"
#include "core/collective/algorithms.h"
#include "core/nccl/planner.h"
#include "core/plan/op.h"
#include "core/topology/topology.h"
#include "sim/collective/pipelined.h"
#include "sim/engine/route_cache.h"

namespace twinrun::sim {

enum class Fidelity : std::uint8_t { kAuto, kStepwise, kPipelined, kNccl };
inline constexpr std::array<std::string_view, 4> kFidelityWords = {"auto", "stepwise", "pipelined",
                                                                   "nccl"};

struct CollectiveRequest {
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::span<const VertexId> ranks;
  Bytes bytes{};
  Dtype dtype = Dtype::kFp32;
  std::uint32_t root = 0;               // a rank
  std::string_view algorithm = "auto";  // a row of collective_algorithms(), or auto
  Fidelity fidelity = Fidelity::kAuto;
  bool may_take_steps = true;              // auto may be stepwise: the run has few messages in all
  std::span<const VertexId> servers = {};  // of their own; none: beside the workers
  std::uint32_t server_count = 0;          // beside the workers; 0: as many as the algorithm likes
};

// How a collective is done: step by step, or as one transfer.
struct CollectiveMethod {
  Fidelity fidelity = Fidelity::kStepwise;  // never auto
  std::string algorithm;
  std::string protocol;
  int channels = 0;
  std::string why;                             // of the fidelity and the algorithm
  std::vector<VertexId> participants;          // ranks, then servers
  std::optional<CollectiveSchedule> schedule;  // stepwise
  FluidCollective fluid;                       // pipelined and nccl
  std::string bottleneck;                      // name of fluid.bottleneck, set by the engine
};

// The rule for auto, in words for people: how many messages in all are still taken one by one.
inline constexpr std::uint64_t kMostStepwiseMessages = 2'000'000;

// Chooses and prepares. Throws CannotRun when the algorithm named cannot do it.
class CollectiveMethods {
 public:
  CollectiveMethods(const Topology& topology, RouteCache& routes, const NcclLaunch& launch = {});
  CollectiveMethod choose(const CollectiveRequest& request);

 private:
  [[nodiscard]] CollectiveSpec spec_of(const CollectiveRequest& request) const;
  CollectiveMethod with(const CollectiveAlgorithm& algorithm, const CollectiveRequest& request);
  CollectiveMethod cheapest(const CollectiveRequest& request);
  CollectiveMethod as_mpi(const CollectiveRequest& request);

  const Topology& topology_;
  RouteCache& routes_;
  NcclLaunch launch_;
  NcclPlanner nccl_;
};

}  // namespace twinrun::sim
