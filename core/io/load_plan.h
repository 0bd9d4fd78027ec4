#pragma once

#include <functional>
#include <optional>
#include <string_view>

#include "core/base/diagnostics.h"
#include "core/io/source.h"
#include "core/plan/plan.h"

namespace twinrun {

// Streams a plan file (twinrun/plan/1) in. All complaints about its text, shape and names go to the
// diagnostics. There is a plan whenever every op could be read, even if it names ids or devices
// that do not exist: validate() can then say more. A million ops take a second or two.
std::optional<Plan> load_plan(const Source& source, Diagnostics& diagnostics);

// Reads and validates: every problem of the file at once. The plan is fit to run when it is there
// and the diagnostics have no errors. device_exists asks the topology; may be empty.
std::optional<Plan> load_valid_plan(const Source& source,
                                    const std::function<bool(std::string_view)>& device_exists,
                                    Diagnostics& diagnostics);

}  // namespace twinrun
