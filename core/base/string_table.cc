#include "core/base/string_table.h"

namespace twinrun {

std::uint32_t StringTable::intern(std::string_view text) {
  const auto next = static_cast<std::uint32_t>(size());
  const auto [index, is_new] = known_.find_or_insert(
      hash_of(text), next, [&](std::uint32_t at) { return (*this)[at] == text; });
  if (is_new) {
    pool_ += text;
    ends_.push_back(pool_.size());
  }
  return index;
}

std::uint32_t StringTable::find(std::string_view text) const {
  return known_.find(hash_of(text), [&](std::uint32_t at) { return (*this)[at] == text; });
}

std::vector<std::string> StringTable::all() const {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < size(); ++i) {
    texts.emplace_back((*this)[i]);
  }
  return texts;
}

}  // namespace twinrun
