#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/base/diagnostics.h"
#include "core/plan/plan.h"

namespace twinrun {

struct ValidateOptions {
  std::string file;  // where the plan came from, for the places of complaints
  // Does the topology have this device? Not asked when empty.
  std::function<bool(std::string_view)> device_exists = {};
  bool ids_are_unique = false;  // the loader has seen to it: do not look again
};

// Everything that would keep a plan from running to its end, found before it runs: cycles (E0401),
// streams out of order (E0402), ops that can never start (E0403), deadlocks (E0405), ids, devices
// and groups (E041x), collectives whose ranks disagree (E042x), messages that do not meet (E043x).
// Places are JSON pointers /ops/N/… with N the op's number, as in the file it was loaded from.
// Linear in ops and edges: a million ops in well under half a second.
void validate(const Plan& plan, const ValidateOptions& options, Diagnostics& diagnostics);
Diagnostics validate(const Plan& plan, const ValidateOptions& options = {});

}  // namespace twinrun
