#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/net/fluid_network.h"

namespace twinrun::sim {

// Max-min fairness as the textbook has it (Bertsekas and Gallager, Data Networks, 6.5.2): fill all
// flows alike until a link is full or a flow at its cap, freeze what is, go on with the rest; from
// nothing at every event. Slow, and the truth that the fast solver is held to.
class MaxMinReference final : public FluidNetwork {
 public:
  explicit MaxMinReference(SharedLinks shared);

 private:
  struct Drain {
    std::uint32_t slot = 0;
    double left = 0;
    double cap = 0;
    double rate = 0;
  };
  struct Load {
    double left = 0;                 // capacity not yet given away
    double shares = 0;               // crossings of flows without a rate
    std::vector<std::size_t> flows;  // of drains_
  };

  void enter(std::uint32_t slot, double bytes, double cap) override;
  double next_finish() override;
  void leave(std::vector<std::uint32_t>& slots) override;
  FlowRate drain_of(std::uint32_t slot) override;

  void drain();
  void solve();
  void load_links();
  [[nodiscard]] std::size_t least_cap_below(double level) const;
  void freeze(std::size_t flow, double rate);
  [[nodiscard]] double finish_of(const Drain& drain) const;

  std::vector<Drain> drains_;
  std::vector<Load> loads_;          // by link
  std::vector<std::uint32_t> used_;  // links with a load
  double drained_until_ = 0;
  bool changed_ = false;
};

}  // namespace twinrun::sim
