#pragma once

#include <bit>
#include <cstdint>

namespace twinrun {

// Algorithms that need a power of two leave the extra ranks out: of the first pairs of ranks the
// second one folds into the first, does nothing meanwhile, and gets the result at the end.
//
//   N = 6:   ranks   0 1   2 3   4   5        1 and 3 are extra
//            core     0     1    2   3        cores are in rank order, so what a run of cores
//                                             stands for is a run of ranks
struct Fold {
  explicit Fold(std::uint32_t ranks) : cores(std::bit_floor(ranks)), extras(ranks - cores) {}

  std::uint32_t cores;
  std::uint32_t extras;

  [[nodiscard]] bool is_extra(std::uint32_t rank) const {
    return rank < 2 * extras && rank % 2 == 1;
  }
  [[nodiscard]] bool has_extra(std::uint32_t rank) const {
    return rank < 2 * extras && rank % 2 == 0;
  }
  [[nodiscard]] std::uint32_t core_of(std::uint32_t rank) const {
    return rank < 2 * extras ? rank / 2 : rank - extras;
  }
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t core) const {
    return core < extras ? 2 * core : core + extras;
  }
  [[nodiscard]] std::uint32_t levels() const {
    return static_cast<std::uint32_t>(std::countr_zero(cores));
  }
  [[nodiscard]] std::uint32_t fold_steps() const { return extras > 0 ? 1 : 0; }
};

}  // namespace twinrun
