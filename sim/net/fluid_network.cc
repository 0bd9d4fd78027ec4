#include "sim/net/fluid_network.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

#include "core/base/check.h"
#include "sim/whole_picoseconds.h"

namespace twinrun::sim {
namespace {

// A flow never ends early; the allowance keeps the noise of a sum of doubles from adding a whole
// picosecond to a date that is one.
Time shown_date(double date) { return whole_picoseconds(date - (1e-3 + date * 1e-15)); }

}  // namespace

LinkId SharedLinks::add(Bandwidth capacity, Time latency_of_link) {
  owner.push_back(static_cast<std::uint32_t>(owner.size()));
  bytes_per_s.push_back(capacity.bytes_per_s);
  latency.push_back(latency_of_link.ps);
  return id_at<LinkId>(owner.size() - 1);
}

SharedLinks shared_links(const Topology& topology) {
  SharedLinks links;
  for (std::size_t i = 0; i < topology.link_count(); ++i) {
    const auto link = id_at<LinkId>(i);
    links.add(topology.bandwidth(link), topology.latency(link));
    links.owner[i] = static_cast<std::uint32_t>(topology.capacity_owner(link));
  }
  return links;
}

void RouteTable::set(std::uint32_t slot, std::span<const LinkId> route, const SharedLinks& links) {
  if (slot >= rows_.size()) {
    rows_.resize(slot + std::size_t{1});
  }
  Row& row = rows_[slot];
  if (route.size() > row.room) {
    row.begin = pool_.size();
    // Powers of two: what growing rows leave behind is never more than what they have.
    row.room = static_cast<std::uint32_t>(std::max<std::size_t>(6, std::bit_ceil(route.size())));
    pool_.resize(pool_.size() + row.room);
  }
  row.size = 0;
  Hop* const hops = pool_.data() + row.begin;
  for (const LinkId link : route) {
    const std::uint32_t owner = links.owner[index_of(link)];
    const std::uint32_t known = place_[owner];
    if (known < row.size && hops[known].link == owner) {
      ++hops[known].times;
    } else {
      place_[owner] = row.size;
      hops[row.size++] = {owner, 1, 0};
    }
  }
}

FluidNetwork::FluidNetwork(SharedLinks links)
    : links_(std::move(links)), routes_(links_.owner.size()), carried_(links_.owner.size(), 0) {
  for (std::size_t i = 0; i < links_.owner.size(); ++i) {
    TWINRUN_CHECK(links_.bytes_per_s[links_.owner[i]] > 0 && links_.latency[i] >= 0);
  }
}

std::uint32_t FluidNetwork::take_slot(FlowId flow, Bytes bytes, Bandwidth most) {
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(flows_.size()));
    flows_.emplace_back();
  }
  const std::uint32_t slot = free_.back();
  free_.pop_back();
  flows_[slot] = {flow, false, started_++, static_cast<double>(bytes.count), most.bytes_per_s};
  return slot;
}

void FluidNetwork::start(
    FlowId flow, std::span<const LinkId> route, Bytes bytes, Time now, const FlowTerms& terms) {
  TWINRUN_CHECK(now >= shown_ && bytes.count >= 0 && terms.most > Bandwidth{0});
  if (now > shown_) {
    std::vector<FlowId> finished;
    advance_to(now, finished);
    TWINRUN_CHECK(finished.empty());  // they would be lost: advance first
  }
  const std::uint32_t slot = take_slot(flow, bytes, terms.most);
  std::int64_t latency = terms.latency ? terms.latency->ps : 0;
  for (const LinkId link : route) {
    latency += terms.latency ? 0 : links_.latency[index_of(link)];
  }
  routes_.set(slot, route, links_);
  if (route.empty() && terms.most == FlowTerms{}.most) {
    flows_[slot].bytes = 0;  // stays where it is
  }
  if (latency == 0 && flows_[slot].bytes > 0) {
    begin_draining(slot);
    return;
  }
  arrivals_.push({clock_ + static_cast<double>(latency), flows_[slot].sequence, slot});
}

void FluidNetwork::begin_draining(std::uint32_t slot) {
  flows_[slot].drains = true;
  enter(slot, flows_[slot].bytes, flows_[slot].cap);
}

void FluidNetwork::end_draining(std::uint32_t slot) {
  flows_[slot].drains = false;
  for (const Hop& hop : routes_[slot]) {
    carried_[hop.link] += flows_[slot].bytes * hop.times;
  }
}

double FluidNetwork::next_arrival() const {
  return arrivals_.empty() ? kNever : arrivals_.top().date;
}

void FluidNetwork::arrive(double until) {
  while (next_arrival() <= until) {
    const std::uint32_t slot = arrivals_.top().slot;
    arrivals_.pop();
    if (flows_[slot].bytes > 0) {
      begin_draining(slot);
    } else {
      ended_.push_back(slot);
    }
  }
}

void FluidNetwork::run_instant(double date, std::vector<FlowId>& finished) {
  clock_ = std::max(clock_, date);
  ended_.clear();
  leave(ended_);
  arrive(end_of_instant(clock_));
  const auto started_before = [&](std::uint32_t a, std::uint32_t b) {
    return flows_[a].sequence < flows_[b].sequence;
  };
  if (!std::is_sorted(ended_.begin(), ended_.end(), started_before)) {
    std::sort(ended_.begin(), ended_.end(), started_before);
  }
  for (const std::uint32_t slot : ended_) {
    finished.push_back(flows_[slot].id);
    end_draining(slot);
    free_.push_back(slot);
  }
}

std::optional<Time> FluidNetwork::next_event() {
  const double next = std::min(next_arrival(), next_finish());
  if (next == kNever) {
    return std::nullopt;
  }
  return std::max(shown_, shown_date(next));
}

void FluidNetwork::advance_to(Time time, std::vector<FlowId>& finished) {
  TWINRUN_CHECK(time >= shown_);
  // Stops after an instant that is shown as this time without looking for more: what the caller
  // starts now shares the solve.
  while (true) {
    const double next = std::min(next_arrival(), next_finish());
    if (next == kNever || shown_date(next) > time) {
      clock_ = std::max(clock_, static_cast<double>(time.ps));
      break;
    }
    run_instant(next, finished);
    if (shown_date(clock_) >= time) {
      break;
    }
  }
  shown_ = time;
}

std::vector<std::uint32_t> FluidNetwork::draining() const {
  std::vector<std::uint32_t> slots;
  for (std::uint32_t slot = 0; slot < flows_.size(); ++slot) {
    if (flows_[slot].drains) {
      slots.push_back(slot);
    }
  }
  std::sort(slots.begin(), slots.end(), [&](std::uint32_t a, std::uint32_t b) {
    return flows_[a].sequence < flows_[b].sequence;
  });
  return slots;
}

std::vector<FlowRate> FluidNetwork::rates() {
  next_finish();
  std::vector<FlowRate> rates;
  for (const std::uint32_t slot : draining()) {
    rates.push_back(drain_of(slot));
    rates.back().flow = flows_[slot].id;
  }
  return rates;
}

std::vector<double> FluidNetwork::bytes_carried() {
  next_finish();
  std::vector<double> carried = carried_;
  for (const std::uint32_t slot : draining()) {
    const double gone = flows_[slot].bytes - drain_of(slot).bytes_left;
    for (const Hop& hop : routes_[slot]) {
      carried[hop.link] += gone * hop.times;
    }
  }
  return carried;
}

}  // namespace twinrun::sim
