#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/hash_index.h"

namespace twinrun {

// Distinct texts, numbered from 0 in the order of their first appearance; all in one pool.
class StringTable {
 public:
  StringTable() : ends_{0} {}

  std::uint32_t intern(std::string_view text);
  [[nodiscard]] std::uint32_t find(std::string_view text) const;  // HashIndex::kNone when absent
  // Valid until the next intern().
  [[nodiscard]] std::string_view operator[](std::size_t index) const {
    return {pool_.data() + ends_[index], ends_[index + 1] - ends_[index]};
  }
  [[nodiscard]] std::size_t size() const { return ends_.size() - 1; }
  [[nodiscard]] std::vector<std::string> all() const;

 private:
  std::string pool_;
  std::vector<std::size_t> ends_;
  HashIndex known_;
};

}  // namespace twinrun
