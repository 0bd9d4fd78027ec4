#pragma once

#include <cstdint>
#include <string>

#include "core/base/ids.h"

namespace twinrun::exec {

enum class FailureKind : std::uint8_t { kOpFailed, kTimeout, kInterrupted, kProcessDied };

// Why a run ended early.
struct Failure {
  FailureKind kind = FailureKind::kOpFailed;
  OpId op = no_id<OpId>();  // the one to blame; none when it was interrupted
  std::string message;      // op, device, and what the others waited for
};

}  // namespace twinrun::exec
