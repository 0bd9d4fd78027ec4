#pragma once

#include <stdexcept>

namespace twinrun::exec {

// A backend needs hardware or a library that is not here: exit code 6.
class BackendMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace twinrun::exec
