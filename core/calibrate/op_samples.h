#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "core/topology/spec.h"
#include "core/trace/trace.h"

namespace twinrun {

// Times of compute ops from many runs, those that do the same together.
class OpSamples {
 public:
  struct ProductKey {
    std::string pass;
    std::uint32_t m = 0;
    std::uint32_t n = 0;
    std::uint32_t k = 0;
    auto operator<=>(const ProductKey&) const = default;
  };
  struct StreamingKey {
    std::string kind;
    std::int64_t bytes = 0;
    auto operator<=>(const StreamingKey&) const = default;
  };

  // Which ops of a run count.
  struct Counted {
    std::int64_t from_step = 0;  // and none of the set-up, which belongs to no step
    bool updates = true;
  };
  // The compute ops of a run on one stream. A loss is left out: it is bound by neither products nor
  // bytes.
  void add(const Plan& plan, const Trace& trace, const Counted& counted);

  // One grid a pass. Every shape that its axes span must have been added.
  [[nodiscard]] std::vector<ProductGrid> grids() const;
  // By kind and bytes; of points nearer to each other than a factor of 1.5 one remains.
  [[nodiscard]] std::vector<StreamingPoint> streaming() const;
  [[nodiscard]] Time op_overhead() const;   // median gap between ops of a stream
  [[nodiscard]] double spread_pct() const;  // median over all keys

 private:
  [[nodiscard]] ProductGrid grid(const std::string& pass) const;

  std::map<ProductKey, std::vector<double>> products_;     // microseconds
  std::map<StreamingKey, std::vector<double>> streaming_;  // microseconds: the median of each run
  std::vector<double> gaps_us_;
};

}  // namespace twinrun
