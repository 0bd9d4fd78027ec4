#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/collective/schedule.h"

namespace twinrun {

// A run of bytes and whose data are summed in it. The data are those that stood at `origin` of each
// contributor's array.
struct SymbolicPiece {
  ByteRange at;
  std::uint64_t contributors = 0;  // one bit a rank
  std::int64_t origin = 0;
  bool operator==(const SymbolicPiece&) const = default;
};

// An array of which only the provenance is known: pieces in order, holes where nothing is yet.
class SymbolicArray {
 public:
  void put(const SymbolicPiece& piece);  // over whatever was there; an empty one is dropped
  // The pieces of a range, moved so that the range begins at `into`; nothing when it has a hole.
  [[nodiscard]] std::optional<std::vector<SymbolicPiece>> read(ByteRange range,
                                                               std::int64_t into) const;
  // Adds to what is there. What is wrong, or "".
  std::string add(const std::vector<SymbolicPiece>& pieces);
  [[nodiscard]] bool holds(const SymbolicPiece& expected) const;

 private:
  void split_at(std::int64_t offset);
  [[nodiscard]] std::int64_t held_bytes(ByteRange range) const;

  std::vector<SymbolicPiece> pieces_;
};

}  // namespace twinrun
