#include "sim/net/max_min.h"

#include <algorithm>

#include "core/base/check.h"

namespace twinrun::sim {
namespace {

double widest(const std::vector<double>& capacities) {
  return capacities.empty() ? 1 : *std::max_element(capacities.begin(), capacities.end());
}

}  // namespace

MaxMin::MaxMin(SharedLinks shared) : MaxMin(std::move(shared), 0) {
  most_repairs_ = 1000 + 16 * links_.size();  // far beyond what is ever seen
}

MaxMin::MaxMin(SharedLinks shared, std::size_t most_repairs)
    : FluidNetwork(std::move(shared)),
      links_(links().owner.size()),
      finishes_(links().owner.size()),
      queue_(links().owner.size(), widest(links().bytes_per_s)),
      most_repairs_(most_repairs) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    links_[i].capacity = links().bytes_per_s[i];
  }
}

// ---- flows on links ----

void MaxMin::swap_entries(Link& link, std::uint32_t a, std::uint32_t b) {
  std::swap(link.flows[a], link.flows[b]);
  routes()[link.flows[a].slot][link.flows[a].hop].position = a;
  routes()[link.flows[b].slot][link.flows[b].hop].position = b;
}

void MaxMin::add_held(std::uint32_t link, Hop& hop, double limit) {
  Link& to = links_[link];
  swap_entries(to, hop.position, to.held++);
  to.held_shares += hop.times;
  to.least_limit = std::min(to.least_limit, limit);
}

void MaxMin::drop_held(std::uint32_t link, Hop& hop) {
  Link& from = links_[link];
  swap_entries(from, hop.position, --from.held);
  from.held_shares -= hop.times;
  if (from.held == 0) {
    from.level = kNever;
    from.least_limit = kNever;
    from.drained = 0;
    from.tags.clear();
    idle_.push_back(link);
  }
  touch(link);
}

MaxMin::Edges& MaxMin::edges_between(std::uint32_t from, std::uint32_t to) {
  return links_[to].is_lazy ? links_[from].lazy_edges : links_[from].edges;
}

void MaxMin::add_edge(std::uint32_t from, std::uint32_t to, std::uint32_t shares) {
  Edges& edges = edges_between(from, to);
  const auto known = std::find(edges.to.begin(), edges.to.end(), to);
  if (known != edges.to.end()) {
    edges.shares[static_cast<std::size_t>(known - edges.to.begin())] += shares;
  } else {
    edges.to.push_back(to);
    edges.shares.push_back(shares);
  }
}

void MaxMin::drop_edge(std::uint32_t from, std::uint32_t to, std::uint32_t shares) {
  Edges& edges = edges_between(from, to);
  const auto known = std::find(edges.to.begin(), edges.to.end(), to);
  const auto at = static_cast<std::size_t>(known - edges.to.begin());
  TWINRUN_DCHECK(known != edges.to.end() && edges.shares[at] >= shares);
  edges.shares[at] -= shares;
  if (edges.shares[at] == 0) {
    edges.to[at] = edges.to.back();
    edges.shares[at] = edges.shares.back();
    edges.to.pop_back();
    edges.shares.pop_back();
  }
}

std::uint32_t MaxMin::next_of(std::uint32_t slot, std::uint32_t hop) {
  const std::span<const Hop> hops = routes()[slot];
  return drains_[slot].is_simple && hop + 1 < hops.size() ? hops[hop + 1].link : kNone;
}

bool MaxMin::must_watch(const Link& link) const {
  if (link.limits <= link.capacity * (1 + kTolerance)) {
    return false;
  }
  const bool all_go_on = link.next != kNone && link.to_next == link.flows.size();
  return !all_go_on || link.capacity < links_[link.next].capacity;
}

void MaxMin::join(std::uint32_t slot, std::uint32_t hop_index) {
  Hop& hop = routes()[slot][hop_index];
  Link& link = links_[hop.link];
  const double limit = drains_[slot].limit;
  const std::uint32_t next = next_of(slot, hop_index);
  if (link.flows.empty()) {
    link.next = next;
    link.to_next = 0;
  }
  link.to_next += next == link.next ? 1U : 0U;
  hop.position = static_cast<std::uint32_t>(link.flows.size());
  link.flows.push_back({slot, hop_index});
  link.shares += hop.times;
  link.equal_share = link.capacity / link.shares;
  link.limits += limit * hop.times;
  if (link.is_watched) {
    link.others += limit * hop.times;
    link.fastest = std::max(link.fastest, limit);
    mark(hop.link);
  } else if (must_watch(link)) {
    watch(hop.link);
    mark(hop.link);
  }
}

void MaxMin::part(std::uint32_t slot, std::uint32_t hop_index, double rate, double published) {
  Hop& hop = routes()[slot][hop_index];
  Link& link = links_[hop.link];
  if (drains_[slot].holder == hop.link) {
    drop_held(hop.link, hop);
  } else if (link.is_watched) {
    link.others -= (link.is_lazy ? published : rate) * hop.times;
  }
  swap_entries(link, hop.position, static_cast<std::uint32_t>(link.flows.size() - 1));
  link.flows.pop_back();
  link.to_next -= next_of(slot, hop_index) == link.next ? 1U : 0U;
  link.shares -= hop.times;
  link.equal_share = link.shares == 0 ? kNever : link.capacity / link.shares;
  link.limits -= drains_[slot].limit * hop.times;
  if (link.flows.empty()) {  // sheds the rounding of many sums
    link.limits = 0;
    link.others = 0;
    link.fastest = 0;
  }
  if (link.is_watched && link.held == 0 && !must_watch(link)) {
    unwatch(hop.link);
  } else if (link.is_watched) {
    mark(hop.link);
  }
}

void MaxMin::remove(std::uint32_t slot) {
  Drain& drain = drains_[slot];
  const double rate = rate_of(drain);
  const double published = published_rate_of(drain);
  const std::span<const Hop> hops = routes()[slot];
  if (drain.holder != kNone) {
    for (const Hop& hop : hops) {
      if (hop.link != drain.holder && links_[hop.link].is_watched) {
        drop_edge(drain.holder, hop.link, hop.times);
      }
    }
  }
  for (std::uint32_t hop = 0; hop < hops.size(); ++hop) {
    part(slot, hop, rate, published);
  }
  ++drain.stamp;
  drain.holder = kNone;
}

void MaxMin::watch(std::uint32_t index) {
  Link& link = links_[index];
  link.is_watched = true;
  link.is_lazy = false;
  link.others = 0;
  link.fastest = 0;
  for (const Entry& entry : link.flows) {
    const Drain& drain = drains_[entry.slot];
    const std::uint32_t times = routes()[entry.slot][entry.hop].times;
    link.others += rate_of(drain) * times;
    link.fastest = std::max(link.fastest, rate_of(drain));
    if (drain.holder != kNone) {
      add_edge(drain.holder, index, times);
    }
  }
}

void MaxMin::unwatch(std::uint32_t index) {
  Link& link = links_[index];
  for (const Entry& entry : link.flows) {
    if (drains_[entry.slot].holder != kNone) {
      drop_edge(drains_[entry.slot].holder, index, routes()[entry.slot][entry.hop].times);
    }
  }
  link.is_watched = false;
  link.is_lazy = false;
}

void MaxMin::turn_exact(std::uint32_t index) {
  unwatch(index);
  watch(index);
}

void MaxMin::turn_lazy_if_idle(std::uint32_t index) {
  constexpr double kRoom = 0.99;  // so that it does not turn back at once
  Link& link = links_[index];
  constexpr std::size_t kFewest = 8;  // with fewer flows turning costs more than it saves
  if (!link.is_watched || link.is_lazy || link.held > 0 || link.flows.size() < kFewest) {
    return;
  }
  double published = 0;
  for (const Entry& entry : link.flows) {
    const std::uint32_t times = routes()[entry.slot][entry.hop].times;
    published += published_rate_of(drains_[entry.slot]) * times;
  }
  if (published > link.capacity * kRoom) {
    return;
  }
  unwatch(index);
  link.is_watched = true;
  link.is_lazy = true;
  link.others = published;
  for (const Entry& entry : link.flows) {
    if (drains_[entry.slot].holder != kNone) {
      add_edge(drains_[entry.slot].holder, index, routes()[entry.slot][entry.hop].times);
    }
  }
}

void MaxMin::mark(std::uint32_t link) {
  marked_.push_back(link);
  changed_ = true;
}

// ---- draining ----

double MaxMin::rate_of(const Drain& drain) const {
  return drain.holder == kNone ? drain.limit : links_[drain.holder].level;
}

double MaxMin::published_rate_of(const Drain& drain) const {
  return drain.holder == kNone ? drain.limit : links_[drain.holder].published;
}

double MaxMin::bytes_left(const Drain& drain) const {
  if (drain.holder == kNone) {
    return (drain.finish - clock()) * drain.limit * 1e-12;
  }
  const Link& link = links_[drain.holder];
  return drain.finish - (link.drained + link.level * (clock() - link.since) * 1e-12);
}

void MaxMin::settle(Link& link) {
  if (link.held > 0 && link.level < kNever) {
    link.drained += link.level * (clock() - link.since) * 1e-12;
  }
  link.since = clock();
}

// The holder must be settled.
void MaxMin::tag(std::uint32_t slot, double bytes) {
  Drain& drain = drains_[slot];
  Link& link = links_[drain.holder];
  drain.finish = link.drained + bytes;
  link.tags.push_back({drain.finish, slot, ++drain.stamp});
  std::push_heap(link.tags.begin(), link.tags.end());
  constexpr double kMostDrained = 1e12;  // beyond it a double no longer resolves 1e-4 bytes
  if (link.tags.size() > 2 * std::size_t{link.held} + 32 || link.drained > kMostDrained) {
    compact_tags(drain.holder);
  }
}

void MaxMin::tag_by_limit(std::uint32_t slot, double bytes) {
  Drain& drain = drains_[slot];
  drain.holder = kNone;
  drain.finish = clock() + bytes / drain.limit * 1e12;
  by_limit_.push_back({drain.finish, slot, ++drain.stamp});
  std::push_heap(by_limit_.begin(), by_limit_.end());
}

// Drops what no longer lives and counts V from 0 again.
void MaxMin::compact_tags(std::uint32_t index) {
  Link& link = links_[index];
  std::erase_if(link.tags, [&](const Tag& tag) { return !lives(tag); });
  for (Tag& tag : link.tags) {
    tag.finish -= link.drained;
    drains_[tag.slot].finish = tag.finish;
  }
  link.drained = 0;
  std::make_heap(link.tags.begin(), link.tags.end());
}

void MaxMin::update_finish(std::uint32_t index) {
  Link& link = links_[index];
  while (!link.tags.empty() && !lives(link.tags.front())) {
    std::pop_heap(link.tags.begin(), link.tags.end());
    link.tags.pop_back();
  }
  if (link.tags.empty()) {
    finishes_.set(index, kNever);
    return;
  }
  const double left = link.tags.front().finish - link.drained;
  finishes_.set(index, std::max(clock(), link.since + left / link.level * 1e12));
}

void MaxMin::enter(std::uint32_t slot, double bytes) {
  if (slot >= drains_.size()) {
    drains_.resize(slot + std::size_t{1});
  }
  Drain& drain = drains_[slot];
  const std::span<const Hop> hops = routes()[slot];
  drain.limit = kNever;
  drain.is_simple = true;
  for (const Hop& hop : hops) {
    drain.limit = std::min(drain.limit, links_[hop.link].capacity / hop.times);
    drain.is_simple = drain.is_simple && hop.times == 1;
  }
  tag_by_limit(slot, bytes);
  for (std::uint32_t hop = 0; hop < hops.size(); ++hop) {
    join(slot, hop);
  }
}

double MaxMin::next_finish() {
  if (changed_) {
    changed_ = false;
    solve();
  }
  while (!by_limit_.empty() && !lives(by_limit_.front())) {
    std::pop_heap(by_limit_.begin(), by_limit_.end());
    by_limit_.pop_back();
  }
  const double by_limit = by_limit_.empty() ? kNever : by_limit_.front().finish;
  return std::min(by_limit, finishes_.least());
}

void MaxMin::leave_link(std::uint32_t index, std::vector<std::uint32_t>& slots) {
  Link& link = links_[index];
  settle(link);
  bool is_first = true;  // it ends now whatever rounding says, so that every instant gets on
  while (!link.tags.empty()) {
    const Tag top = link.tags.front();
    const double left = top.finish - link.drained;
    if (lives(top) && !is_first && clock() + left / link.level * 1e12 > end_of_instant(clock())) {
      break;
    }
    std::pop_heap(link.tags.begin(), link.tags.end());
    link.tags.pop_back();
    if (lives(top)) {
      slots.push_back(top.slot);
      is_first = false;
    }
  }
  finishes_.set(index, kNever);
}

void MaxMin::leave(std::vector<std::uint32_t>& slots) {
  const double end = end_of_instant(clock());
  leaving_.clear();
  while (finishes_.least() <= end) {
    leave_link(static_cast<std::uint32_t>(finishes_.index_of_least()), leaving_);
  }
  while (!by_limit_.empty() && by_limit_.front().finish <= end) {
    const Tag top = by_limit_.front();
    std::pop_heap(by_limit_.begin(), by_limit_.end());
    by_limit_.pop_back();
    if (lives(top)) {
      leaving_.push_back(top.slot);
    }
  }
  for (const std::uint32_t slot : leaving_) {
    remove(slot);
  }
  slots.insert(slots.end(), leaving_.begin(), leaving_.end());
}

FlowRate MaxMin::drain_of(std::uint32_t slot) {
  return {{}, rate_of(drains_[slot]), bytes_left(drains_[slot])};
}

}  // namespace twinrun::sim
