#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "exec/left_behind.h"

namespace twinrun::exec {

// Memory that the transport may still write to when a wait is given up: it is left to it then.
class HeldMemory {
 public:
  explicit HeldMemory(std::vector<float> elements)
      : elements_(std::make_unique<std::vector<float>>(std::move(elements))) {}
  [[nodiscard]] std::vector<float>& operator*() const { return *elements_; }
  void leave() { leave_behind(std::move(elements_)); }

 private:
  std::unique_ptr<std::vector<float>> elements_;
};

}  // namespace twinrun::exec
