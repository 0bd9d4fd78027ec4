#pragma once

#include <cstdint>
#include <string>

#include "cli/context.h"
#include "core/model/model.h"

namespace twinrun::cli {

// The model an argument names (catalogue, file, "-") for samples of so many tokens (0: as many as
// usual). Warnings are reported; errors throw InputError with all of them.
Model load_model(Context& context, const std::string& argument, std::int64_t sequence);

// 25557032 as "25.6 M": three figures.
std::string short_count(double count);

}  // namespace twinrun::cli
