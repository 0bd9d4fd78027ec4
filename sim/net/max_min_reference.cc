#include "sim/net/max_min_reference.h"

#include <algorithm>

#include "core/base/check.h"

namespace twinrun::sim {

MaxMinReference::MaxMinReference(SharedLinks shared) : FluidNetwork(std::move(shared)) {
  loads_.resize(links().owner.size());
}

void MaxMinReference::drain() {
  for (Drain& one : drains_) {
    one.left -= one.rate * (clock() - drained_until_) * 1e-12;
  }
  drained_until_ = clock();
}

void MaxMinReference::enter(std::uint32_t slot, double bytes, double cap) {
  drain();
  drains_.push_back({slot, bytes, cap, 0});
  changed_ = true;
}

double MaxMinReference::finish_of(const Drain& drain) const {
  return drained_until_ + drain.left / drain.rate * 1e12;
}

double MaxMinReference::next_finish() {
  if (changed_) {
    drain();
    solve();
    changed_ = false;
  }
  double next = kNever;
  for (const Drain& one : drains_) {
    next = std::min(next, finish_of(one));
  }
  return next;
}

void MaxMinReference::leave(std::vector<std::uint32_t>& slots) {
  const auto ends = [&](const Drain& one) {
    return one.rate > 0 && finish_of(one) <= end_of_instant(clock());
  };
  for (const Drain& one : drains_) {
    if (ends(one)) {
      slots.push_back(one.slot);
      changed_ = true;
    }
  }
  drains_.erase(std::remove_if(drains_.begin(), drains_.end(), ends), drains_.end());
  drain();
}

FlowRate MaxMinReference::drain_of(std::uint32_t slot) {
  drain();
  for (const Drain& one : drains_) {
    if (one.slot == slot) {
      return {{}, one.rate, one.left};
    }
  }
  return {};
}

void MaxMinReference::load_links() {
  for (const std::uint32_t link : used_) {
    loads_[link].flows.clear();
    loads_[link].shares = 0;
  }
  used_.clear();
  for (std::size_t flow = 0; flow < drains_.size(); ++flow) {
    drains_[flow].rate = 0;
    for (const Hop& hop : routes()[drains_[flow].slot]) {
      Load& load = loads_[hop.link];
      if (load.flows.empty()) {
        used_.push_back(hop.link);
        load.left = links().bytes_per_s[hop.link];
      }
      load.flows.push_back(flow);
      load.shares += hop.times;
    }
  }
}

void MaxMinReference::freeze(std::size_t flow, double rate) {
  drains_[flow].rate = rate;
  for (const Hop& hop : routes()[drains_[flow].slot]) {
    loads_[hop.link].left -= rate * hop.times;
    loads_[hop.link].shares -= hop.times;
  }
}

void MaxMinReference::solve() {
  load_links();
  while (true) {
    double level = kNever;
    const Load* fullest = nullptr;
    for (const std::uint32_t link : used_) {
      const Load& load = loads_[link];
      if (load.shares > 0 && load.left / load.shares < level) {
        level = load.left / load.shares;
        fullest = &load;
      }
    }
    const std::size_t capped = least_cap_below(level);
    if (capped < drains_.size()) {
      freeze(capped, drains_[capped].cap);
      continue;
    }
    if (fullest == nullptr) {
      return;
    }
    TWINRUN_CHECK(level > 0);
    for (const std::size_t flow : fullest->flows) {
      if (drains_[flow].rate == 0) {
        freeze(flow, level);
      }
    }
  }
}

// The flow without a rate that comes to its cap before the level, or drains_.size().
std::size_t MaxMinReference::least_cap_below(double level) const {
  std::size_t least = drains_.size();
  for (std::size_t flow = 0; flow < drains_.size(); ++flow) {
    if (drains_[flow].rate == 0 && drains_[flow].cap < level) {
      level = drains_[flow].cap;
      least = flow;
    }
  }
  return least;
}

}  // namespace twinrun::sim
