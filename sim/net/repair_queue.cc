#include "sim/net/repair_queue.h"

#include <algorithm>
#include <bit>

namespace twinrun::sim {
namespace {

// Doubles above 0 sort as their bits do; these are the exponent and 8 bits of the mantissa.
std::int64_t leading_bits(double level) {
  return static_cast<std::int64_t>(std::bit_cast<std::uint64_t>(level) >> 44);
}

}  // namespace

RepairQueue::RepairQueue(std::size_t links, double widest)
    : items_(links), top_(leading_bits(widest)) {}

std::uint32_t RepairQueue::bucket_of(double level) const {
  const std::int64_t bucket = leading_bits(level) - top_ + (kBuckets - 1);
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(bucket, 0, kBuckets - 1));
}

std::uint32_t RepairQueue::first_bucket() const {
  const auto word = static_cast<std::uint32_t>(std::countr_zero(summary_));
  return word * 64 + static_cast<std::uint32_t>(std::countr_zero(filled_[word]));
}

std::uint32_t RepairQueue::least_of(std::uint32_t bucket) const {
  std::uint32_t least = buckets_[bucket].first;
  if (is_strict_) {
    for (std::uint32_t i = least; i != kNone; i = items_[i].after) {
      least = items_[i].level < items_[least].level ? i : least;
    }
  }
  return least;
}

bool RepairQueue::has_before(double level) const {
  if (empty()) {
    return false;
  }
  const std::uint32_t first = first_bucket();
  return is_strict_ ? items_[least_of(first)].level < level : first < bucket_of(level);
}

void RepairQueue::unlink(std::uint32_t link) {
  Item& item = items_[link];
  Ends& ends = buckets_[item.bucket];
  (item.before == kNone ? ends.first : items_[item.before].after) = item.after;
  (item.after == kNone ? ends.last : items_[item.after].before) = item.before;
  if (ends.first == kNone) {
    std::uint64_t& word = filled_[item.bucket / 64];
    word &= ~(std::uint64_t{1} << item.bucket % 64);
    if (word == 0) {
      summary_ &= ~(std::uint64_t{1} << item.bucket / 64);
    }
  }
  item.bucket = kNone;
}

void RepairQueue::put(std::uint32_t link, double level) {
  Item& item = items_[link];
  const std::uint32_t bucket = bucket_of(level);
  if (item.bucket != kNone) {
    if (level >= item.level) {
      return;
    }
    item.level = level;
    if (bucket == item.bucket) {
      return;
    }
    unlink(link);
  }
  Ends& ends = buckets_[bucket];
  item = {level, bucket, ends.last, kNone};
  (ends.last == kNone ? ends.first : items_[ends.last].after) = link;
  ends.last = link;
  filled_[bucket / 64] |= std::uint64_t{1} << bucket % 64;
  summary_ |= std::uint64_t{1} << bucket / 64;
}

std::uint32_t RepairQueue::take() {
  const std::uint32_t link = least_of(first_bucket());
  unlink(link);
  return link;
}

void RepairQueue::clear() {
  while (!empty()) {
    unlink(buckets_[first_bucket()].first);
  }
}

}  // namespace twinrun::sim
