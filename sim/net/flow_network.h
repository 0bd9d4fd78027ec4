#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/topology/topology.h"

namespace twinrun::sim {

enum class FlowId : std::uint32_t {};  // the caller's number for a transfer; need not be dense

// What flows share. Links of a topology come first, in their order; anything else that is shared
// (a memory bus, a CPU core) can be added behind them as one more link without latency.
struct SharedLinks {
  std::vector<double> bytes_per_s;    // by link; read at its owner only
  std::vector<std::uint32_t> owner;   // whose capacity a link draws on; itself, or its reverse
  std::vector<std::int64_t> latency;  // in ps

  LinkId add(Bandwidth capacity, Time latency_of_link = {});
};
SharedLinks shared_links(const Topology& topology);

struct FlowRate {
  FlowId flow{};
  double bytes_per_s = 0;
  double bytes_left = 0;
};

// What a flow has of its own.
struct FlowTerms {
  // It never drains faster, which costs no link: a protocol's or a peer's cap.
  Bandwidth most{std::numeric_limits<double>::infinity()};
  std::optional<Time> latency = std::nullopt;  // instead of the sum of its links'
};

// Transfers that share links max-min fairly. A flow first waits for the sum of its links'
// latencies, taking no bandwidth, then drains at its fair rate; crossing a capacity twice counts
// twice. Inside, dates are doubles finer than the picoseconds shown: a completion is shown rounded
// up, and what starts at the shown date of the last instant starts at its exact date, so chains of
// events gather no rounding.
class FlowNetwork {
 public:
  FlowNetwork() = default;
  FlowNetwork(const FlowNetwork&) = delete;
  FlowNetwork& operator=(const FlowNetwork&) = delete;
  virtual ~FlowNetwork() = default;

  // now: the date of the last advance_to(), or later when nothing completes before. A flow without
  // links drains at its cap, or ends after its latency when it has none.
  virtual void start(FlowId flow,
                     std::span<const LinkId> route,
                     Bytes bytes,
                     Time now,
                     const FlowTerms& terms) = 0;
  void start(FlowId flow, std::span<const LinkId> route, Bytes bytes, Time now) {
    start(flow, route, bytes, now, {});
  }
  // No flow completes before this date: at it one does, or one is through its latency. Nothing when
  // no flow is under way. May be the date of the last advance_to() again: go on until it is later.
  [[nodiscard]] virtual std::optional<Time> next_event() = 0;
  // Appends the flows that end until then, in order of date, then of start.
  virtual void advance_to(Time time, std::vector<FlowId>& finished) = 0;
  // The flows that drain now, in order of start; for tests and reports.
  [[nodiscard]] virtual std::vector<FlowRate> rates() = 0;
  // What each capacity has carried so far, by owner; crossed twice counts twice. Divided by its
  // bytes_per_s that is the time it was busy, as if at full rate; by the time passed as well, its
  // utilisation.
  [[nodiscard]] virtual std::vector<double> bytes_carried() = 0;
};

}  // namespace twinrun::sim
