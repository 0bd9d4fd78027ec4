#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/base/ids.h"
#include "core/base/units.h"
#include "sim/engine/timers.h"

namespace twinrun::sim {

// A processor whose running kernels share it: n kernels on c cores each advance at c/n when there
// are more kernels than cores (a GPU counts as one core), and all of them slower by the share that
// communication kernels hold meanwhile. One alone takes exactly its own time.
class SharedDevice {
 public:
  explicit SharedDevice(double cores = 1) : cores_(cores) {}
  void start(OpId op, Time work, Time now);
  // The share of the processor that communication takes from now on, 0 … 1.
  void set_taken(double share, Time now);
  // When the next kernel ends if nothing changes; nothing when none runs.
  [[nodiscard]] std::optional<Time> next_end() const;
  // Takes out the kernels that are done by now.
  void advance_to(Time now, std::vector<OpId>& finished);
  // Counts changes: what was said of the next end before is void after one.
  [[nodiscard]] std::uint32_t version() const { return version_ & Timers::kVersions; }

 private:
  struct Running {
    OpId op{};
    double left_ps = 0;
  };
  void pass(Time now);
  [[nodiscard]] double speed() const;

  double cores_;
  std::vector<Running> running_;
  double taken_ = 0;
  Time since_{};
  std::uint32_t version_ = 0;
};

}  // namespace twinrun::sim
