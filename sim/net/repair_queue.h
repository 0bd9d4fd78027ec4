#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace twinrun::sim {

// Links by the level at which they are to be repaired, lowest first. Levels are sorted into 4,096
// buckets by the leading bits of the double (16 octaves below the widest capacity, 256 steps an
// octave; a bucket is 0.4 % wide), inside of which the first come is the first out, unless order
// is made strict. A put or take costs a few instructions whatever the size.
class RepairQueue {
 public:
  RepairQueue(std::size_t links, double widest);

  // Keeps the lower level when the link is there already.
  void put(std::uint32_t link, double level);
  [[nodiscard]] bool empty() const { return summary_ == 0; }
  [[nodiscard]] std::uint32_t take();
  // Whether any link is to come before one of this level.
  [[nodiscard]] bool has_before(double level) const;
  void clear();
  void make_strict(bool is_strict) { is_strict_ = is_strict; }

 private:
  static constexpr std::uint32_t kBuckets = 4096;
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  struct Item {
    double level = 0;
    std::uint32_t bucket = kNone;  // kNone: not in the queue
    std::uint32_t before = kNone;
    std::uint32_t after = kNone;
  };
  struct Ends {
    std::uint32_t first = kNone;
    std::uint32_t last = kNone;
  };

  [[nodiscard]] std::uint32_t bucket_of(double level) const;
  [[nodiscard]] std::uint32_t first_bucket() const;
  [[nodiscard]] std::uint32_t least_of(std::uint32_t bucket) const;
  void unlink(std::uint32_t link);

  std::vector<Item> items_;  // by link
  std::array<Ends, kBuckets> buckets_;
  std::array<std::uint64_t, kBuckets / 64> filled_{};
  std::uint64_t summary_ = 0;  // which words of filled_ are not 0
  std::int64_t top_ = 0;       // the leading bits of the widest capacity
  bool is_strict_ = false;
};

}  // namespace twinrun::sim
