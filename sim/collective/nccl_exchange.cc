#include "sim/collective/nccl_exchange.h"

#include <algorithm>
#include <variant>

#include <fmt/format.h>

#include "core/base/check.h"
#include "sim/collective/profile.h"
#include "sim/whole_picoseconds.h"

namespace twinrun::sim {
namespace {

// Host side of one ncclSend or ncclRecv: nccl_all_ops_8xa100_superbench, whose process makes 128 of
// them for eight GPUs, takes 60 us longer for an all-to-all of 1 KiB than for other collectives.
constexpr double kCallUs = 0.5;

// Of the wire that many TCP flows at once fill until the last has ended: the all-to-all part of
// ps_vs_allreduce_aws_v100_tc, 0.61 to 0.85 over 4 to 16 machines.
constexpr double kTcpExchangeShare = 0.7;

ScheduleProfile exchange_profile(const CollectiveRequest& request,
                                 RouteCache& routes,
                                 const Topology& topology) {
  const CollectiveAlgorithm* const direct = find_collective_algorithm("direct");
  TWINRUN_CHECK(direct != nullptr);
  CollectiveSpec spec;
  spec.kind = CollectiveKind::kAllToAll;
  spec.ranks = static_cast<std::uint32_t>(request.ranks.size());
  spec.bytes = request.bytes.count;
  spec.element_bytes = 1;
  return profile(CollectiveSchedule(*direct, spec), request.ranks, routes, topology);
}

}  // namespace

NcclMethod nccl_exchange(const CollectiveRequest& request,
                         NcclPlanner& planner,
                         const NcclLaunch& launch,
                         RouteCache& routes,
                         const Topology& topology) {
  const auto& answer = planner.plan(request.ranks);
  if (const auto* const refusal = std::get_if<NcclRefusal>(&answer)) {
    return {std::nullopt, refusal->why};
  }
  if (request.algorithm != "auto") {
    return {std::nullopt, fmt::format("it has no all-to-all by \"{}\"", request.algorithm)};
  }
  const NcclPlan& plan = std::get<NcclPlan>(answer);
  const NcclSystem& system = plan.search.system;
  ScheduleProfile loads = exchange_profile(request, routes, topology);
  loads.latency = {};
  CollectiveMethod method;
  method.fidelity = Fidelity::kNccl;
  method.algorithm = "SendRecv";
  method.protocol = name_of(NcclProtocol::kSimple);
  method.participants.assign(request.ranks.begin(), request.ranks.end());
  method.fluid = pipelined(loads, topology);
  const bool over_tcp = system.nodes > 1 && system.network_is_tcp;
  const double moving_s = to_seconds(method.fluid.alone) / (over_tcp ? kTcpExchangeShare : 1);
  // A message costs what one step of a chain does.
  const double message_us =
      plan.prediction.own_estimate()
          .cost(CollectiveKind::kBroadcast, NcclAlgorithm::kRing, NcclProtocol::kSimple)
          .latency_us;
  const double latency_us = message_us + system.wire_latency_us +
                            (launch.gpus_per_process - 1) * launch.launch_us +
                            2 * system.ranks * launch.gpus_per_process * kCallUs;
  method.fluid.latency = microseconds(latency_us);
  if (moving_s > 0) {
    method.fluid.most_bytes_per_s = static_cast<double>(method.fluid.bytes.count) / moving_s;
  }
  method.fluid.alone = whole_picoseconds(latency_us * 1e6 + moving_s * 1e12);
  return {std::move(method), ""};
}

}  // namespace twinrun::sim
