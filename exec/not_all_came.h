#pragma once

#include <stdexcept>

namespace twinrun::exec {

// Of the processes that were to run a plan together, not all have come in time: exit code 124.
class NotAllCame : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace twinrun::exec
