#include "sim/collective/nccl_method.h"

#include <algorithm>
#include <cmath>
#include <variant>

#include <fmt/format.h>

#include "sim/whole_picoseconds.h"

namespace twinrun::sim {
namespace {

// One transfer that takes `moving` alone, loading the links by their shares. Where the prediction
// is faster than the figures of the links (which are NCCL's, below what NVLink delivers), the
// shares are lowered until the fullest link is just full.
FluidCollective fluid_of(const NcclTraffic& traffic,
                         Bytes bytes,
                         double moving_s,
                         const Topology& topology) {
  ScheduleProfile profile;
  double fullest = 0;
  for (const auto& [link, share] : traffic.share) {
    const double load = share * static_cast<double>(bytes.count);
    profile.loads.push_back({topology.capacity_owner(link), load});
    fullest = std::max(fullest, load / (topology.bandwidth(link).bytes_per_s * moving_s));
  }
  for (LinkLoad& load : profile.loads) {
    load.bytes /= std::max(1.0, fullest);
  }
  FluidCollective fluid = pipelined(profile, topology);
  if (fluid.links.empty()) {
    fluid.bytes = bytes;
  }
  // Rounding shares to whole crossings may have overfilled a link again; the transfer gets shorter.
  const double allowed = to_seconds(fluid.alone);
  const double fit = allowed > moving_s ? moving_s / allowed : 1;
  fluid.bytes = {
      std::max<std::int64_t>(1, std::llround(static_cast<double>(fluid.bytes.count) * fit))};
  fluid.most_bytes_per_s = static_cast<double>(fluid.bytes.count) / moving_s;
  return fluid;
}

}  // namespace

NcclMethod nccl_method(const CollectiveRequest& request,
                       NcclPlanner& planner,
                       const Topology& topology) {
  const auto& answer = planner.plan(request.ranks);
  if (const auto* const refusal = std::get_if<NcclRefusal>(&answer)) {
    return {std::nullopt, refusal->why};
  }
  const NcclPrediction& prediction = std::get<NcclPlan>(answer).prediction;
  const auto only = find_nccl_algorithm(request.algorithm);
  if (request.algorithm != "auto" && !only) {
    return {std::nullopt, fmt::format("NCCL has no algorithm \"{}\"", request.algorithm)};
  }
  const auto choice = prediction.predict(request.kind, request.bytes, 1, only);
  if (!choice) {
    return {std::nullopt, fmt::format("NCCL does not do {}{} here", name_of(request.kind),
                                      only ? " by " + std::string(name_of(*only)) : "")};
  }
  CollectiveMethod method;
  method.fidelity = Fidelity::kNccl;
  method.algorithm = name_of(choice->algorithm);
  method.protocol = name_of(choice->protocol);
  method.channels = choice->channels;
  method.participants.assign(request.ranks.begin(), request.ranks.end());
  const double total_us = choice->time_us;
  const double latency_us = std::min(
      0.999 * total_us,
      prediction.own_estimate().cost(request.kind, choice->algorithm, choice->protocol).latency_us);
  method.fluid = fluid_of(planner.traffic(request.ranks, request.kind, choice->algorithm),
                          request.bytes, (total_us - latency_us) * 1e-6, topology);
  method.fluid.latency = microseconds(latency_us);
  method.fluid.alone = whole_picoseconds(total_us * 1e6);
  return {std::move(method), ""};
}

}  // namespace twinrun::sim
