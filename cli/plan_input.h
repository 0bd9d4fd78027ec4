#pragma once

#include <string>

#include <CLI/App.hpp>

#include "cli/context.h"
#include "core/plan/plan.h"
#include "core/topology/topology.h"

namespace twinrun::cli {

struct PlanOptions {
  std::string plan;
  std::string topology;  // "" when not given: then the plan's own, if it names one
};

void add_plan_options(CLI::App& app, PlanOptions& options);

// The plan of a source, read and validated; its devices are looked up in the topology unless that
// is null. Warnings are reported; errors throw InputError with all of them.
Plan load_plan(Context& context, const Source& source, const Topology* topology);

// The same for options: devices are looked up in the topology when one is named.
Plan load_plan(Context& context, const PlanOptions& options);

}  // namespace twinrun::cli
