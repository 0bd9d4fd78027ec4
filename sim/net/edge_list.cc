#include "sim/net/edge_list.h"

#include <bit>

#include "core/base/check.h"

namespace twinrun::sim {

std::size_t EdgeList::home_of(std::uint32_t to) const {
  constexpr std::uint32_t kGolden = 0x9E3779B9;  // Fibonacci hashing: neighbours have near numbers
  return (to * kGolden >> 8) & (table_->size() - 1);
}

std::size_t EdgeList::cell_of(std::uint32_t to) const {
  const Table& table = *table_;
  std::size_t cell = home_of(to);
  while (table[cell] != kFree && edges_[table[cell]].to != to) {
    cell = (cell + 1) & (table.size() - 1);
  }
  return cell;
}

std::size_t EdgeList::find(std::uint32_t to) const {
  if (table_) {
    const std::uint32_t place = (*table_)[cell_of(to)];
    return place == kFree ? edges_.size() : place;
  }
  std::size_t place = 0;
  while (place < edges_.size() && edges_[place].to != to) {
    ++place;
  }
  return place;
}

void EdgeList::build_table() {
  table_ = std::make_unique<Table>(std::bit_ceil(4 * edges_.size()), kFree);
  for (std::size_t place = 0; place < edges_.size(); ++place) {
    (*table_)[cell_of(edges_[place].to)] = static_cast<std::uint32_t>(place);
  }
}

void EdgeList::add(std::uint32_t to, std::uint32_t shares) {
  const std::size_t place = find(to);
  if (place < edges_.size()) {
    edges_[place].shares += shares;
    return;
  }
  if (table_) {
    (*table_)[cell_of(to)] = static_cast<std::uint32_t>(place);
  }
  edges_.push_back({to, shares});
  if (table_ ? 2 * edges_.size() > table_->size() : edges_.size() > kLongest) {
    build_table();
  }
}

void EdgeList::drop(std::uint32_t to, std::uint32_t shares) {
  const std::size_t place = find(to);
  TWINRUN_DCHECK(place < edges_.size() && edges_[place].shares >= shares);
  edges_[place].shares -= shares;
  if (edges_[place].shares == 0) {
    remove(place);
  }
}

// Closes the gap: whatever was pushed beyond the cell by it moves back.
void EdgeList::free_cell(std::size_t cell) {
  Table& table = *table_;
  const std::size_t mask = table.size() - 1;
  std::size_t gap = cell;
  for (std::size_t i = (cell + 1) & mask; table[i] != kFree; i = (i + 1) & mask) {
    const std::size_t home = home_of(edges_[table[i]].to);
    if (((i - home) & mask) >= ((i - gap) & mask)) {
      table[gap] = table[i];
      gap = i;
    }
  }
  table[gap] = kFree;
}

void EdgeList::remove(std::size_t place) {
  if (table_) {
    free_cell(cell_of(edges_[place].to));
    if (place + 1 < edges_.size()) {
      (*table_)[cell_of(edges_.back().to)] = static_cast<std::uint32_t>(place);
    }
  }
  edges_[place] = edges_.back();
  edges_.pop_back();
  if (edges_.empty()) {
    table_.reset();
  }
}

void EdgeList::clear() {
  edges_.clear();
  table_.reset();
}

}  // namespace twinrun::sim
