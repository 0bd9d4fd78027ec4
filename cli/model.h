#pragma once

#include "cli/verb.h"

namespace twinrun::cli {

// The subverbs of model, one file each.
Run add_model_import(CLI::App& app);
Run add_model_list(CLI::App& app);
Run add_model_show(CLI::App& app);

}  // namespace twinrun::cli
