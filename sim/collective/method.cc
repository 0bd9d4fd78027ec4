#include "sim/collective/method.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "core/base/diagnostics.h"
#include "sim/collective/nccl_exchange.h"
#include "sim/collective/nccl_method.h"

namespace twinrun::sim {
namespace {

std::uint32_t element_bytes(Dtype dtype, Bytes bytes) {
  const auto size = static_cast<std::uint32_t>(stored_bytes(dtype));
  return bytes.count % size == 0 ? size : 1;
}

// Ranks a machine when they stand machine by machine and each has as many; else 0.
std::uint32_t ranks_per_node(const Topology& topology, std::span<const VertexId> ranks) {
  std::uint32_t each = 0;
  for (std::size_t begin = 0; begin < ranks.size();) {
    std::size_t end = begin;
    while (end < ranks.size() && topology.node_of(ranks[end]) == topology.node_of(ranks[begin])) {
      ++end;
    }
    const auto run = static_cast<std::uint32_t>(end - begin);
    if (each != 0 && run != each) {
      return 0;
    }
    each = run;
    begin = end;
  }
  return each;
}

bool needs_servers(const CollectiveAlgorithm& algorithm) {
  return algorithm.name.starts_with("ps");
}

// Sent in all, about: as if every participant did in every step what the first does in the first.
std::uint64_t messages_of(const CollectiveSchedule& schedule) {
  StepTransfers first;
  if (schedule.steps() > 0) {
    schedule.transfers(0, 0, first);
  }
  const std::size_t each = std::max(first.sends.size(), first.receives.size());
  return std::max<std::size_t>(1, each) * schedule.participants() * schedule.steps();
}

std::string unknown_algorithm(std::string_view name) {
  std::string known = "auto";
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    known += fmt::format(", {}", algorithm.name);
  }
  return fmt::format("there is no collective algorithm \"{}\" (known: {})", name, known);
}

}  // namespace

CollectiveMethods::CollectiveMethods(const Topology& topology,
                                     RouteCache& routes,
                                     const NcclLaunch& launch)
    : topology_(topology),
      routes_(routes),
      launch_(launch),
      nccl_(topology, default_nccl_tables(), launch) {}

CollectiveSpec CollectiveMethods::spec_of(const CollectiveRequest& request) const {
  CollectiveSpec spec;
  spec.kind = request.kind;
  spec.ranks = static_cast<std::uint32_t>(request.ranks.size());
  spec.bytes = request.bytes.count;
  spec.element_bytes = element_bytes(request.dtype, request.bytes);
  spec.root = request.root;
  spec.ranks_per_node = ranks_per_node(topology_, request.ranks);
  spec.placement =
      request.servers.empty() ? ServerPlacement::kColocated : ServerPlacement::kAppended;
  spec.servers = static_cast<std::uint32_t>(request.servers.size());
  return spec;
}

CollectiveMethod CollectiveMethods::with(const CollectiveAlgorithm& algorithm,
                                         const CollectiveRequest& request) {
  CollectiveSpec spec = spec_of(request);
  if (request.servers.empty()) {
    const std::uint32_t machines = spec.ranks / std::max(1U, spec.ranks_per_node);
    const std::uint32_t natural = algorithm.name == "ps-hierarchical" ? machines : spec.ranks;
    spec.servers = algorithm.name == "ps"     ? 1
                   : request.server_count > 0 ? request.server_count
                                              : natural;
  }
  if (const auto reason = why_not(algorithm, spec)) {
    throw CannotRun(*reason);
  }
  CollectiveMethod method;
  method.algorithm = algorithm.name;
  method.participants.assign(request.ranks.begin(), request.ranks.end());
  const CollectiveSchedule schedule(algorithm, spec);
  if (schedule.participants() > spec.ranks) {
    method.participants.insert(method.participants.end(), request.servers.begin(),
                               request.servers.end());
  }
  const std::uint64_t messages = messages_of(schedule);
  method.fidelity = request.fidelity;
  if (request.fidelity == Fidelity::kAuto) {
    const bool few = request.may_take_steps && messages <= kMostStepwiseMessages;
    method.fidelity = few ? Fidelity::kStepwise : Fidelity::kPipelined;
    method.why = few ? fmt::format("{} messages are few enough to take one by one", messages)
                 : request.may_take_steps
                     ? fmt::format("{} messages are too many to take one by one", messages)
                     : "the plan's collectives send too many messages to take one by one";
  }
  if (method.fidelity == Fidelity::kStepwise) {
    method.schedule = schedule;
  } else {
    method.fluid = pipelined(profile(schedule, method.participants, routes_, topology_), topology_);
  }
  return method;
}

// Of the algorithms that need no servers, the one that would end first on an idle network.
CollectiveMethod CollectiveMethods::cheapest(const CollectiveRequest& request) {
  const CollectiveAlgorithm* best = nullptr;
  double best_ps = 0;
  std::string refusal;  // the first
  const CollectiveSpec spec = spec_of(request);
  for (const CollectiveAlgorithm& algorithm : collective_algorithms()) {
    if (const auto reason = why_not(algorithm, spec); reason || needs_servers(algorithm)) {
      refusal = refusal.empty() && reason ? *reason : refusal;
      continue;
    }
    const CollectiveSchedule schedule(algorithm, spec);
    if (best != nullptr && messages_of(schedule) > kMostStepwiseMessages) {
      continue;
    }
    const ScheduleProfile shape = profile(schedule, request.ranks, routes_, topology_);
    const double ps = request.fidelity == Fidelity::kPipelined
                          ? static_cast<double>(pipelined(shape, topology_).alone.ps)
                          : shape.lockstep_ps;
    if (best == nullptr || ps < best_ps) {
      best = &algorithm;
      best_ps = ps;
    }
  }
  if (best == nullptr) {
    throw CannotRun(fmt::format("no algorithm does {} over {} ranks: {}", name_of(request.kind),
                                request.ranks.size(), refusal));
  }
  CollectiveMethod method = with(*best, request);
  const std::string reason = fmt::format("{} ends first on an idle network", best->name);
  method.why = method.why.empty() ? reason : reason + "; " + method.why;
  return method;
}

// MPI chooses for itself, and which algorithm no simulation can know: the best one is assumed.
CollectiveMethod CollectiveMethods::as_mpi(const CollectiveRequest& request) {
  CollectiveMethod method = cheapest(request);
  method.why = "MPI's own choice is taken to be the best: " + method.why;
  return method;
}

CollectiveMethod CollectiveMethods::choose(const CollectiveRequest& request) {
  if (request.algorithm == "mpi" && request.fidelity != Fidelity::kNccl) {
    return as_mpi(request);
  }
  const CollectiveAlgorithm* const ours = find_collective_algorithm(request.algorithm);
  const bool is_ours = ours != nullptr;
  if (request.algorithm != "auto" && !is_ours && !find_nccl_algorithm(request.algorithm)) {
    throw CannotRun(unknown_algorithm(request.algorithm));
  }
  const bool is_open = request.fidelity == Fidelity::kAuto && !is_ours;
  if (request.fidelity == Fidelity::kNccl || is_open) {
    NcclMethod nccl = request.kind == CollectiveKind::kAllToAll
                          ? nccl_exchange(request, nccl_, launch_, routes_, topology_)
                          : nccl_method(request, nccl_, topology_);
    if (nccl.method) {
      nccl.method->why = is_open ? "the ranks are GPUs, and NCCL has this collective" : "";
      return *std::move(nccl.method);
    }
    if (!is_open || request.algorithm != "auto") {
      throw CannotRun("NCCL: " + nccl.why_not);
    }
  }
  if (request.algorithm == "auto") {
    return cheapest(request);
  }
  if (!is_ours) {
    throw CannotRun(fmt::format("only NCCL has the algorithm \"{}\"; fidelity {} does not",
                                request.algorithm,
                                kFidelityWords[static_cast<std::size_t>(request.fidelity)]));
  }
  return with(*ours, request);
}

}  // namespace twinrun::sim
