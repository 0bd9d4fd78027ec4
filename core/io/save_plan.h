#pragma once

#include <string>

#include "core/io/source.h"
#include "core/plan/plan.h"

namespace twinrun {

// Writes a plan file, one op a line, keys in one order, defaults left out, in pieces of about 64
// KB. Reading it back gives the same plan, and writing that the same bytes.
void save_plan(const Plan& plan, const WriteChunk& write);
std::string plan_to_json(const Plan& plan);
// Replaces the target when complete, never leaves half of it; "-" is standard output. Refuses
// (UsageError) to replace a file unless force is set.
void save_plan_file(const Plan& plan, const std::string& path, bool force);

}  // namespace twinrun
