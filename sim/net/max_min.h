#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/net/dated_queue.h"
#include "sim/net/edge_list.h"
#include "sim/net/finish_dates.h"
#include "sim/net/fluid_network.h"
#include "sim/net/repair_queue.h"

namespace twinrun::sim {

// Max-min fairness kept up to date by repairing only what a change disturbs.
//
// Every link has a water level: the rate that fills it, given what its other flows are held to
// elsewhere. A flow is held by the link whose level is its rate, or by its own limit, the narrowest
// capacity on its way or its cap. A state in which no link is over capacity, every link that holds
// flows is full, and none of its other flows is faster than its level, is the one max-min
// allocation; so the order of repairs decides the cost and never the result. Links are repaired
// lowest level first, which leaves everything below a change untouched.
//
//   - Flows held by one link drain alike: the link counts the bytes V each has drained, a flow's
//     finish tag is V at its start plus its bytes, and a new level costs O(1) for all of them.
//   - A link tells its neighbours of a new level by edges (neighbour, number of flows held here
//     that cross it), not flow by flow.
//   - A link that is not full needs no exact sum. It adds up levels that its neighbours publish
//     rounded up, and hears of a change only when one leaves its band; when the sum no longer fits
//     it turns exact.
//   - A link is watched only if it could ever fill up: not when the limits of its flows fit into
//     it, and not when all of its flows go on to one next link that is no wider.
//   - A flow alone on all of its links is only noted there, until a second one comes.
class MaxMin final : public FluidNetwork {
 public:
  explicit MaxMin(SharedLinks shared);
  // For tests: starts over after so many repairs of one instant.
  MaxMin(SharedLinks shared, std::size_t most_repairs);

  // How often repairing went on for too long and started over from nothing.
  [[nodiscard]] std::size_t restarts() const { return restarts_; }
  [[nodiscard]] std::size_t solves() const { return solves_; }
  [[nodiscard]] std::size_t repairs() const { return repairs_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  static constexpr std::uint32_t kShared = kNone - 1;
  static constexpr double kTolerance = 1e-13;
  static constexpr double kStale = -1;
  static constexpr double kPublishedAbove = 1.006;  // half of the band of a published level
  static constexpr double kRoomToIdle = 0.05;       // a link with this much room turns lazy
  static constexpr std::uint32_t kFewestLazy =
      8;  // with fewer flows turning costs more than it saves
  // A queued link stays where it is until it belongs this much lower: order inside a few buckets
  // of the queue costs more than it saves.
  static constexpr double kEarlyEnough = 0.99;

  struct Entry {  // a flow on a link
    std::uint32_t slot = 0;
    std::uint32_t hop = 0;  // of its route
  };
  struct Tag {  // lives while the flow has this stamp
    double finish = 0;
    std::uint32_t slot = 0;
    std::uint32_t stamp = 0;
    bool operator<(const Tag& b) const { return finish > b.finish; }  // for std::push_heap
  };
  struct Drain {
    double limit = 0;              // the narrowest capacity on the way, or its cap
    double finish = 0;             // in the holder's virtual bytes; a date when held by the limit
    std::uint32_t holder = kNone;  // kNone: its own limit
    std::uint32_t stamp = 0;
    bool is_simple = true;  // crosses no capacity twice
    bool is_alone = false;  // on all of its links, and in none of their lists
  };
  // What a neighbour's new level needs to see of a link: one cache line, and all links together fit
  // into a second-level cache.
  struct alignas(64) Link {
    double capacity = 0;
    double level = kNever;        // kNever when it holds nothing
    double others = 0;            // summed rates of flows held elsewhere; kept while watched
    double fastest = 0;           // no other flow is faster
    double equal_share = kNever;  // what each crossing of all flows would get
    double queued = kNever;       // the level it is queued at for repair
    std::uint32_t held_shares = 0;
    std::uint32_t held = 0;    // how many flows it holds
    std::uint32_t shares = 0;  // crossings of all flows
    bool is_watched = false;
    bool is_touched = false;
    bool is_lazy = false;  // sums published levels; holds nothing
  };
  // What a link knows of its flows, by use: a cache line for its own new level, one for flows that
  // come and go, one for the rest.
  struct alignas(64) LinkFlows {
    EdgeList edges;
    double drained = 0;  // V: what each held flow has drained until `since`
    double since = 0;
    double first_tag = kStale;  // the least finish of the held flows, or kStale
    double published = 0;       // the level, or a little more; kept while it holds flows

    alignas(64) std::vector<Entry> entries;  // held | others
    double limits = 0;                       // summed limits of all flows
    std::uint32_t next = kNone;              // where its first flow goes on to
    std::uint32_t to_next = 0;               // how many flows do so
    double least_limit = kNever;             // no held flow has a lower limit

    alignas(64) std::vector<Tag> tags;
    EdgeList lazy_edges;
  };
  struct Filling {
    double level = kNever;
    double low = 0;            // summed rates of flows that stay below the level
    double fastest_other = 0;  // among the flows held elsewhere, before
  };

  void enter(std::uint32_t slot, double bytes, double cap) override;
  double next_finish() override;
  void leave(std::vector<std::uint32_t>& slots) override;
  FlowRate drain_of(std::uint32_t slot) override;

  // Flows on links: max_min.cc
  [[nodiscard]] bool note_alone(std::uint32_t slot);
  void join_all(std::uint32_t slot);
  void join(std::uint32_t slot, std::uint32_t hop_index);
  void part(std::uint32_t slot, std::uint32_t hop_index, double rate, double published);
  void remove(std::uint32_t slot);
  void swap_entries(LinkFlows& flows, std::uint32_t a, std::uint32_t b);
  void add_held(std::uint32_t link, Hop& hop, double limit);
  void drop_held(std::uint32_t link, Hop& hop);
  [[nodiscard]] bool must_watch(std::uint32_t index) const;
  [[nodiscard]] std::uint32_t next_of(std::uint32_t slot, std::uint32_t hop);
  void watch(std::uint32_t index);
  void unwatch(std::uint32_t index);
  void mark(std::uint32_t link);
  [[nodiscard]] EdgeList& edges_between(std::uint32_t from, std::uint32_t to);
  void turn_exact(std::uint32_t index);
  void turn_lazy_if_idle(std::uint32_t index);

  // Draining: max_min.cc
  [[nodiscard]] double rate_of(const Drain& drain) const;
  [[nodiscard]] double published_rate_of(const Drain& drain) const;
  [[nodiscard]] double bytes_left(const Drain& drain) const;
  void settle(std::uint32_t index);
  void tag(std::uint32_t slot, double bytes);
  void tag_by_limit(std::uint32_t slot, double bytes);
  void compact_tags(std::uint32_t index);
  [[nodiscard]] bool lives(const Tag& tag) const { return drains_[tag.slot].stamp == tag.stamp; }
  void find_first_tag(LinkFlows& flows);
  void update_finish(std::uint32_t index);
  void leave_link(std::uint32_t index, std::vector<std::uint32_t>& slots);

  // Repairing: max_min_repair.cc
  void solve();
  void touch(std::uint32_t link);
  void consider(std::uint32_t index);
  void repair(std::uint32_t index);
  [[nodiscard]] Filling fill(std::uint32_t index, double from);
  void apply(std::uint32_t index, double level);
  void change_level(std::uint32_t index, double level);
  void publish(std::uint32_t index);
  void release_limited(std::uint32_t index, double level);
  void release(std::uint32_t index, std::uint32_t position);
  void capture_faster(std::uint32_t index, double level);
  void capture(std::uint32_t index, const Entry& faster);
  void start_over();

  std::vector<Link> links_;
  std::vector<LinkFlows> flows_of_;  // by link
  // By link: the slot of the flow that is alone there, kNone without flows, kShared when its flows
  // are in its list. Apart from the links, because it is all that a flow alone needs to see.
  std::vector<std::uint32_t> alone_;
  std::vector<Drain> drains_;  // by slot
  DatedQueue<Tag> by_limit_;   // dates of flows held by their limit
  std::vector<Tag> fresh_;     // on their way into by_limit_: most are held by a link before
  FinishDates finishes_;       // by link
  std::vector<std::uint32_t> marked_;
  std::vector<std::uint32_t> touched_;
  RepairQueue queue_;
  std::vector<std::uint32_t> leaving_;
  std::vector<std::uint32_t> idle_;  // exact links that may turn lazy after the solve
  double early_enough_ = kEarlyEnough;
  bool changed_ = false;
  std::size_t most_repairs_;
  std::size_t restarts_ = 0;
  std::size_t solves_ = 0;
  std::size_t repairs_ = 0;
};

}  // namespace twinrun::sim
