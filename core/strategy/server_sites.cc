#include "core/strategy/server_sites.h"

#include <algorithm>

#include <fmt/format.h>

namespace twinrun {
namespace {

constexpr std::string_view kServerRole = "server";

// CPUs in one machine, dedicated or shared hosts where there are several.
ServerSite placement_of(const Job& job, std::size_t machines) {
  return job.server.placement.value_or(machines > 1 ? ServerSite::kHosts : ServerSite::kCpu);
}

bool has_server_role(const Topology& topology, NodeId node) {
  return topology.role(node) == kServerRole;
}

std::vector<NodeId> all_machines(const Topology& topology) {
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < topology.node_count(); ++i) {
    nodes.push_back(id_at<NodeId>(i));
  }
  return nodes;
}

std::vector<NodeId> server_machines(const Topology& topology) {
  std::vector<NodeId> nodes = all_machines(topology);
  std::erase_if(nodes, [&](NodeId node) { return !has_server_role(topology, node); });
  return nodes;
}

// In the order of their first rank.
std::vector<NodeId> machines_with_ranks(const Topology& topology,
                                        const std::vector<VertexId>& ranks) {
  std::vector<NodeId> nodes;
  for (const VertexId vertex : ranks) {
    const NodeId node = topology.node_of(vertex);
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) {
      nodes.push_back(node);
    }
  }
  return nodes;
}

std::vector<VertexId> cpus_in(const Topology& topology, NodeId node) {
  std::vector<VertexId> cpus;
  for (const std::uint32_t local : topology.shape(node).of_kind(VertexKind::kCpu)) {
    cpus.push_back(topology.vertex_in(node, local));
  }
  return cpus;
}

// Socket by socket over the machines: node0/cpu0, node1/cpu0, …, node0/cpu1, …
std::vector<VertexId> cpus_in_turn(const Topology& topology, const std::vector<NodeId>& nodes) {
  std::vector<VertexId> out;
  for (std::size_t socket = 0, found = 1; found > 0; ++socket) {
    found = 0;
    for (const NodeId node : nodes) {
      const std::vector<VertexId> cpus = cpus_in(topology, node);
      if (socket < cpus.size()) {
        out.push_back(cpus[socket]);
        ++found;
      }
    }
  }
  return out;
}

std::vector<VertexId> first_cpus(const Topology& topology, const std::vector<NodeId>& nodes) {
  std::vector<VertexId> out;
  for (const NodeId node : nodes) {
    const std::vector<VertexId> cpus = cpus_in(topology, node);
    if (!cpus.empty()) {
      out.push_back(cpus.front());
    }
  }
  return out;
}

// The last `count` machines that have no rank.
std::vector<NodeId> last_machines_without_ranks(const Topology& topology,
                                                const std::vector<VertexId>& ranks,
                                                std::size_t count) {
  const std::vector<NodeId> taken = machines_with_ranks(topology, ranks);
  std::vector<NodeId> free = all_machines(topology);
  std::erase_if(free, [&](NodeId node) {
    return std::find(taken.begin(), taken.end(), node) != taken.end();
  });
  if (free.size() > count) {
    free.erase(free.begin(), free.end() - static_cast<std::ptrdiff_t>(count));
  }
  return free;
}

class SiteFinder {
 public:
  SiteFinder(const Job& job,
             const Topology& topology,
             const Layout& layout,
             Diagnostics& diagnostics)
      : job_(job), topology_(topology), layout_(layout), diagnostics_(diagnostics) {}

  std::optional<ServerSites> find() {
    if (job_.server.count && *job_.server.count < 1) {
      diagnostics_.error("E0921", place_in(job_, "/server/count"),
                         fmt::format("{} servers hold no weights", *job_.server.count),
                         "1 or more");
      return std::nullopt;
    }
    if (job_.server.staleness < 0) {
      diagnostics_.error("E0921", place_in(job_, "/server/staleness"),
                         "a worker cannot be fewer than 0 steps ahead", "0 or more");
      return std::nullopt;
    }
    const std::vector<VertexId> places = candidates();
    if (places.empty()) {
      complain();
      return std::nullopt;
    }
    const std::size_t usual = is_central_ ? 1 : places.size();
    const auto count =
        static_cast<std::size_t>(job_.server.count.value_or(static_cast<std::int64_t>(usual)));
    ServerSites sites;
    for (std::size_t i = 0; i < count; ++i) {
      sites.servers.push_back(places[i % places.size()]);
    }
    return sites;
  }

 private:
  // Places in the order in which servers take them.
  std::vector<VertexId> candidates() {
    const std::vector<NodeId> machines = machines_with_ranks(topology_, layout_.devices);
    site_ = placement_of(job_, topology_.node_count());
    is_central_ = site_ != ServerSite::kHosts;
    switch (site_) {
      case ServerSite::kGpu0:
        return layout_.devices;
      case ServerSite::kCpu:
        return cpus_in_turn(topology_, machines);
      case ServerSite::kHosts:
        break;
    }
    if (const auto dedicated = server_machines(topology_); !dedicated.empty()) {
      return first_cpus(topology_, dedicated);
    }
    if (job_.server.colocated) {
      return first_cpus(topology_, machines);
    }
    const auto wanted = static_cast<std::size_t>(job_.server.count.value_or(1));
    return first_cpus(topology_, last_machines_without_ranks(topology_, layout_.devices, wanted));
  }

  void complain() {
    const bool is_dedicated = site_ == ServerSite::kHosts && !job_.server.colocated;
    diagnostics_.error(
        "E0920", place_in(job_, "/server/placement"),
        is_dedicated ? fmt::format("every machine of {} has ranks: none is left for a server",
                                   topology_.name())
                     : fmt::format("the machines of {} have no CPU that a server could run on",
                                   topology_.name()),
        is_dedicated ? "\"colocated\": true, \"placement\": \"cpu\", fewer \"mapping.ranks\", or "
                       "one machine more"
                     : "\"placement\": \"gpu0\", or a topology whose machines have CPUs");
  }

  const Job& job_;
  const Topology& topology_;
  const Layout& layout_;
  Diagnostics& diagnostics_;
  ServerSite site_ = ServerSite::kCpu;
  bool is_central_ = true;  // one server unless the job says more
};

}  // namespace

std::vector<VertexId> worker_candidates(const Job& job, const Topology& topology) {
  std::vector<VertexId> devices = topology.compute_devices();
  const std::vector<NodeId> dedicated = server_machines(topology);
  std::size_t kept = topology.node_count();
  const bool takes_last = placement_of(job, topology.node_count()) == ServerSite::kHosts &&
                          !job.server.colocated && dedicated.empty();
  const auto wanted =
      static_cast<std::size_t>(std::max<std::int64_t>(job.server.count.value_or(1), 0));
  if (takes_last && wanted < kept) {
    kept -= wanted;
  }
  std::erase_if(devices, [&](VertexId vertex) {
    const NodeId node = topology.node_of(vertex);
    return has_server_role(topology, node) || index_of(node) >= kept;
  });
  return devices;
}

std::optional<ServerSites> server_sites(const Job& job,
                                        const Topology& topology,
                                        const Layout& layout,
                                        Diagnostics& diagnostics) {
  return SiteFinder(job, topology, layout, diagnostics).find();
}

void sum_in_machines(const Job& job,
                     const Topology& topology,
                     const Layout& layout,
                     ServerSites& sites) {
  const bool on_gpu = job.server.placement == ServerSite::kGpu0;
  for (const VertexId rank : layout.devices) {
    const NodeId node = topology.node_of(rank);
    const std::vector<VertexId> cpus = cpus_in(topology, node);
    const VertexId first_rank =
        *std::find_if(layout.devices.begin(), layout.devices.end(),
                      [&](VertexId other) { return topology.node_of(other) == node; });
    sites.machine_sums.push_back(on_gpu || cpus.empty() ? first_rank : cpus.front());
  }
}

}  // namespace twinrun
