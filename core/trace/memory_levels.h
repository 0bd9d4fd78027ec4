#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/plan/op.h"

namespace twinrun {

// The memory of one device in use, by part, as ops take and give it back.
class MemoryLevels {
 public:
  using Parts = std::uint32_t;  // a set, bit p for part p

  // The parts that this changed.
  Parts apply(std::span<const MemoryEffect> effects, MemoryWhen when) {
    Parts changed = 0;
    for (const MemoryEffect& effect : effects) {
      if (effect.when() == when) {
        bytes_[static_cast<std::size_t>(effect.part())] += effect.bytes().count;
        changed |= Parts{1} << static_cast<std::size_t>(effect.part());
      }
    }
    seen_ |= changed;
    return changed;
  }
  [[nodiscard]] Parts seen() const { return seen_; }
  [[nodiscard]] std::int64_t bytes(std::size_t part) const { return bytes_[part]; }

  // True the first time a part is asked about: whoever writes names a counter before using it.
  bool describe_once(std::size_t part) {
    const bool is_new = (described_ >> part & 1U) == 0;
    described_ |= Parts{1} << part;
    return is_new;
  }

 private:
  std::array<std::int64_t, kMemoryPartNames.size()> bytes_{};
  Parts seen_ = 0;
  Parts described_ = 0;
};

}  // namespace twinrun
