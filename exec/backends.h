#pragma once

#include <span>
#include <string>
#include <string_view>

#include "exec/execute.h"

namespace twinrun::exec {

// A machine that runs plans: one folder, one row of the table.
struct BackendRow {
  std::string_view name;
  std::string_view summary;
  // CannotRun with a sentence when the plan or the machine does not allow it.
  Execution (*execute)(const Plan& plan, const ExecuteOptions& options);
  // A sentence when a library or the hardware is missing here; "" when it can be used.
  std::string (*why_missing)();
  // Devices of this machine that it would use; 0 when it is missing.
  int (*device_count)();
};

std::span<const BackendRow> all_backends();
const BackendRow* find_backend(std::string_view name);

}  // namespace twinrun::exec
