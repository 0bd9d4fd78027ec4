#include "core/topology/fabric_routes.h"

#include <algorithm>
#include <numeric>

#include "core/base/check.h"
#include "core/base/splitmix.h"

namespace twinrun {
FabricRoutes::FabricRoutes(const Topology& topology)
    : topology_(topology), index_(topology.vertex_count(), kNone) {
  index_links(collect_links());
  mark_forwarding();
  number_choices();
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
      if (!has_wire(end)) {
        index_[index_of(end)] = static_cast<std::uint32_t>(vertices_.size());
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
    ++offsets_[index_[index_of(topology_.from(link))] + 1];
    ++in_offsets_[index_[index_of(topology_.to(link))] + 1];
  }
  for (std::size_t i = 1; i < offsets_.size(); ++i) {
    offsets_[i] += offsets_[i - 1];
    in_offsets_[i] += in_offsets_[i - 1];
  }
  out_.resize(links.size());
  target_.resize(links.size());
  in_source_.resize(links.size());
  in_step_.resize(links.size());
  std::vector<std::uint32_t> next(offsets_.begin(), offsets_.end() - 1);
  std::vector<std::uint32_t> next_in(in_offsets_.begin(), in_offsets_.end() - 1);
  for (const LinkId link : links) {
    const std::uint32_t a = index_[index_of(topology_.from(link))];
    const std::uint32_t b = index_[index_of(topology_.to(link))];
    in_step_[next_in[b]] = next[a];
    in_source_[next_in[b]++] = a;
    out_[next[a]] = link;
    target_[next[a]++] = b;
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

void FabricRoutes::number_choices() {
  choice_index_.assign(vertices_.size(), kNone);
  for (std::uint32_t v = 0; v < vertices_.size(); ++v) {
    if (forwards_[v] || offsets_[v + 1] - offsets_[v] > 1) {
      choice_index_[v] = choosing_++;
    }
  }
  choices_of_.resize(choosing_);
  steps_.resize(vertices_.size());
  distance_.assign(vertices_.size(), kNone);
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

// A port with a single wire is as far as the switch behind it: they share that switch's steps.
std::uint32_t FabricRoutes::aim_for(std::uint32_t goal) const {
  const std::uint32_t wire = in_offsets_[goal];
  const bool is_behind_one = in_offsets_[goal + 1] - wire == 1 && forwards_[in_source_[wire]];
  return is_behind_one ? in_source_[wire] : goal;
}

// Breadth-first from the destination against the links.
void FabricRoutes::measure_distances_to(std::uint32_t destination) {
  reached_ = {destination};
  distance_[destination] = 0;
  for (std::size_t head = 0; head < reached_.size(); ++head) {
    const std::uint32_t at = reached_[head];
    if (at != destination && !forwards_[at]) {
      continue;
    }
    for (std::uint32_t i = in_offsets_[at]; i < in_offsets_[at + 1]; ++i) {
      const std::uint32_t source = in_source_[i];
      if (choice_index_[source] != kNone && distance_[source] == kNone) {
        distance_[source] = distance_[at] + 1;
        reached_.push_back(source);
      }
    }
  }
}

const FabricRoutes::Steps& FabricRoutes::steps_to(std::uint32_t destination) {
  Steps& steps = steps_[destination];
  if (!steps.empty()) {
    return steps;
  }
  steps.assign(choosing_ + std::size_t{1}, kNone);  // never empty
  measure_distances_to(destination);
  for (const std::uint32_t v : reached_) {
    if (v != destination) {
      steps[choice_index_[v]] = nearer_from(v, destination);
    }
  }
  for (const std::uint32_t v : reached_) {
    distance_[v] = kNone;
  }
  return steps;
}

std::uint32_t FabricRoutes::nearer_from(std::uint32_t v, std::uint32_t destination) {
  nearer_.clear();
  for (std::uint32_t i = offsets_[v]; i < offsets_[v + 1]; ++i) {
    const std::uint32_t next = target_[i];
    if (distance_[next] + 1 == distance_[v] && (next == destination || forwards_[next])) {
      nearer_.push_back(i);
    }
  }
  TWINRUN_CHECK(!nearer_.empty());
  return nearer_.size() == 1 ? nearer_.front() : keep_choice(v);
}

// Few of a switch's choices differ (all uplinks, mostly), so each is kept once.
std::uint32_t FabricRoutes::keep_choice(std::uint32_t v) {
  const auto base = static_cast<std::uint32_t>(out_.size());
  std::vector<std::uint32_t>& known = choices_of_[choice_index_[v]];
  for (const std::uint32_t place : known) {
    const std::uint32_t* const steps = choice_steps_.data() + choices_[place].first;
    if (std::equal(nearer_.begin(), nearer_.end(), steps, steps + choices_[place].count)) {
      return base + place;
    }
  }
  known.push_back(static_cast<std::uint32_t>(choices_.size()));
  choices_.push_back({static_cast<std::uint32_t>(choice_steps_.size()),
                      static_cast<std::uint32_t>(nearer_.size())});
  choice_steps_.insert(choice_steps_.end(), nearer_.begin(), nearer_.end());
  return base + known.back();
}

bool FabricRoutes::route(VertexId from, VertexId to, std::uint64_t flow, std::vector<LinkId>& out) {
  if (!has_wire(from) || !has_wire(to)) {
    return false;
  }
  std::uint32_t at = index_[index_of(from)];
  const std::uint32_t goal = index_[index_of(to)];
  const std::uint32_t aim = aim_for(goal);
  const Steps& steps = steps_to(aim);
  const std::size_t before = out.size();
  std::uint64_t digits = port_number_[goal];
  if (topology_.routing_rule() != RoutingRule::kDModK) {
    digits = mixed(static_cast<std::uint64_t>(from)) ^ static_cast<std::uint64_t>(to);
    digits = mixed(mixed(digits) ^ flow);
  }
  while (at != goal) {
    const std::uint32_t step =
        at == aim ? in_step_[in_offsets_[goal]] : next_step(at, steps, digits);
    if (step == kNone) {
      out.resize(before);
      return false;
    }
    out.push_back(out_[step]);
    at = target_[step];
  }
  return true;
}

std::uint32_t FabricRoutes::next_step(std::uint32_t at,
                                      const Steps& steps,
                                      std::uint64_t& digits) const {
  const std::uint32_t index = choice_index_[at];
  if (index == kNone) {
    return offsets_[at] < offsets_[at + 1] ? offsets_[at] : kNone;
  }
  const std::uint32_t step = steps[index];
  if (step == kNone || step < out_.size()) {
    return step;
  }
  const Choice choice = choices_[step - out_.size()];
  const std::uint64_t chosen = digits % choice.count;
  digits /= choice.count;
  return choice_steps_[choice.first + chosen];
}

}  // namespace twinrun
