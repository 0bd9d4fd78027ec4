#include "exec/cpu/choose_schedule.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "core/base/diagnostics.h"

namespace twinrun::exec {
namespace {

constexpr std::int64_t kSmallAllReduce = 16'384;  // bytes

// Devices of a machine stand beside each other: node0/gpu0, node0/gpu1, node1/gpu0, …
std::uint32_t ranks_per_node(const Plan& plan, std::span<const DeviceId> devices) {
  std::map<std::string_view, std::uint32_t> ranks_of;
  for (const DeviceId device : devices) {
    const std::string_view name = plan.device_name(device);
    const std::size_t slash = name.find('/');
    ++ranks_of[slash == std::string_view::npos ? "" : name.substr(0, slash)];
  }
  const std::uint32_t first = ranks_of.begin()->second;
  const bool is_even = std::all_of(ranks_of.begin(), ranks_of.end(),
                                   [&](const auto& node) { return node.second == first; });
  return is_even ? first : 1;
}

CollectiveSpec spec_of(const Plan& plan, InstanceId instance, std::int64_t elements) {
  const CollectiveShape& shape = plan.shape(plan.instance_ops(instance).front());
  const auto devices = plan.group_devices(shape.group);
  CollectiveSpec spec;
  spec.kind = shape.kind;
  spec.ranks = static_cast<std::uint32_t>(devices.size());
  spec.bytes = elements * static_cast<std::int64_t>(sizeof(float));
  spec.ranks_per_node = ranks_per_node(plan, devices);
  const auto root = std::find(devices.begin(), devices.end(), shape.root);
  spec.root = root == devices.end() ? 0 : static_cast<std::uint32_t>(root - devices.begin());
  return spec;
}

// Where latencies count and bytes do not, the fewest steps end first; all leave a barrier together.
bool wants_fewest_steps(const CollectiveSpec& spec) {
  return spec.kind == CollectiveKind::kBarrier ||
         (spec.kind == CollectiveKind::kAllReduce && spec.bytes <= kSmallAllReduce);
}

// As many servers as the simulator gives it.
std::uint32_t servers_of(const CollectiveAlgorithm& algorithm, const CollectiveSpec& spec) {
  return algorithm.name == "ps"                ? 1
         : algorithm.name == "ps-hierarchical" ? spec.ranks / std::max(1U, spec.ranks_per_node)
                                               : spec.ranks;
}

ChosenSchedule with(const CollectiveAlgorithm& algorithm, CollectiveSpec spec) {
  spec.servers = servers_of(algorithm, spec);
  if (const auto reason = why_not(algorithm, spec)) {
    throw CannotRun(*reason);
  }
  return {std::string(algorithm.name), CollectiveSchedule(algorithm, spec)};
}

}  // namespace

ChosenSchedule choose_schedule(const Plan& plan, InstanceId instance, std::int64_t elements) {
  const CollectiveSpec spec = spec_of(plan, instance, elements);
  const OpId first = plan.instance_ops(instance).front();
  const std::string name(plan.algorithm_name(plan.shape(first)));
  if (name != "auto") {
    const CollectiveAlgorithm* const asked = find_collective_algorithm(name);
    if (asked == nullptr) {
      const bool is_mpi = name == "mpi";
      throw CannotRun(
          fmt::format("the algorithm \"{}\" of {} is {} own: only the {} backend can run it", name,
                      plan.match(first), is_mpi ? "MPI's" : "NCCL's", is_mpi ? "mpi" : "cuda"));
    }
    return with(*asked, spec);
  }
  if (wants_fewest_steps(spec)) {
    return with(*find_collective_algorithm("recursive-doubling"), spec);
  }
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {  // the ring is first
    if (!why_not(algorithm, spec)) {
      return with(algorithm, spec);
    }
  }
  throw CannotRun(fmt::format("no algorithm does {}", plan.match(first)));
}

}  // namespace twinrun::exec
