#pragma once

#include "cli/verb.h"

namespace twinrun::cli {

// The subverbs of plan, one file each.
Run add_plan_compile(CLI::App& app);
Run add_plan_show(CLI::App& app);
Run add_plan_validate(CLI::App& app);

}  // namespace twinrun::cli
