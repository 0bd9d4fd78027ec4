#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/ids.h"

namespace twinrun {

// Compressed sparse rows: row r holds targets[offsets[r] .. offsets[r+1]). Built once, read as
// spans.
//
//   rows 0:{2,3} 1:{} 2:{0}      offsets 0 2 2 3      targets 2 3 0
template <class Row, class Target>
class Csr {
 public:
  Csr() : offsets_{0} {}

  // Takes finished arrays; offsets has one more entry than there are rows.
  Csr(std::vector<std::uint32_t> offsets, std::vector<Target> targets)
      : offsets_(std::move(offsets)), targets_(std::move(targets)) {
    TWINRUN_CHECK(!offsets_.empty() && offsets_.back() == targets_.size());
  }

  // Counting sort of (row, target) pairs; the order of a row is the order of the pairs.
  static Csr from_pairs(std::size_t rows,
                        std::span<const Row> sources,
                        std::span<const Target> targets) {
    TWINRUN_CHECK(sources.size() == targets.size());
    std::vector<std::uint32_t> offsets(rows + 1, 0);
    for (Row row : sources) {
      ++offsets[index_of(row) + 1];
    }
    for (std::size_t i = 0; i < rows; ++i) {
      offsets[i + 1] += offsets[i];
    }
    std::vector<std::uint32_t> next(offsets.begin(), offsets.end() - 1);
    std::vector<Target> sorted(targets.size());
    for (std::size_t i = 0; i < targets.size(); ++i) {
      sorted[next[index_of(sources[i])]++] = targets[i];
    }
    return Csr(std::move(offsets), std::move(sorted));
  }

  // The same for pairs that come in the order of their rows: the targets stay where they are.
  static Csr from_sorted_pairs(std::size_t rows,
                               std::span<const Row> sources,
                               std::vector<Target> targets) {
    TWINRUN_CHECK(sources.size() == targets.size());
    std::vector<std::uint32_t> offsets(rows + 1, 0);
    std::size_t row = 0;
    for (std::size_t i = 0; i < sources.size(); ++i) {
      while (row <= index_of(sources[i])) {
        offsets[row++] = static_cast<std::uint32_t>(i);
      }
    }
    while (row <= rows) {
      offsets[row++] = static_cast<std::uint32_t>(sources.size());
    }
    return Csr(std::move(offsets), std::move(targets));
  }

  [[nodiscard]] std::size_t rows() const { return offsets_.size() - 1; }
  [[nodiscard]] std::size_t size() const { return targets_.size(); }
  [[nodiscard]] std::span<const Target> operator[](Row row) const {
    const std::size_t r = index_of(row);
    return {targets_.data() + offsets_[r], targets_.data() + offsets_[r + 1]};
  }
  // Asks the memory for the row's place, which is read later.
  void fetch(Row row) const { __builtin_prefetch(offsets_.data() + index_of(row)); }
  [[nodiscard]] std::size_t bytes() const {
    return offsets_.size() * sizeof(std::uint32_t) + targets_.size() * sizeof(Target);
  }

 private:
  std::vector<std::uint32_t> offsets_;
  std::vector<Target> targets_;
};

}  // namespace twinrun
