// The repairs of MaxMin; see max_min.h for the idea. Four traps it must not fall into: the scan of
// a link starts from a lower bound of its own, never from how far the sweep has come; a tie can
// call for a capture although no level changes; a flow that comes back to a link has two tags
// there, of which one lives; and disorder between equal levels could repair for ever, so repairs
// are counted and at worst begin again from nothing, in strict order, which ends.
#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "sim/net/max_min.h"

namespace twinrun::sim {

void MaxMin::touch(std::uint32_t link) {
  if (!links_[link].is_touched) {
    links_[link].is_touched = true;
    touched_.push_back(link);
  }
}

// Queues a link unless it is consistent. The key is where the sweep should meet it: its level, or
// a lower bound of its new one when it falls.
void MaxMin::consider(std::uint32_t index) {
  Link& link = links_[index];
  const double rest = link.capacity - link.others;
  double key = link.equal_share;
  if (link.held == 0) {
    if (rest >= -kTolerance * link.capacity) {
      if (rest > kRoomToIdle * link.capacity && link.shares >= kFewestLazy && !link.is_lazy) {
        idle_.push_back(index);
      }
      return;
    }
    if (!link.is_watched) {
      return;
    }
  } else {
    if (link.queued <= link.level && link.queued * link.held_shares * early_enough_ <= rest) {
      return;  // spares the division and the move to another bucket
    }
    const double taken = link.level * link.held_shares;
    if (std::abs(rest - taken) <= kTolerance * taken &&
        link.fastest <= link.level * (1 + kTolerance)) {
      return;
    }
    key = std::min(link.level, std::max(rest / link.held_shares, link.equal_share));
  }
  if (key < link.queued) {
    link.queued = key;
    queue_.put(index, key);
    __builtin_prefetch(&flows_of_[index]);  // for the repair
  }
}

void MaxMin::solve() {
  ++solves_;
  for (const std::uint32_t link : marked_) {
    consider(link);
  }
  marked_.clear();
  std::size_t done = 0;
  while (!queue_.empty()) {
    const std::uint32_t link = queue_.take();
    links_[link].queued = kNever;
    repair(link);
    if (++done == most_repairs_) {
      start_over();
    }
    TWINRUN_CHECK(done < most_repairs_ + 1000 * (1 + links_.size()));
  }
  queue_.make_strict(false);
  early_enough_ = kEarlyEnough;
  repairs_ += done;
  for (const std::uint32_t link : touched_) {
    links_[link].is_touched = false;
    update_finish(link);
  }
  touched_.clear();
  for (const std::uint32_t link : idle_) {
    turn_lazy_if_idle(link);
  }
  idle_.clear();
}

// The level at which the link is full, from a lower bound of it: flows that stay below the level
// take what they take, the rest share alike. Every round moves flows to the lower side only, so it
// ends; the level is kNever when all flows fit.
MaxMin::Filling MaxMin::fill(std::uint32_t index, double from) {
  const Link& link = links_[index];
  const LinkFlows& flows = flows_of_[index];
  Filling filling;
  filling.level = from;
  std::uint32_t above_before = link.shares + 1;
  while (true) {
    const double bound = filling.level * (1 + kTolerance);
    std::uint32_t above = 0;
    filling.low = 0;
    filling.fastest_other = 0;
    const auto count = static_cast<std::uint32_t>(flows.entries.size());
    const bool held_are_above = bound < flows.least_limit;
    if (held_are_above) {
      above = link.held_shares;
    }
    for (std::uint32_t i = held_are_above ? link.held : 0; i < count; ++i) {
      const Entry entry = flows.entries[i];
      const Drain& drain = drains_[entry.slot];
      const double rate = i < link.held ? drain.limit : rate_of(drain);
      const std::uint32_t times = drain.is_simple ? 1 : routes()[entry.slot][entry.hop].times;
      if (i >= link.held) {
        filling.fastest_other = std::max(filling.fastest_other, rate);
      }
      if (rate <= bound) {
        filling.low += rate * times;
      } else {
        above += times;
      }
    }
    if (above == 0) {
      filling.level = kNever;
      return filling;
    }
    if (above == above_before) {
      return filling;
    }
    above_before = above;
    filling.level = std::max(filling.level, (link.capacity - filling.low) / above);
  }
}

void MaxMin::repair(std::uint32_t index) {
  Link& link = links_[index];
  if (link.shares == 0 || !link.is_watched) {
    return;
  }
  for (const EdgeList::Edge edge : flows_of_[index].edges) {
    __builtin_prefetch(&links_[edge.to]);  // for change_level()
  }
  const auto fits = [&] {
    return link.held == 0 && link.others <= link.capacity * (1 + kTolerance);
  };
  if (link.is_lazy && !fits()) {
    turn_exact(index);
  }
  if (fits()) {
    idle_.push_back(index);
    return;
  }
  const double alone = link.held == 0 ? 0 : (link.capacity - link.others) / link.held_shares;
  const double bound = alone * (1 + kTolerance);
  const bool is_plain =
      link.held > 0 && link.fastest <= bound && bound < flows_of_[index].least_limit;
  Filling filling;
  if (is_plain) {
    filling.level = alone;
  } else {
    filling = fill(index, std::max(alone, link.equal_share));
    link.fastest = filling.fastest_other;
  }
  const double place = std::min(filling.level, link.level);
  if (place < kNever && queue_.has_before(place * (1 - kTolerance))) {
    link.queued = place;
    queue_.put(index, place);
    return;
  }
  apply(index, filling.level);
  if (!is_plain) {
    link.others = filling.low;  // summed afresh: sheds the rounding of many changes
    link.fastest = std::min(link.fastest, filling.level);
  }
}

void MaxMin::apply(std::uint32_t index, double level) {
  Link& link = links_[index];
  settle(index);
  touch(index);
  if (flows_of_[index].least_limit <= level * (1 + kTolerance)) {
    release_limited(index, level);
  }
  if (link.held > 0) {
    change_level(index, level);
  }
  if (level < kNever && link.fastest > level * (1 + kTolerance)) {
    link.level = level;
    if (link.held == 0) {
      flows_of_[index].published = level * kPublishedAbove;
    }
    capture_faster(index, level);
  }
  if (link.held == 0) {
    link.level = kNever;
  }
}

void MaxMin::change_level(std::uint32_t index, double level) {
  const double change = level - links_[index].level;
  links_[index].level = level;
  const LinkFlows& flows = flows_of_[index];
  for (const EdgeList::Edge edge : flows.edges) {
    Link& to = links_[edge.to];
    to.others += change * edge.shares;
    to.fastest = std::max(to.fastest, level);
    consider(edge.to);
  }
  constexpr double kBand = kPublishedAbove * kPublishedAbove;
  if (level > flows.published || level * kBand < flows.published) {
    publish(index);
  }
}

void MaxMin::publish(std::uint32_t index) {
  LinkFlows& flows = flows_of_[index];
  const double change = links_[index].level * kPublishedAbove - flows.published;
  flows.published += change;
  for (const EdgeList::Edge edge : flows.lazy_edges) {
    links_[edge.to].others += change * edge.shares;
    consider(edge.to);
  }
}

void MaxMin::release_limited(std::uint32_t index, double level) {
  LinkFlows& flows = flows_of_[index];
  double least = kNever;
  for (std::uint32_t i = links_[index].held; i-- > 0;) {
    const double limit = drains_[flows.entries[i].slot].limit;
    if (limit <= level * (1 + kTolerance)) {
      release(index, i);
    } else {
      least = std::min(least, limit);
    }
  }
  flows.least_limit = least;
}

// A flow that the link held goes on at its own limit, which is higher.
void MaxMin::release(std::uint32_t index, std::uint32_t position) {
  Link& link = links_[index];
  const LinkFlows& flows = flows_of_[index];
  const Entry entry = flows.entries[position];
  const Drain& drain = drains_[entry.slot];
  const double gain = drain.limit - link.level;
  const double published_gain = drain.limit - flows.published;
  const double left = drain.finish - flows.drained;
  const std::span<Hop> hops = routes()[entry.slot];
  for (const Hop& hop : hops) {
    Link& other = links_[hop.link];
    if (hop.link != index && other.is_watched) {
      edges_between(index, hop.link).drop(hop.link, hop.times);
      other.others += (other.is_lazy ? published_gain : gain) * hop.times;
      other.fastest = std::max(other.fastest, drain.limit);
      consider(hop.link);
    }
  }
  link.others += drain.limit * hops[entry.hop].times;
  link.fastest = std::max(link.fastest, drain.limit);
  drop_held(index, hops[entry.hop]);
  tag_by_limit(entry.slot, left);
}

void MaxMin::capture_faster(std::uint32_t index, double level) {
  const std::vector<Entry>& entries = flows_of_[index].entries;
  for (std::uint32_t i = links_[index].held; i < entries.size(); ++i) {
    if (rate_of(drains_[entries[i].slot]) > level * (1 + kTolerance)) {
      capture(index, entries[i]);
    }
  }
}

// A flow held elsewhere, or by its limit, is held by this link from now on.
void MaxMin::capture(std::uint32_t index, const Entry& faster) {
  const Entry entry = faster;  // its place in the list is about to change
  Link& link = links_[index];
  Drain& drain = drains_[entry.slot];
  const std::uint32_t holder = drain.holder;
  const double rate = rate_of(drain);
  const double left = bytes_left(drain);
  const double gain = link.level - rate;
  const double published_gain = flows_of_[index].published - published_rate_of(drain);
  const std::span<Hop> hops = routes()[entry.slot];
  for (Hop& hop : hops) {
    Link& other = links_[hop.link];
    if (hop.link == index || !other.is_watched) {
      continue;
    }
    if (hop.link == holder) {
      drop_held(holder, hop);
      other.others += link.level * hop.times;
      other.fastest = std::max(other.fastest, link.level);
    } else {
      other.others += (other.is_lazy ? published_gain : gain) * hop.times;
      if (holder != kNone) {
        edges_between(holder, hop.link).drop(hop.link, hop.times);
      }
    }
    edges_between(index, hop.link).add(hop.link, hop.times);
    consider(hop.link);
  }
  Hop& here = hops[entry.hop];
  if (holder != kNone) {
    edges_between(holder, index).drop(index, here.times);
  }
  link.others -= rate * here.times;
  add_held(index, here, drain.limit);
  drain.holder = index;
  tag(entry.slot, left);
}

// Every flow back to its limit, every watched link to be repaired. From here the least level is
// always final, as in progressive filling.
void MaxMin::start_over() {
  ++restarts_;
  queue_.clear();
  queue_.make_strict(true);
  early_enough_ = 1;
  for (std::uint32_t index = 0; index < links_.size(); ++index) {
    Link& link = links_[index];
    LinkFlows& flows = flows_of_[index];
    for (std::uint32_t i = 0; i < link.held; ++i) {
      const std::uint32_t slot = flows.entries[i].slot;
      tag_by_limit(slot, bytes_left(drains_[slot]));
    }
    link.queued = kNever;
    link.held = 0;
    link.held_shares = 0;
    link.level = kNever;
    flows.least_limit = kNever;
    flows.drained = 0;
    flows.tags.clear();
    flows.first_tag = kStale;
    flows.edges.clear();
    flows.lazy_edges.clear();
    touch(index);
  }
  for (std::uint32_t index = 0; index < links_.size(); ++index) {
    if (links_[index].is_watched) {
      watch(index);
      consider(index);
    }
  }
}

}  // namespace twinrun::sim
