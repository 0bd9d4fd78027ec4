#include "core/topology/fabric_routes.h"

#include <algorithm>
#include <numeric>

#include "core/base/check.h"

namespace twinrun {
namespace {

// splitmix64's finaliser: every bit of the input reaches every bit of the output.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

}  // namespace

FabricRoutes::FabricRoutes(const Topology& topology) : topology_(topology) {
  index_links(collect_links());
  mark_forwarding();
  number_ports();
}

std::vector<LinkId> FabricRoutes::collect_links() {
  std::vector<LinkId> working;
  for (std::size_t l = topology_.fabric_first_link(); l < topology_.link_count(); ++l) {
    const LinkId link = id_at<LinkId>(l);
    if (!topology_.failed(link)) {
      working.push_back(link);
    }
    for (const VertexId end : {topology_.from(link), topology_.to(link)}) {
      const auto next = static_cast<std::uint32_t>(vertices_.size());
      if (index_.try_emplace(static_cast<std::uint32_t>(end), next).second) {
        vertices_.push_back(end);
      }
    }
  }
  return working;
}

void FabricRoutes::index_links(const std::vector<LinkId>& links) {
  offsets_.assign(vertices_.size() + 1, 0);
  in_offsets_.assign(vertices_.size() + 1, 0);
  for (const LinkId link : links) {
    ++offsets_[index_in_fabric(topology_.from(link)) + 1];
    ++in_offsets_[index_in_fabric(topology_.to(link)) + 1];
  }
  for (std::size_t i = 1; i < offsets_.size(); ++i) {
    offsets_[i] += offsets_[i - 1];
    in_offsets_[i] += in_offsets_[i - 1];
  }
  out_.resize(links.size());
  target_.resize(links.size());
  in_source_.resize(links.size());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  std::vector<std::uint32_t> next_in(in_offsets_.begin(), in_offsets_.end() - 1);
  for (const LinkId link : links) {
    const std::uint32_t a = index_in_fabric(topology_.from(link));
    const std::uint32_t b = index_in_fabric(topology_.to(link));
    out_[next[a]] = link;
    target_[next[a]++] = b;
    in_source_[next_in[b]++] = a;
  }
}

// A port forwards only where ports are wired to ports (ring, torus); else a machine with two
// uplinks would become a switch.
void FabricRoutes::mark_forwarding() {
  const auto is_switch = [&](std::uint32_t v) {
    return topology_.kind(vertices_[v]) == VertexKind::kSwitch;
  };
  forwards_.resize(vertices_.size());
  for (std::uint32_t v = 0; v < vertices_.size(); ++v) {
    forwards_[v] = is_switch(v);
    for (std::uint32_t i = offsets_[v]; i < offsets_[v + 1]; ++i) {
      forwards_[v] = forwards_[v] || !is_switch(target_[i]);
    }
  }
}

// Ports count in vertex order, whatever order the generator wired them in.
void FabricRoutes::number_ports() {
  std::vector<std::uint32_t> in_vertex_order(vertices_.size());
  std::iota(in_vertex_order.begin(), in_vertex_order.end(), 0U);
  std::sort(in_vertex_order.begin(), in_vertex_order.end(),
            [&](std::uint32_t a, std::uint32_t b) { return vertices_[a] < vertices_[b]; });
  port_number_.resize(vertices_.size());
  std::uint32_t ports = 0;
  for (const std::uint32_t v : in_vertex_order) {
    port_number_[v] = topology_.kind(vertices_[v]) == VertexKind::kSwitch ? 0 : ports++;
  }
}

std::uint32_t FabricRoutes::index_in_fabric(VertexId v) const {
  const auto found = index_.find(static_cast<std::uint32_t>(v));
  TWINRUN_CHECK(found != index_.end());
  return found->second;
}

// Breadth-first from the destination against the links.
const FabricRoutes::Distances& FabricRoutes::distances_to(std::uint32_t destination) {
  auto [entry, is_new] = distances_.try_emplace(destination);
  Distances& distance = entry->second;
  if (!is_new) {
    return distance;
  }
  distance.assign(vertices_.size(), kFar);
  distance[destination] = 0;
  std::vector<std::uint32_t> queue{destination};
  for (std::size_t head = 0; head < queue.size(); ++head) {
    const std::uint32_t at = queue[head];
    if (at != destination && !forwards_[at]) {
      continue;
    }
    for (std::uint32_t i = in_offsets_[at]; i < in_offsets_[at + 1]; ++i) {
      if (distance[in_source_[i]] == kFar) {
        distance[in_source_[i]] = distance[at] + 1;
        queue.push_back(in_source_[i]);
      }
    }
  }
  return distance;
}

bool FabricRoutes::route(VertexId from, VertexId to, std::uint64_t flow, std::vector<LinkId>& out) {
  if (!has_wire(from) || !has_wire(to)) {
    return false;
  }
  std::uint32_t at = index_in_fabric(from);
  const std::uint32_t goal = index_in_fabric(to);
  // A port with a single wire is as far as the switch behind it: share that switch's distances.
  const bool behind_one = in_offsets_[goal + 1] - in_offsets_[goal] == 1;
  const std::uint32_t aim = behind_one ? in_source_[in_offsets_[goal]] : goal;
  const Distances& distance = distances_to(aim);
  if (distance[at] == kFar) {
    return false;
  }
  const std::uint64_t hash =
      mixed(mixed(mixed(static_cast<std::uint64_t>(from)) ^ static_cast<std::uint64_t>(to)) ^ flow);
  std::uint64_t digits =
      topology_.routing_rule() == RoutingRule::kDModK ? port_number_[goal] : hash;
  while (at != goal) {
    const std::uint32_t step = next_step(at, aim, goal, distance, digits);
    out.push_back(out_[step]);
    at = target_[step];
  }
  return true;
}

// Among the links that lead nearer, the one the digits choose; each choice uses up its digits.
std::uint32_t FabricRoutes::next_step(std::uint32_t at,
                                      std::uint32_t aim,
                                      std::uint32_t goal,
                                      const Distances& distance,
                                      std::uint64_t& digits) const {
  const auto leads_on = [&](std::uint32_t i) {
    const std::uint32_t next = target_[i];
    return at == aim ? next == goal
                     : distance[next] + 1 == distance[at] && (next == goal || forwards_[next]);
  };
  std::uint32_t candidates = 0;
  for (std::uint32_t i = offsets_[at]; i < offsets_[at + 1]; ++i) {
    candidates += leads_on(i) ? 1U : 0U;
  }
  TWINRUN_CHECK(candidates > 0);
  auto chosen = static_cast<std::uint32_t>(digits % candidates);
  digits /= candidates;
  std::uint32_t i = offsets_[at];
  while (!leads_on(i) || chosen-- > 0) {
    ++i;
  }
  return i;
}

}  // namespace twinrun
