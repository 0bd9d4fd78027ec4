#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "sim/net/max_min.h"

namespace twinrun::sim {

// The traffic of GPT(1024) as the network sees it: 1,024 ranks with one link out and one in; 8
// data-parallel rings of 128 ranks, each one flow over 256 links; across them 256 tensor-parallel
// rings of 4 ranks, each a chain of short flows over 8 links. A link is crossed by one of either.
class RingGroups {
 public:
  static constexpr std::uint32_t kRanks = 1024;
  static constexpr std::uint32_t kRings = 8;
  static constexpr std::uint32_t kGroups = 256;

  RingGroups() : network_(links()) {
    for (std::uint32_t ring = 0; ring < kRings; ++ring) {
      rings_.push_back(links_of(ring * 128, 1, 128));
    }
    for (std::uint32_t group = 0; group < kGroups; ++group) {
      groups_.push_back(links_of(group / 128 * 512 + group % 128, 128, 4));
    }
  }

  // In lockstep all groups move the same bytes, else each its own. Every long flow that ends is
  // followed by another. Returns the date of the last end of a short flow.
  Time run(std::uint32_t short_flows, bool in_lockstep) {
    in_lockstep_ = in_lockstep;
    to_start_ = short_flows;
    for (std::uint32_t ring = 0; ring < kRings; ++ring) {
      start_ring(ring, {});
    }
    for (std::uint32_t group = 0; group < kGroups; ++group) {
      start_group(group, {});
    }
    std::vector<FlowId> finished;
    Time now{};
    while (under_way_ > 0) {
      now = *network_.next_event();
      finished.clear();
      network_.advance_to(now, finished);
      for (const FlowId flow : finished) {
        restart(static_cast<std::uint32_t>(flow), now);
      }
    }
    return now;
  }

 private:
  static SharedLinks links() {
    SharedLinks links;
    for (std::uint32_t i = 0; i < 2 * kRanks; ++i) {
      links.add({50e9});
    }
    return links;
  }
  static std::vector<LinkId> links_of(std::uint32_t first, std::uint32_t step, std::uint32_t n) {
    std::vector<LinkId> route;
    for (std::uint32_t rank = first; rank < first + step * n; rank += step) {
      route.push_back(LinkId{2 * rank});
      route.push_back(LinkId{2 * rank + 1});
    }
    return route;
  }
  void start_ring(std::uint32_t ring, Time now) {
    network_.start(FlowId{ring}, rings_[ring], {100'000'000}, now);
  }
  void start_group(std::uint32_t group, Time now) {
    if (to_start_ > 0) {
      --to_start_;
      ++under_way_;
      network_.start(id_at<FlowId>(kRings + group), groups_[group],
                     {4'000'000 + (in_lockstep_ ? 0 : 1001 * std::int64_t{group})}, now);
    }
  }
  void restart(std::uint32_t flow, Time now) {
    if (flow < kRings) {
      start_ring(flow, now);
    } else {
      --under_way_;
      start_group(flow - kRings, now);
    }
  }

  MaxMin network_;
  std::vector<std::vector<LinkId>> rings_;
  std::vector<std::vector<LinkId>> groups_;
  bool in_lockstep_ = true;
  std::uint32_t to_start_ = 0;
  std::uint32_t under_way_ = 0;
};

}  // namespace twinrun::sim
