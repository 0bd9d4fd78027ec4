#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/units.h"

namespace twinrun::sim {

// What is due when. Of equal dates the smaller subject comes first, so the order does not depend on
// how the dates came about.
//
// A heap of four children a node, half as deep as one of two; an entry is sixteen bytes, so the
// children of a node are one line of the cache or two, and the smallest is found without a branch.
class Timers {
 public:
  enum class Kind : std::uint8_t { kOp, kDevice };
  struct Due {
    Kind kind = Kind::kOp;
    std::uint32_t subject = 0;  // an op or a device
    std::uint32_t version = 0;  // of the device's plans, below kVersions; older ones are void
  };

  static constexpr std::uint32_t kVersions = 0x7FFFFFFF;  // a mask: then they start again

  void set(Time date, Due due);
  [[nodiscard]] std::optional<Time> next() const {
    return heap_.empty() ? std::nullopt : std::optional<Time>{Time{heap_.front().ps}};
  }
  Due take();

 private:
  static constexpr std::size_t kChildren = 4;

  struct Entry {
    std::int64_t ps = 0;
    std::uint64_t due = 0;  // kind, subject and version, the first most significant

    [[nodiscard]] bool operator<(const Entry& b) const { return key() < b.key(); }

   private:
    // One number of twice the width: two comparisons would become branches that nobody can guess.
    __extension__ using Wide = unsigned __int128;
    [[nodiscard]] Wide key() const { return Wide{static_cast<std::uint64_t>(ps)} << 64 | due; }
  };
  static_assert(sizeof(Entry) == 16);

  std::vector<Entry> heap_;
};

inline void Timers::set(Time date, Due due) {
  const Entry entry{date.ps, std::uint64_t{due.kind == Kind::kDevice} << 63 |
                                 std::uint64_t{due.subject} << 31 | due.version};
  std::size_t at = heap_.size();
  heap_.push_back(entry);
  while (at > 0) {
    const std::size_t parent = (at - 1) / kChildren;
    if (!(entry < heap_[parent])) {
      break;
    }
    heap_[at] = heap_[parent];
    at = parent;
  }
  heap_[at] = entry;
}

inline Timers::Due Timers::take() {
  const Entry first = heap_.front();
  const Entry moved = heap_.back();
  heap_.pop_back();
  const std::size_t size = heap_.size();
  std::size_t at = 0;
  for (std::size_t child = 1; child < size; child = at * kChildren + 1) {
    std::size_t least = child;
    const std::size_t end = std::min(child + kChildren, size);
    for (std::size_t other = child + 1; other < end; ++other) {
      const std::size_t is_less = heap_[other] < heap_[least] ? 1 : 0;
      least += (other - least) * is_less;  // no branch: it would be guessed wrong half the time
    }
    if (!(heap_[least] < moved)) {
      break;
    }
    heap_[at] = heap_[least];
    at = least;
  }
  if (size > 0) {
    heap_[at] = moved;
  }
  return {(first.due >> 63) != 0 ? Kind::kDevice : Kind::kOp,
          static_cast<std::uint32_t>(first.due >> 31),
          static_cast<std::uint32_t>(first.due) & kVersions};
}

}  // namespace twinrun::sim
