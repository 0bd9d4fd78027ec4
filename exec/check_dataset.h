#pragma once

#include <string>

#include "core/plan/dataset.h"
#include "core/plan/workload.h"

namespace twinrun::exec {

// What is against learning from these samples; "" when nothing is.
std::string why_not_learned_from(const Dataset& dataset, const Workload& workload);

}  // namespace twinrun::exec
