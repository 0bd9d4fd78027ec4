#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "exec/training/op_work.h"

namespace twinrun::exec {

// An op of a collective names ranges of its device's memory; a schedule is about one array that all
// ranks have. Of an all-gather, reduce-scatter or all-to-all each range is divided among the ranks
// by itself.

std::uint32_t rank_in_group(const Plan& plan, OpId op);
std::uint32_t ranks_of_group(const Plan& plan, OpId op);

// One rank's shares of all ranges stand beside each other, padded to the size of the largest, so
// that every rank has equally many.
class DividedArray {
 public:
  DividedArray(std::span<const std::span<float>> ranges, std::uint32_t ranks);

  [[nodiscard]] std::size_t per_rank() const { return per_rank_; }
  [[nodiscard]] std::size_t size() const { return per_rank_ * ranks_; }

  // One range that the ranks divide evenly is such an array already.
  [[nodiscard]] bool is_one_range() const {
    return ranges_.size() == 1 && size() == ranges_.front().size();
  }

  // Calls with (a rank's share of a range, its place in the array).
  template <class Call>
  void for_each_share(std::uint32_t rank, const Call& call) const {
    std::size_t at = rank * per_rank_;
    for (const std::span<float> range : ranges_) {
      call(share_of(range, rank), at);
      at += largest_share(range);
    }
  }

 private:
  [[nodiscard]] std::span<float> share_of(std::span<float> range, std::uint32_t rank) const;
  [[nodiscard]] std::size_t largest_share(std::span<float> range) const {
    return (range.size() + ranks_ - 1) / ranks_;
  }

  std::span<const std::span<float>> ranges_;
  std::uint32_t ranks_;
  std::size_t per_rank_ = 0;
};

// How long that array is, for what an op moves: the same on all ranks.
std::int64_t array_elements(const Plan& plan, OpId op, const MovedData& data);

// Exchanges the array; what arrives is set down in the second one, which is the same but of an
// all-to-all.
using ExchangeArray = std::function<void(std::span<float> array, std::span<float> into)>;

// Makes the array, has it exchanged, and puts what came of it back.
void with_collective_array(const Plan& plan,
                           OpId op,
                           const MovedData& data,
                           const ExchangeArray& exchange);

// Ranges behind each other, and back.
std::vector<float> packed(std::span<const std::span<float>> ranges);
void unpack(std::span<const float> from, std::span<const std::span<float>> ranges);

}  // namespace twinrun::exec
