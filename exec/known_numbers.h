#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace twinrun::exec {

// Numbers of which it is known what must come of an exchange among ranks. Each has its own numbers
// in each exchange, small integers whose sums are exact in fp32 in any order; a chunk that arrives
// in the wrong place, twice, or from an exchange before shows as wrong ones.
class KnownNumbers {
 public:
  static constexpr std::uint32_t kMostRanks = 65'536;  // beyond, sums need not be exact

  explicit KnownNumbers(std::uint32_t ranks);

  // Part of an array: from which element on, in which exchange.
  struct Place {
    std::uint32_t exchange = 0;
    std::size_t first = 0;
  };
  void put(std::uint32_t rank, Place place, std::span<float> into) const;
  // How many are not what that rank had there, or the sum over all ranks.
  [[nodiscard]] std::int64_t wrong(std::uint32_t rank,
                                   Place place,
                                   std::span<const float> found) const;
  [[nodiscard]] std::int64_t wrong_sums(Place place, std::span<const float> found) const;

 private:
  static constexpr std::size_t kPeriod = 251;  // a prime: chunks begin with different numbers
  using Repeated = std::array<float, 2 * kPeriod>;

  // Calls with (place in such an array, place in the span, count) for each stretch.
  template <class Call>
  static void for_each_stretch(std::uint32_t rank,
                               Place place,
                               std::size_t count,
                               const Call& call);
  static std::int64_t different(const Repeated& right,
                                std::uint32_t rank,
                                Place place,
                                std::span<const float> found);

  Repeated numbers_{};  // 0, 1, …, 250, twice
  Repeated sums_{};     // over all ranks, where the first has that number
};

}  // namespace twinrun::exec
