#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "core/plan/plan.h"

namespace twinrun::sim {

struct MemoryPeak {
  Bytes peak{};
  OpId at_op = no_id<OpId>();  // the op whose start or end reached it first
  Time at{};
  std::array<Bytes, kMemoryPartNames.size()> parts{};  // at that instant
};

// Memory of every device while a plan runs.
class MemoryMeter {
 public:
  explicit MemoryMeter(const Plan& plan);
  void apply(OpId op, MemoryWhen when, Time now);
  [[nodiscard]] const std::vector<MemoryPeak>& peaks() const { return peaks_; }  // by device

 private:
  struct Now {
    std::int64_t total = 0;
    std::array<Bytes, kMemoryPartNames.size()> parts{};
  };
  const Plan& plan_;
  std::vector<Now> now_;
  std::vector<MemoryPeak> peaks_;
};

}  // namespace twinrun::sim
