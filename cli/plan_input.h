#pragma once

#include <string>

#include <CLI/App.hpp>

#include "cli/context.h"
#include "core/plan/plan.h"

namespace twinrun::cli {

struct PlanOptions {
  std::string plan;
  std::string topology;  // "" when not given: then the plan's own, if it names one
};

void add_plan_options(CLI::App& app, PlanOptions& options);

// The plan, read and validated; its devices looked up in the topology when there is one. Warnings
// are reported; errors throw InputError with all of them.
Plan load_plan(Context& context, const PlanOptions& options);

}  // namespace twinrun::cli
