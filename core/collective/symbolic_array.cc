#include "core/collective/symbolic_array.h"

#include <algorithm>

#include <fmt/format.h>

namespace twinrun {

namespace {

ByteRange overlap(ByteRange a, ByteRange b) {
  const std::int64_t begin = std::max(a.begin, b.begin);
  return {begin, std::max(begin, std::min(a.end, b.end))};
}

}  // namespace

void SymbolicArray::split_at(std::int64_t offset) {
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    if (pieces_[i].at.begin < offset && offset < pieces_[i].at.end) {
      SymbolicPiece upper = pieces_[i];
      upper.origin += offset - upper.at.begin;
      upper.at.begin = offset;
      pieces_[i].at.end = offset;
      pieces_.insert(pieces_.begin() + static_cast<std::ptrdiff_t>(i) + 1, upper);
      return;
    }
  }
}

void SymbolicArray::put(const SymbolicPiece& piece) {
  if (piece.at.size() <= 0) {
    return;
  }
  split_at(piece.at.begin);
  split_at(piece.at.end);
  std::erase_if(pieces_, [&](const SymbolicPiece& old) {
    return old.at.begin >= piece.at.begin && old.at.end <= piece.at.end;
  });
  const auto behind = std::find_if(pieces_.begin(), pieces_.end(), [&](const SymbolicPiece& old) {
    return old.at.begin >= piece.at.end;
  });
  pieces_.insert(behind, piece);
}

std::int64_t SymbolicArray::held_bytes(ByteRange range) const {
  std::int64_t held = 0;
  for (const SymbolicPiece& piece : pieces_) {
    held += overlap(piece.at, range).size();
  }
  return held;
}

std::optional<std::vector<SymbolicPiece>> SymbolicArray::read(ByteRange range,
                                                              std::int64_t into) const {
  if (held_bytes(range) != range.size()) {
    return std::nullopt;
  }
  const std::int64_t shift = into - range.begin;
  std::vector<SymbolicPiece> found;
  for (const SymbolicPiece& piece : pieces_) {
    const ByteRange part = overlap(piece.at, range);
    if (part.size() > 0) {
      found.push_back({{part.begin + shift, part.end + shift},
                       piece.contributors,
                       piece.origin + part.begin - piece.at.begin});
    }
  }
  return found;
}

std::string SymbolicArray::add(const std::vector<SymbolicPiece>& pieces) {
  for (const SymbolicPiece& piece : pieces) {
    if (held_bytes(piece.at) != piece.at.size()) {
      return "adds to what is not there";
    }
    split_at(piece.at.begin);
    split_at(piece.at.end);
    for (SymbolicPiece& mine : pieces_) {
      if (overlap(mine.at, piece.at).size() == 0) {
        continue;
      }
      if (mine.origin != piece.origin + mine.at.begin - piece.at.begin) {
        return "adds data of different places of the array";
      }
      if ((mine.contributors & piece.contributors) != 0) {
        return fmt::format("adds a contribution a second time (ranks {:#x} and {:#x})",
                           mine.contributors, piece.contributors);
      }
      mine.contributors |= piece.contributors;
    }
  }
  return {};
}

bool SymbolicArray::holds(const SymbolicPiece& expected) const {
  const auto found = read(expected.at, expected.at.begin);
  return found && std::all_of(found->begin(), found->end(), [&](const SymbolicPiece& piece) {
           return piece.contributors == expected.contributors &&
                  piece.origin == expected.origin + piece.at.begin - expected.at.begin;
         });
}

}  // namespace twinrun
