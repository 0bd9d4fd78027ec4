#pragma once

#include <functional>
#include <string_view>

#include "core/plan/plan.h"
#include "core/trace/trace.h"

namespace twinrun {

// Whoever measures hands plans to this and gets traces back: a backend that does the work, or the
// simulator of a known machine, whose numbers must then come out again. A run that fails throws.
using RunPlan = std::function<Trace(const Plan& plan)>;

// Told what is being measured, now and then: "products", 12 of 72 plans.
using MeasureProgress =
    std::function<void(std::string_view what, std::size_t done, std::size_t of)>;

}  // namespace twinrun
