#pragma once

#include <cstdint>

#include "core/collective/schedule.h"

namespace twinrun {

// A ring of some of the ranks, as one of its members sees it: member i is rank first + i * stride,
// and `whole` is the part of the array they work on, one chunk for each member.
struct Ring {
  std::uint32_t members = 1;
  std::uint32_t index = 0;
  std::uint32_t first = 0;
  std::uint32_t stride = 1;
  ByteRange whole;
  std::uint32_t element_bytes = 4;

  [[nodiscard]] std::uint32_t next() const;
  [[nodiscard]] std::uint32_t previous() const;
  // The place `back` places behind this member's own, 0 <= back <= members; and its chunk.
  [[nodiscard]] std::uint32_t place_behind(std::uint32_t back) const;
  [[nodiscard]] ByteRange chunk_behind(std::uint32_t back) const;
};

// Steps 0 to members - 2 of each. Member i ends the first with chunk i reduced; the second starts
// from there and ends with all chunks.
void ring_reduce_scatter(const Ring& ring, std::uint32_t step, StepTransfers& out);
void ring_all_gather(const Ring& ring, std::uint32_t step, StepTransfers& out);

}  // namespace twinrun
