#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "sim/net/dated_queue.h"
#include "sim/net/flow_network.h"

namespace twinrun::sim {

// One capacity on the way of a flow.
struct Hop {
  std::uint32_t link = 0;      // the capacity's owner
  std::uint32_t times = 1;     // how often the flow crosses it
  std::uint32_t position = 0;  // for the solver: where the link's list has the flow
};

// The routes of flows under way, by slot. Slots are used again and keep their memory.
class RouteTable {
 public:
  explicit RouteTable(std::size_t links) : place_(links) {}
  // Capacities in order of first crossing; those crossed again are counted, not repeated.
  void set(std::uint32_t slot, std::span<const LinkId> route, const SharedLinks& links);
  [[nodiscard]] std::span<Hop> operator[](std::uint32_t slot) {
    return {pool_.data() + rows_[slot].begin, rows_[slot].size};
  }
  [[nodiscard]] std::size_t slots() const { return rows_.size(); }

 private:
  struct Row {
    std::size_t begin = 0;
    std::uint32_t size = 0;
    std::uint32_t room = 0;
  };
  std::vector<Row> rows_;
  std::vector<Hop> pool_;
  // By owner, where its hop is in the route being set; valid when that hop names the owner.
  std::vector<std::uint32_t> place_;
};

// What every fluid model shares: the clock, latencies, empty transfers, the order of events. The
// solvers below it only know flows that drain.
//
// Dates are picoseconds in doubles: exact for whole picoseconds up to 2.5 hours.
class FluidNetwork : public FlowNetwork {
 public:
  explicit FluidNetwork(SharedLinks links);

  using FlowNetwork::start;
  void start(FlowId flow,
             std::span<const LinkId> route,
             Bytes bytes,
             Time now,
             const FlowTerms& terms) final;
  [[nodiscard]] std::optional<Time> next_event() final;
  void advance_to(Time time, std::vector<FlowId>& finished) final;
  [[nodiscard]] std::vector<FlowRate> rates() final;
  [[nodiscard]] std::vector<double> bytes_carried() final;

 protected:
  static constexpr double kNever = 1e300;
  // Completions this near, relative to their date, are one instant.
  static constexpr double kSameInstant = 1e-13;
  static double end_of_instant(double date) { return date + date * kSameInstant; }

  // A flow begins to drain at clock(), never faster than its cap in bytes/s (infinite: none).
  virtual void enter(std::uint32_t slot, double bytes, double cap) = 0;
  // The exact date of the next end of a flow, or kNever; solves when something has changed.
  virtual double next_finish() = 0;
  // Takes out the flows that end in the instant of clock() and appends their slots.
  virtual void leave(std::vector<std::uint32_t>& slots) = 0;
  // Of a flow that drains: rate and bytes left at clock(), after a solve.
  virtual FlowRate drain_of(std::uint32_t slot) = 0;

  [[nodiscard]] double clock() const { return clock_; }
  [[nodiscard]] const SharedLinks& links() const { return links_; }
  [[nodiscard]] RouteTable& routes() { return routes_; }

 private:
  struct Flow {
    FlowId id{};
    bool drains = false;
    std::uint64_t sequence = 0;
    double bytes = 0;
    double cap = 0;  // bytes/s
  };
  struct Arrival {
    double date = 0;
    std::uint64_t sequence = 0;
    std::uint32_t slot = 0;
    bool operator<(const Arrival& b) const {  // for std::push_heap: the earliest on top
      return date != b.date ? date > b.date : sequence > b.sequence;
    }
  };

  [[nodiscard]] std::uint32_t take_slot(FlowId flow, Bytes bytes, Bandwidth most);
  void begin_draining(std::uint32_t slot);
  void end_draining(std::uint32_t slot);
  [[nodiscard]] std::vector<std::uint32_t> draining() const;
  [[nodiscard]] double next_arrival() const;
  void arrive(double until);
  void run_instant(double date, std::vector<FlowId>& finished);

  SharedLinks links_;
  RouteTable routes_;
  std::vector<Flow> flows_;  // by slot
  std::vector<std::uint32_t> free_;
  std::vector<double> carried_;  // by owner: bytes of flows that ended
  double clock_ = 0;
  Time shown_{};  // the date of the last advance_to()
  std::uint64_t started_ = 0;
  DatedQueue<Arrival> arrivals_;  // flows in their latency
  std::vector<std::uint32_t> ended_;
};

}  // namespace twinrun::sim
