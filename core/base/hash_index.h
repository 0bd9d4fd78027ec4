#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace twinrun {

// An open-addressing set of 32-bit indices whose keys live elsewhere (a text pool, a column). Eight
// bytes a slot, at most two thirds full, no allocation per entry: a million ids cost 16 MB, where
// std::unordered_map takes 60.
//
//   const auto [index, is_new] =
//       known.find_or_insert(hash_of(text), next, [&](auto i) { return names[i] == text; });
class HashIndex {
 public:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  HashIndex() : slots_(kSmallest) {}

  template <class IsSame>
  [[nodiscard]] std::uint32_t find(std::uint64_t hash, const IsSame& is_same) const {
    return slots_[slot_of(hash, is_same)].index;
  }

  // The index that was there already, or the given one, now inserted.
  template <class IsSame>
  std::pair<std::uint32_t, bool> find_or_insert(std::uint64_t hash,
                                                std::uint32_t index,
                                                const IsSame& is_same) {
    const std::size_t at = slot_of(hash, is_same);
    if (slots_[at].index != kNone) {
      return {slots_[at].index, false};
    }
    slots_[at] = {tag_of(hash), index};
    if (++count_ * 3 > slots_.size() * 2) {
      resize(slots_.size() * 2);
    }
    return {index, true};
  }

  void reserve(std::size_t entries) {
    std::size_t slots = slots_.size();
    while (entries * 3 > slots * 2) {
      slots *= 2;
    }
    if (slots != slots_.size()) {
      resize(slots);
    }
  }

 private:
  static constexpr std::size_t kSmallest = 16;
  struct Slot {
    std::uint32_t tag = 0;
    std::uint32_t index = kNone;
  };

  static std::uint32_t tag_of(std::uint64_t hash) {
    return static_cast<std::uint32_t>((hash * 0x9E3779B97F4A7C15ULL) >> 32);
  }

  template <class IsSame>
  [[nodiscard]] std::size_t slot_of(std::uint64_t hash, const IsSame& is_same) const {
    const std::uint32_t tag = tag_of(hash);
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = tag & mask;
    while (slots_[at].index != kNone && !(slots_[at].tag == tag && is_same(slots_[at].index))) {
      at = (at + 1) & mask;
    }
    return at;
  }

  void resize(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.index != kNone) {
        std::size_t at = slot.tag & (slots - 1);
        while (slots_[at].index != kNone) {
          at = (at + 1) & (slots - 1);
        }
        slots_[at] = slot;
      }
    }
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

inline std::uint64_t hash_of(std::string_view text) { return std::hash<std::string_view>{}(text); }

// Order matters: (a, b) and (b, a) differ.
constexpr std::uint64_t hash_pair(std::uint64_t a, std::uint64_t b) {
  return (a ^ (a >> 31)) * 0xD6E8FEB86659FD93ULL + b;
}

}  // namespace twinrun
