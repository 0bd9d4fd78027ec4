#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace twinrun::sim {

// How many crossings of each neighbour the flows held by a link make. Short lists are searched from
// end to end; long ones (a flow over a whole ring of links) through a hash table of places, so that
// a change costs O(1) whatever the length.
class EdgeList {
 public:
  struct Edge {
    std::uint32_t to = 0;
    std::uint32_t shares = 0;
  };

  void add(std::uint32_t to, std::uint32_t shares);
  void drop(std::uint32_t to, std::uint32_t shares);
  void clear();
  [[nodiscard]] const Edge* begin() const { return edges_.data(); }
  [[nodiscard]] const Edge* end() const { return edges_.data() + edges_.size(); }

 private:
  static constexpr std::size_t kLongest = 48;  // without a table
  static constexpr std::uint32_t kFree = ~std::uint32_t{0};

  [[nodiscard]] std::size_t home_of(std::uint32_t to) const;
  // The cell of a neighbour's place, or the free one where it belongs.
  [[nodiscard]] std::size_t cell_of(std::uint32_t to) const;
  [[nodiscard]] std::size_t find(std::uint32_t to) const;  // edges_.size() when not there
  void build_table();
  void free_cell(std::size_t cell);
  void remove(std::size_t place);

  using Table = std::vector<std::uint32_t>;  // places in edges_; at least twice as many cells
  std::vector<Edge> edges_;
  std::unique_ptr<Table> table_;  // seldom there, so it may be far
};

}  // namespace twinrun::sim
