#pragma once

#include <utility>
#include <vector>

#include "core/base/ids.h"

namespace twinrun::exec {

// Which devices of a plan this process has: all, unless others run a part of it.
class LocalDevices {
 public:
  LocalDevices() = default;
  explicit LocalDevices(std::vector<bool> is_here) : is_here_(std::move(is_here)) {}

  [[nodiscard]] bool has(DeviceId device) const {
    return is_here_.empty() || is_here_[index_of(device)];
  }

 private:
  std::vector<bool> is_here_;  // by device; empty: all are
};

}  // namespace twinrun::exec
