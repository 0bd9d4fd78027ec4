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
      flows_of_(links().owner.size()),
      alone_(links().owner.size(), kNone),
      finishes_(links().owner.size()),
      queue_(links().owner.size(), widest(links().bytes_per_s)),
      most_repairs_(most_repairs) {
  for (std::size_t i = 0; i < links_.size(); ++i) {
    links_[i].capacity = links().bytes_per_s[i];
  }
}

// ---- flows on links ----

void MaxMin::swap_entries(LinkFlows& flows, std::uint32_t a, std::uint32_t b) {
  std::swap(flows.entries[a], flows.entries[b]);
  routes()[flows.entries[a].slot][flows.entries[a].hop].position = a;
  routes()[flows.entries[b].slot][flows.entries[b].hop].position = b;
}

void MaxMin::add_held(std::uint32_t link, Hop& hop, double limit) {
  Link& to = links_[link];
  LinkFlows& flows = flows_of_[link];
  swap_entries(flows, hop.position, to.held++);
  to.held_shares += hop.times;
  flows.least_limit = std::min(flows.least_limit, limit);
}

void MaxMin::drop_held(std::uint32_t link, Hop& hop) {
  Link& from = links_[link];
  LinkFlows& flows = flows_of_[link];
  swap_entries(flows, hop.position, --from.held);
  from.held_shares -= hop.times;
  flows.first_tag = kStale;
  if (from.held == 0) {
    from.level = kNever;
    flows.least_limit = kNever;
    flows.drained = 0;
    flows.tags.clear();
    idle_.push_back(link);
  }
  touch(link);
}

EdgeList& MaxMin::edges_between(std::uint32_t from, std::uint32_t to) {
  return links_[to].is_lazy ? flows_of_[from].lazy_edges : flows_of_[from].edges;
}

std::uint32_t MaxMin::next_of(std::uint32_t slot, std::uint32_t hop) {
  const std::span<const Hop> hops = routes()[slot];
  return drains_[slot].is_simple && hop + 1 < hops.size() ? hops[hop + 1].link : kNone;
}

bool MaxMin::must_watch(std::uint32_t index) const {
  const Link& link = links_[index];
  const LinkFlows& flows = flows_of_[index];
  if (flows.limits <= link.capacity * (1 + kTolerance)) {
    return false;
  }
  const bool all_go_on = flows.next != kNone && flows.to_next == flows.entries.size();
  return !all_go_on || link.capacity < links_[flows.next].capacity;
}

bool MaxMin::note_alone(std::uint32_t slot) {
  const std::span<const Hop> hops = routes()[slot];
  const bool is_alone = std::all_of(hops.begin(), hops.end(),
                                    [&](const Hop& hop) { return alone_[hop.link] == kNone; });
  drains_[slot].is_alone = is_alone;
  if (is_alone) {
    for (const Hop& hop : hops) {
      alone_[hop.link] = slot;
    }
  }
  return is_alone;
}

// Into the lists of all its links, and before it whoever was alone on one of them.
void MaxMin::join_all(std::uint32_t slot) {
  const auto hops = static_cast<std::uint32_t>(routes()[slot].size());
  drains_[slot].is_alone = false;
  for (std::uint32_t hop = 0; hop < hops; ++hop) {
    const std::uint32_t link = routes()[slot][hop].link;
    const std::uint32_t other = std::exchange(alone_[link], kShared);
    if (other < kShared && other != slot) {
      join_all(other);
    }
    join(slot, hop);
  }
}

void MaxMin::join(std::uint32_t slot, std::uint32_t hop_index) {
  Hop& hop = routes()[slot][hop_index];
  Link& link = links_[hop.link];
  LinkFlows& flows = flows_of_[hop.link];
  const double limit = drains_[slot].limit;
  const std::uint32_t next = next_of(slot, hop_index);
  if (flows.entries.empty()) {
    flows.next = next;
    flows.to_next = 0;
  }
  flows.to_next += next == flows.next ? 1U : 0U;
  hop.position = static_cast<std::uint32_t>(flows.entries.size());
  flows.entries.push_back({slot, hop_index});
  flows.limits += limit * hop.times;
  link.shares += hop.times;
  link.equal_share = link.capacity / link.shares;
  if (link.is_watched) {
    link.others += limit * hop.times;
    link.fastest = std::max(link.fastest, limit);
    mark(hop.link);
  } else if (must_watch(hop.link)) {
    watch(hop.link);
    mark(hop.link);
  }
}

void MaxMin::part(std::uint32_t slot, std::uint32_t hop_index, double rate, double published) {
  Hop& hop = routes()[slot][hop_index];
  Link& link = links_[hop.link];
  LinkFlows& flows = flows_of_[hop.link];
  if (drains_[slot].holder == hop.link) {
    drop_held(hop.link, hop);
  } else if (link.is_watched) {
    link.others -= (link.is_lazy ? published : rate) * hop.times;
  }
  swap_entries(flows, hop.position, static_cast<std::uint32_t>(flows.entries.size() - 1));
  flows.entries.pop_back();
  flows.to_next -= next_of(slot, hop_index) == flows.next ? 1U : 0U;
  flows.limits -= drains_[slot].limit * hop.times;
  link.shares -= hop.times;
  link.equal_share = link.shares == 0 ? kNever : link.capacity / link.shares;
  if (flows.entries.empty()) {  // sheds the rounding of many sums
    flows.limits = 0;
    link.others = 0;
    link.fastest = 0;
    alone_[hop.link] = kNone;
  }
  if (link.is_watched && link.held == 0 && !must_watch(hop.link)) {
    unwatch(hop.link);
  } else if (link.is_watched) {
    mark(hop.link);
  }
}

void MaxMin::remove(std::uint32_t slot) {
  Drain& drain = drains_[slot];
  if (drain.is_alone) {
    for (const Hop& hop : routes()[slot]) {
      alone_[hop.link] = kNone;
    }
    ++drain.stamp;
    return;
  }
  const double rate = rate_of(drain);
  const double published = published_rate_of(drain);
  const std::span<const Hop> hops = routes()[slot];
  if (drain.holder != kNone) {
    for (const Hop& hop : hops) {
      if (hop.link != drain.holder && links_[hop.link].is_watched) {
        edges_between(drain.holder, hop.link).drop(hop.link, hop.times);
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
  for (const Entry& entry : flows_of_[index].entries) {
    const Drain& drain = drains_[entry.slot];
    const std::uint32_t times = routes()[entry.slot][entry.hop].times;
    link.others += rate_of(drain) * times;
    link.fastest = std::max(link.fastest, rate_of(drain));
    if (drain.holder != kNone) {
      flows_of_[drain.holder].edges.add(index, times);
    }
  }
}

void MaxMin::unwatch(std::uint32_t index) {
  for (const Entry& entry : flows_of_[index].entries) {
    const std::uint32_t holder = drains_[entry.slot].holder;
    if (holder != kNone) {
      edges_between(holder, index).drop(index, routes()[entry.slot][entry.hop].times);
    }
  }
  links_[index].is_watched = false;
  links_[index].is_lazy = false;
}

void MaxMin::turn_exact(std::uint32_t index) {
  unwatch(index);
  watch(index);
}

void MaxMin::turn_lazy_if_idle(std::uint32_t index) {
  constexpr double kRoom = 0.99;  // so that it does not turn back at once
  Link& link = links_[index];
  const std::vector<Entry>& entries = flows_of_[index].entries;
  if (!link.is_watched || link.is_lazy || link.held > 0 || entries.size() < kFewestLazy) {
    return;
  }
  double published = 0;
  for (const Entry& entry : entries) {
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
  for (const Entry& entry : entries) {
    const std::uint32_t holder = drains_[entry.slot].holder;
    if (holder != kNone) {
      flows_of_[holder].lazy_edges.add(index, routes()[entry.slot][entry.hop].times);
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
  return drain.holder == kNone ? drain.limit : flows_of_[drain.holder].published;
}

double MaxMin::bytes_left(const Drain& drain) const {
  if (drain.holder == kNone) {
    return (drain.finish - clock()) * drain.limit * 1e-12;
  }
  const LinkFlows& flows = flows_of_[drain.holder];
  const double since = (clock() - flows.since) * 1e-12;
  return drain.finish - (flows.drained + links_[drain.holder].level * since);
}

void MaxMin::settle(std::uint32_t index) {
  const Link& link = links_[index];
  LinkFlows& flows = flows_of_[index];
  if (link.held > 0 && link.level < kNever) {
    flows.drained += link.level * (clock() - flows.since) * 1e-12;
  }
  flows.since = clock();
}

// The holder must be settled.
void MaxMin::tag(std::uint32_t slot, double bytes) {
  Drain& drain = drains_[slot];
  LinkFlows& flows = flows_of_[drain.holder];
  drain.finish = flows.drained + bytes;
  flows.first_tag = kStale;
  flows.tags.push_back({drain.finish, slot, ++drain.stamp});
  std::push_heap(flows.tags.begin(), flows.tags.end());
  constexpr double kMostDrained = 1e12;  // beyond it a double no longer resolves 1e-4 bytes
  const std::size_t held = links_[drain.holder].held;
  if (flows.tags.size() > 2 * held + 32 || flows.drained > kMostDrained) {
    compact_tags(drain.holder);
  }
}

void MaxMin::tag_by_limit(std::uint32_t slot, double bytes) {
  Drain& drain = drains_[slot];
  drain.holder = kNone;
  drain.finish = clock() + bytes / drain.limit * 1e12;
  fresh_.push_back({drain.finish, slot, ++drain.stamp});
}

// Drops what no longer lives and counts V from 0 again.
void MaxMin::compact_tags(std::uint32_t index) {
  LinkFlows& flows = flows_of_[index];
  std::erase_if(flows.tags, [&](const Tag& tag) { return !lives(tag); });
  for (Tag& tag : flows.tags) {
    tag.finish -= flows.drained;
    drains_[tag.slot].finish = tag.finish;
  }
  flows.drained = 0;
  flows.first_tag = kStale;
  std::make_heap(flows.tags.begin(), flows.tags.end());
}

void MaxMin::find_first_tag(LinkFlows& flows) {
  while (!flows.tags.empty() && !lives(flows.tags.front())) {
    std::pop_heap(flows.tags.begin(), flows.tags.end());
    flows.tags.pop_back();
  }
  flows.first_tag = flows.tags.empty() ? kNever : flows.tags.front().finish;
}

void MaxMin::update_finish(std::uint32_t index) {
  LinkFlows& flows = flows_of_[index];
  if (flows.first_tag == kStale) {
    find_first_tag(flows);
  }
  if (flows.first_tag == kNever) {
    finishes_.set(index, kNever);
    return;
  }
  const double left = flows.first_tag - flows.drained;
  finishes_.set(index, std::max(clock(), flows.since + left / links_[index].level * 1e12));
}

void MaxMin::enter(std::uint32_t slot, double bytes, double cap) {
  if (slot >= drains_.size()) {
    drains_.resize(slot + std::size_t{1});
  }
  Drain& drain = drains_[slot];
  const std::span<const Hop> hops = routes()[slot];
  drain.limit = cap;
  drain.is_simple = true;
  for (const Hop& hop : hops) {
    const double capacity = links().bytes_per_s[hop.link];
    drain.limit = std::min(drain.limit, hop.times == 1 ? capacity : capacity / hop.times);
    drain.is_simple = drain.is_simple && hop.times == 1;
  }
  tag_by_limit(slot, bytes);
  if (!note_alone(slot)) {
    join_all(slot);
  }
}

double MaxMin::next_finish() {
  if (changed_) {
    changed_ = false;
    solve();
  }
  for (const Tag& tag : fresh_) {
    if (lives(tag)) {
      by_limit_.push(tag);
    }
  }
  fresh_.clear();
  while (!by_limit_.empty() && !lives(by_limit_.top())) {
    by_limit_.pop();
  }
  const double by_limit = by_limit_.empty() ? kNever : by_limit_.top().finish;
  return std::min(by_limit, finishes_.least());
}

void MaxMin::leave_link(std::uint32_t index, std::vector<std::uint32_t>& slots) {
  LinkFlows& flows = flows_of_[index];
  settle(index);
  const double level = links_[index].level;
  bool is_first = true;  // it ends now whatever rounding says, so that every instant gets on
  while (!flows.tags.empty()) {
    const Tag top = flows.tags.front();
    const double left = top.finish - flows.drained;
    if (lives(top) && !is_first && clock() + left / level * 1e12 > end_of_instant(clock())) {
      break;
    }
    std::pop_heap(flows.tags.begin(), flows.tags.end());
    flows.tags.pop_back();
    if (lives(top)) {
      slots.push_back(top.slot);
      is_first = false;
    }
  }
  flows.first_tag = kStale;
  finishes_.set(index, kNever);
}

void MaxMin::leave(std::vector<std::uint32_t>& slots) {
  const double end = end_of_instant(clock());
  leaving_.clear();
  while (finishes_.least() <= end) {
    leave_link(static_cast<std::uint32_t>(finishes_.index_of_least()), leaving_);
  }
  while (!by_limit_.empty() && by_limit_.top().finish <= end) {
    const Tag top = by_limit_.top();
    by_limit_.pop();
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
