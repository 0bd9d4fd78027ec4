#pragma once

#include <optional>

#include "core/nccl/search.h"

namespace twinrun {

// The best rings, trees and heads of one machine; nothing when its GPUs (and NICs) are not joined.
[[nodiscard]] std::optional<NcclMachineChannels> search_machine(NcclMachine machine);

}  // namespace twinrun
